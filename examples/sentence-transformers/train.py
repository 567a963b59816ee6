# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "torch==2.13.0",
#     "sentence-transformers==6.2.0",
#     "transformers==5.24.0",
#     "accelerate==1.15.0",
#     "datasets==5.2.0",
#     "huggingface_hub==2.4.0",
# ]
# ///
"""Train a sentence embedding model on scored pairs with sentence-transformers' own trainer, evaluate it, push it.

The arguments are SentenceTransformerTrainingArguments (`--num_train_epochs 4 --eval_strategy steps ...`) and the few of
DataArguments below. The model card of the pushed repository holds what the two evaluators found, with every digit, and
trainer_state.json beside it the history of the training.

Run it with: python train.py --output_dir remarks-sts --use_cpu
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from pathlib import Path

import transformers
from datasets import Dataset, DatasetDict, load_dataset
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.sentence_transformer.evaluation import EmbeddingSimilarityEvaluator
from sentence_transformers.sentence_transformer.losses import CosineSimilarityLoss
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import BertConfig, BertModel, HfArgumentParser, PreTrainedTokenizerFast, set_seed

HERE = Path(__file__).resolve().parent
SPECIAL_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]


@dataclass
class DataArguments:
    """What is not in SentenceTransformerTrainingArguments.

    Attributes:
        model_name_or_path: A model of the Hub or a folder; without it a tiny BERT with random weights is made.
        dataset: A data set of the Hub or a folder, with the columns sentence1, sentence2 and score, and the splits
            train, validation and test.
    """

    model_name_or_path: str | None = field(default=None)
    dataset: str = field(default=str(HERE / "data"))


def tiny_model(sentences: list[str], folder: Path) -> SentenceTransformer:
    """A BERT of 2 layers, 32 wide, over the sentences' own words, with mean pooling."""
    tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.train_from_iterator(
        sentences, trainers.WordLevelTrainer(special_tokens=SPECIAL_TOKENS, show_progress=False)
    )
    ids = [(token, tokenizer.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ids)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    )
    config = BertConfig(
        vocab_size=len(fast),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=64,
        pad_token_id=fast.pad_token_id,
    )
    BertModel(config).save_pretrained(folder)
    fast.save_pretrained(folder)
    transformer = Transformer(str(folder), max_seq_length=32)
    return SentenceTransformer(modules=[transformer, Pooling(transformer.get_embedding_dimension())])


def evaluator(rows: Dataset, name: str) -> EmbeddingSimilarityEvaluator:
    """Pearson and Spearman between the scores and the cosines of the embeddings."""
    return EmbeddingSimilarityEvaluator(rows["sentence1"], rows["sentence2"], rows["score"], name=name)


def load_model(arguments: DataArguments, data: DatasetDict, scratch: Path) -> SentenceTransformer:
    """The named model, or a tiny one made on the spot."""
    if arguments.model_name_or_path:
        return SentenceTransformer(arguments.model_name_or_path)
    return tiny_model([*data["train"]["sentence1"], *data["train"]["sentence2"]], scratch)


def main() -> None:
    """Train with an evaluation on the way, test at the end, push when asked to."""
    parser = HfArgumentParser((DataArguments, SentenceTransformerTrainingArguments))
    arguments, training = parser.parse_args_into_dataclasses()
    logging.basicConfig(format="%(asctime)s - %(levelname)s - %(name)s - %(message)s", level=logging.INFO)
    transformers.utils.logging.set_verbosity_warning()
    set_seed(training.seed)
    data = load_dataset(arguments.dataset)
    model = load_model(arguments, data, Path(training.output_dir) / "base")
    trainer = SentenceTransformerTrainer(
        model=model,
        args=training,
        train_dataset=data["train"],
        eval_dataset=data["validation"],
        loss=CosineSimilarityLoss(model),
        evaluator=evaluator(data["validation"], "sts-dev"),
    )
    trainer.train()
    evaluator(data["test"], "sts-test")(model)
    final = Path(training.output_dir) / "final"
    model.save_pretrained(str(final), model_name=training.hub_model_id)
    trainer.state.save_to_json(str(final / "trainer_state.json"))
    if training.push_to_hub:
        print(model.push_to_hub(training.hub_model_id, local_model_path=str(final), exist_ok=True))


if __name__ == "__main__":
    main()
