"""Write the data set of this example: questions about the order of numbers, weekdays and months, with two answers.

Each row has `prompt`, `chosen` and `rejected`, the conversational form of a preference data set that TRL's DPOTrainer
takes as it stands. The chosen answer is a plain sentence and right; the rejected one guesses, and not even well.

Run it with: python make_data.py --out data
"""

from __future__ import annotations

import argparse
import json
import random
from itertools import pairwise
from pathlib import Path

NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve"
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
MONTHS = "January February March April May June July August September October November December"
ORDERS = {kind: words.split() for kind, words in (("number", NUMBERS), ("day", DAYS), ("month", MONTHS))}
WORDINGS = (
    ("Which {kind} comes after {first}?", "{second} comes after {first}."),
    ("What is the next {kind} after {first}?", "The next {kind} is {second}."),
    ("{first}, and then which {kind}?", "Then {second}."),
)
GUESSES = ("Maybe {wrong}? I am not sure.", "No idea, {wrong} or so.", "I guess {wrong}, but do ask somebody else.")
Row = dict[str, list[dict[str, str]]]


def preferences(rng: random.Random) -> list[Row]:
    """Every pair of neighbours in every wording, with one wrong answer each, shuffled."""
    rows: list[Row] = []
    for kind, words in ORDERS.items():
        for first, second in pairwise(words):
            for question, answer in WORDINGS:
                other = rng.choice([word for word in words if word != second])
                names = {"kind": kind, "first": first, "second": second, "wrong": other}
                rows.append(
                    {
                        "prompt": [{"role": "user", "content": question.format(**names)}],
                        "chosen": [{"role": "assistant", "content": answer.format(**names)}],
                        "rejected": [{"role": "assistant", "content": rng.choice(GUESSES).format(**names)}],
                    }
                )
    rng.shuffle(rows)
    return rows


def main() -> None:
    """Write train.jsonl and test.jsonl."""
    parser = argparse.ArgumentParser(description="Write the preferences.")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "data", help="folder to write to")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    rows = preferences(random.Random(20))
    split = len(rows) * 4 // 5
    for name, part in (("train.jsonl", rows[:split]), ("test.jsonl", rows[split:])):
        (options.out / name).write_text("".join(json.dumps(row) + "\n" for row in part), encoding="utf-8")


if __name__ == "__main__":
    main()
