"""Write the data set of this example: short chats that ask for a word in Spanish, or back in English.

Each row has the `messages` of one chat.

Run it with: python make_data.py --out data
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path

WORDS = (
    ("house", "casa"), ("water", "agua"), ("bread", "pan"), ("night", "noche"), ("day", "día"), ("sun", "sol"),
    ("moon", "luna"), ("sea", "mar"), ("river", "río"), ("tree", "árbol"), ("flower", "flor"), ("bird", "pájaro"),
    ("dog", "perro"), ("cat", "gato"), ("hand", "mano"), ("eye", "ojo"), ("book", "libro"), ("door", "puerta"),
    ("table", "mesa"), ("street", "calle"), ("milk", "leche"), ("apple", "manzana"), ("red", "rojo"),
    ("green", "verde"), ("white", "blanco"), ("big", "grande"), ("small", "pequeño"), ("friend", "amigo"),
)  # fmt: skip
WORDINGS = (
    ("How do you say '{english}' in Spanish?", "'{english}' is '{spanish}'."),
    ("What does '{spanish}' mean?", "'{spanish}' means '{english}'."),
    ("Spanish for '{english}', please.", "It is '{spanish}'."),
    ("English for '{spanish}', please.", "It is '{english}'."),
)


def chats(rng: random.Random) -> list[dict[str, list[dict[str, str]]]]:
    """Every pair of words in every wording, shuffled."""
    rows = []
    for english, spanish in WORDS:
        for question, answer in WORDINGS:
            names = {"english": english, "spanish": spanish}
            messages = [
                {"role": "user", "content": question.format(**names)},
                {"role": "assistant", "content": answer.format(**names)},
            ]
            rows.append({"messages": messages})
    rng.shuffle(rows)
    return rows


def main() -> None:
    """Write train.jsonl and test.jsonl."""
    parser = argparse.ArgumentParser(description="Write the chats.")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "data", help="folder to write to")
    options = parser.parse_args()
    rows = chats(random.Random(8))
    split = len(rows) * 7 // 8
    for name, part in (("train.jsonl", rows[:split]), ("test.jsonl", rows[split:])):
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in part)
        (options.out / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
