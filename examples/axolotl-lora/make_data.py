"""Write the data set of this example: sums and differences of small numbers as instructions with an answer.

Each row has `instruction`, `input` and `output`, the form that Axolotl calls `alpaca`.

Run it with: python make_data.py --out data
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path

LIMIT = 12
TASKS = (
    ("Add the two numbers.", "+"),
    ("Take the second number from the first.", "-"),
)


def rows(rng: random.Random) -> list[dict[str, str]]:
    """Every task for every pair of numbers whose result is not negative, shuffled."""
    found = []
    for instruction, sign in TASKS:
        for first in range(LIMIT + 1):
            for second in range(first + 1):
                result = first + second if sign == "+" else first - second
                found.append({"instruction": instruction, "input": f"{first} {second}", "output": str(result)})
    rng.shuffle(found)
    return found


def main() -> None:
    """Write train.jsonl."""
    parser = argparse.ArgumentParser(description="Write the instructions.")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "data", help="folder to write to")
    options = parser.parse_args()
    text = "".join(json.dumps(row) + "\n" for row in rows(random.Random(5)))
    (options.out / "train.jsonl").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
