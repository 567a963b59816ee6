"""Write the data set of this example: short chats about the order of numbers, weekdays and months.

Each row has the `messages` of one chat, the form that TRL's SFTTrainer takes as it stands. A model with two layers can
learn what comes after what, so the loss falls within seconds. Questions of the test split are asked with words that
the training split also has, about pairs that it holds in another wording.

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
    ("Which {kind} comes before {second}?", "{first} comes before {second}."),
    ("What is the next {kind} after {first}?", "The next {kind} is {second}."),
    ("What is the {kind} just before {second}?", "The {kind} just before it is {first}."),
    ("Name the {kind} that follows {first}.", "It is {second}."),
    ("{first}, and then which {kind}?", "Then {second}."),
    ("I know {second}. Which {kind} did I miss before it?", "You missed {first}."),
    ("Is {second} the {kind} after {first}?", "Yes, {second} follows {first}."),
)


def chats(rng: random.Random) -> list[dict[str, list[dict[str, str]]]]:
    """Every pair of neighbours in every wording, shuffled."""
    rows = []
    for kind, words in ORDERS.items():
        for first, second in pairwise(words):
            for question, answer in WORDINGS:
                names = {"kind": kind, "first": first, "second": second}
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
    rows = chats(random.Random(20))
    split = len(rows) * 4 // 5
    for name, part in (("train.jsonl", rows[:split]), ("test.jsonl", rows[split:])):
        (options.out / name).write_text("".join(json.dumps(row) + "\n" for row in part), encoding="utf-8")


if __name__ == "__main__":
    main()
