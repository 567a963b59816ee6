# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "unsloth==2026.10.9",
#     "trl==1.15.0",
#     "datasets==4.8.5",
#     "huggingface_hub==1.33.0",
# ]
# ///
"""Fine-tune a chat model with Unsloth: a LoRA on all linear layers, trained by TRL's SFTTrainer.

The arguments are SFTConfig (`--max_steps 500 --push_to_hub ...`) and the few of ModelArguments below. The pushed
repository holds the adapter, a model card, and what a report wants: all_results.json, train_results.json,
eval_results.json and trainer_state.json.

Run it with: python train.py --model_name unsloth/Qwen3-0.6B --output_dir words
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from unsloth import FastLanguageModel  # before trl and transformers: it speeds them up when it is imported

# isort: split
from datasets import load_dataset
from trl import SFTConfig, SFTTrainer, TrlParser

HERE = Path(__file__).resolve().parent
LAYERS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


@dataclass
class ModelArguments:
    """What is not in SFTConfig.

    Attributes:
        model_name: A model of the Hub, or a folder.
        data: A data set of the Hub with a column `messages`, or a folder with train.jsonl and test.jsonl.
        four_bit: Load the model in 4 bit (QLoRA); needs a GPU.
        lora_r: Rank of the LoRA.
    """

    model_name: str = field(default="unsloth/Qwen3-0.6B")
    data: str = field(default=str(HERE / "data"))
    four_bit: bool = field(default=False)
    lora_r: int = field(default=16)


def main() -> None:
    """Train, evaluate, write every result, push when asked to."""
    arguments, training = TrlParser((ModelArguments, SFTConfig)).parse_args_and_config()
    model, tokenizer = FastLanguageModel.from_pretrained(
        arguments.model_name,
        max_seq_length=training.max_length,
        load_in_4bit=arguments.four_bit,
        full_finetuning=False,
    )
    model = FastLanguageModel.get_peft_model(
        model,
        r=arguments.lora_r,
        lora_alpha=2 * arguments.lora_r,
        target_modules=LAYERS,
        use_gradient_checkpointing="unsloth",
        random_state=training.seed,
    )
    data = load_dataset(arguments.data).map(
        lambda row: {"text": tokenizer.apply_chat_template(row["messages"], tokenize=False)},
        remove_columns=["messages"],
    )
    trainer = SFTTrainer(
        model=model,
        args=training,
        train_dataset=data["train"],
        eval_dataset=data["test"],
        processing_class=tokenizer,
    )
    result = trainer.train(resume_from_checkpoint=training.resume_from_checkpoint)
    trainer.save_model()
    trainer.log_metrics("train", result.metrics)
    trainer.save_metrics("train", result.metrics)
    evaluation = trainer.evaluate()
    trainer.log_metrics("eval", evaluation)
    trainer.save_metrics("eval", evaluation)
    trainer.save_state()
    if training.push_to_hub:
        trainer.push_to_hub()


if __name__ == "__main__":
    main()
