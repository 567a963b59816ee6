"""What must work in this image: TRL's SFT trainer takes three steps with a LoRA, and its scripts can be started."""

from __future__ import annotations

import importlib.util
import tempfile

import torch
import trl
from datasets import Dataset
from peft import LoraConfig
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

words = ["<pad>", "</s>", "<unk>", "good", "bad", "model", "data"]
tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="<unk>"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>")
config = LlamaConfig(
    vocab_size=len(words), hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2,
    pad_token_id=0, eos_token_id=1, bos_token_id=None,
)  # fmt: skip
with tempfile.TemporaryDirectory() as folder:
    trainer = trl.SFTTrainer(
        model=LlamaForCausalLM(config),
        args=trl.SFTConfig(
            output_dir=folder, max_steps=3, report_to="none", use_cpu=not torch.cuda.is_available(), bf16=False,
            disable_tqdm=True,
        ),
        train_dataset=Dataset.from_dict({"text": ["good model", "bad data"] * 8}),
        processing_class=fast,
        peft_config=LoraConfig(r=2, target_modules=["q_proj"], task_type="CAUSAL_LM"),
    )  # fmt: skip
    loss = trainer.train().training_loss
assert loss > 0
assert importlib.util.find_spec("trl.scripts.sft")
print(f"trl {trl.__version__}: three steps, loss {loss:.3f}")
