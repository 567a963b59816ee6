"""Fine-tune a small BERT to tell glad remarks from sorry ones, with Transformers' Trainer, as its run_glue does.

The arguments are TrainingArguments (`--do_train --do_eval --push_to_hub ...`) and the few of DataArguments below. What
the pushed repository holds beside the model is what a report wants: all_results.json, train_results.json,
eval_results.json, trainer_state.json, and a model card with the metrics.

Run it with: python train.py --do_train --do_eval --use_cpu --output_dir remarks
"""

from __future__ import annotations

import logging
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import transformers
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    BertConfig,
    BertForSequenceClassification,
    DataCollatorWithPadding,
    EvalPrediction,
    HfArgumentParser,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
    Trainer,
    TrainingArguments,
    set_seed,
)

HERE = Path(__file__).resolve().parent
SPECIAL_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
logger = logging.getLogger("train")


@dataclass
class DataArguments:
    """What is not in TrainingArguments.

    Attributes:
        model_name_or_path: A model of the Hub or a folder; without it a tiny BERT with random weights is made.
        data: Folder of train.jsonl and validation.jsonl.
        text_column: Column with the sentence.
        label_column: Column with the class, 0 or 1.
        max_length: Longest input in tokens.
    """

    model_name_or_path: str | None = field(default=None)
    data: str = field(default=str(HERE / "data"))
    text_column: str = field(default="sentence")
    label_column: str = field(default="label")
    max_length: int = field(default=32)


def tiny_tokenizer(sentences: list[str]) -> PreTrainedTokenizerFast:
    """A word-level tokenizer of the sentences' own words."""
    tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.train_from_iterator(
        sentences, trainers.WordLevelTrainer(special_tokens=SPECIAL_TOKENS, show_progress=False)
    )
    ids = [(token, tokenizer.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ids)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    )


def load_model(arguments: DataArguments, sentences: list[str]) -> tuple[Any, PreTrainedTokenizerBase]:
    """The named model and its tokenizer, or a tiny one made on the spot (2 layers, 32 wide)."""
    if arguments.model_name_or_path:
        named = arguments.model_name_or_path
        model = AutoModelForSequenceClassification.from_pretrained(named, num_labels=2)
        return model, AutoTokenizer.from_pretrained(named)
    tokenizer = tiny_tokenizer(sentences)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=64,
        num_labels=2,
        pad_token_id=tokenizer.pad_token_id,
        # Sized for a width of 768, the defaults (0.02, 0.1) keep a width of 32 from learning anything in seconds.
        initializer_range=0.05,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    return BertForSequenceClassification(config), tokenizer


def load_data(arguments: DataArguments) -> datasets.DatasetDict:
    """Both splits, with the label in the column that the Trainer expects.

    Raises:
        KeyError: A column is not there.
    """
    files = {split: str(Path(arguments.data) / f"{split}.jsonl") for split in ("train", "validation")}
    data = datasets.load_dataset("json", data_files=files)
    for column in (arguments.text_column, arguments.label_column):
        if column not in data["train"].column_names:
            raise KeyError(column)
    if arguments.label_column != "labels":
        data = data.rename_column(arguments.label_column, "labels")
    return data


def accuracy_and_f1(prediction: EvalPrediction) -> dict[str, float]:
    """The share of right answers, and the F1 score of the glad ones."""
    said = np.argmax(prediction.predictions, axis=1)
    true = prediction.label_ids
    hits = float(((said == 1) & (true == 1)).sum())
    errors = float((said != true).sum())
    return {"accuracy": float((said == true).mean()), "f1": 2 * hits / max(2 * hits + errors, 1.0)}


def make_trainer(arguments: DataArguments, training: TrainingArguments) -> Trainer:
    """Model, data and metrics, put together."""
    data = load_data(arguments)
    model, tokenizer = load_model(arguments, list(data["train"][arguments.text_column]))
    encoded = data.map(
        lambda rows: tokenizer(rows[arguments.text_column], truncation=True, max_length=arguments.max_length),
        batched=True,
        remove_columns=[name for name in data["train"].column_names if name != "labels"],
        desc="Tokenizing",
    )
    return Trainer(
        model=model,
        args=training,
        train_dataset=encoded["train"] if training.do_train else None,
        eval_dataset=encoded["validation"],
        processing_class=tokenizer,
        data_collator=DataCollatorWithPadding(tokenizer),
        compute_metrics=accuracy_and_f1,
    )


def main() -> None:
    """Train, evaluate, save every result, and push when asked to."""
    parser = HfArgumentParser((DataArguments, TrainingArguments))
    arguments, training = parser.parse_args_into_dataclasses()
    logging.basicConfig(
        format="%(asctime)s - %(levelname)s - %(name)s - %(message)s", handlers=[logging.StreamHandler(sys.stdout)]
    )
    transformers.utils.logging.set_verbosity_info()
    set_seed(training.seed)
    trainer = make_trainer(arguments, training)
    if training.do_train:
        result = trainer.train(resume_from_checkpoint=training.resume_from_checkpoint)
        trainer.save_model()
        trainer.log_metrics("train", result.metrics)
        trainer.save_metrics("train", result.metrics)
        trainer.save_state()
    if training.do_eval:
        metrics = trainer.evaluate()
        trainer.log_metrics("eval", metrics)
        trainer.save_metrics("eval", metrics)
    facts: dict[str, Any] = {
        "tasks": "text-classification",
        "language": "en",
        "dataset": "remarks about a training",
        "dataset_tags": "remarks",
    }
    if training.push_to_hub:
        trainer.push_to_hub(**facts)
    else:
        trainer.create_model_card(**facts)


if __name__ == "__main__":
    main()
