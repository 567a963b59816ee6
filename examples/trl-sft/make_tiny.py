"""Make the model that this example starts from: a Llama with 2 layers, 32 wide, and random weights.

A real run names a model of the Hub instead (`model_name_or_path: Qwen/Qwen3-0.6B`). This one is made on the spot in
seconds, needs no network, and is the same for the same seed.

Run it with: python make_tiny.py --out tiny-llama
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, set_seed

HERE = Path(__file__).resolve().parent
VOCABULARY = 512
SPECIAL_TOKENS = ("<pad>", "<|im_start|>", "<|im_end|>")
# The `generation` block marks the answers, so that `assistant_only_loss` works as well.
CHAT_TEMPLATE = """{%- for message in messages -%}
<|im_start|>{{ message.role }}
{% if message.role == 'assistant' -%}
{% generation %}{{ message.content }}<|im_end|>{% endgeneration %}
{% else -%}
{{ message.content }}<|im_end|>
{% endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}<|im_start|>assistant
{% endif -%}"""


def train_tokenizer(data: Path) -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer of the chats' own words."""
    rows = [json.loads(line) for line in data.read_text(encoding="utf-8").splitlines()]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator((message["content"] for row in rows for message in row["messages"]), trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<|im_end|>", model_max_length=128
    )
    fast.chat_template = CHAT_TEMPLATE
    return fast


def main() -> None:
    """Write the tokenizer and the model to one folder."""
    parser = argparse.ArgumentParser(description="Make a tiny Llama.")
    parser.add_argument("--out", type=Path, default=Path("tiny-llama"))
    parser.add_argument("--data", type=Path, default=HERE / "data" / "train.jsonl", help="text for the tokenizer")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    set_seed(options.seed)
    tokenizer = train_tokenizer(options.data)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=128,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        tie_word_embeddings=True,
    )
    model = LlamaForCausalLM(config)
    model.save_pretrained(options.out)
    tokenizer.save_pretrained(options.out)
    print(f"made {options.out}: {model.num_parameters():,} parameters, {len(tokenizer)} tokens", flush=True)


if __name__ == "__main__":
    main()
