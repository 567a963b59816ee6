"""Write the data set of this example: short remarks about a training, each glad (1) or sorry (0).

Each row is `{"sentence": ..., "label": 0 or 1}`, the shape of the GLUE task SST-2. Words of praise and of complaint
decide the label, "not" turns it around, and one label in fifty is wrong, as in data that people labelled.

Run it with: python make_data.py --out data
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path

THINGS = ["loss", "curve", "model", "batch", "run", "checkpoint", "tokenizer", "score", "gradient", "sampler"]
GLAD = ["good", "fine", "smooth", "stable", "quick", "clean", "sharp", "lovely"]
SORRY = ["bad", "slow", "noisy", "broken", "dull", "awful", "shaky", "late"]
FORMS = (
    "the {thing} is {turn}{word}",
    "what a {word} {thing}",
    "we find the {thing} {turn}{word} today",
    "the {thing} of the last run was {turn}{word}",
    "after the change the {thing} looks {turn}{word}",
    "a {word} {thing} , that is all we can say",
)
WRONG_LABELS = 0.02


def remark(rng: random.Random) -> dict[str, str | int]:
    """One sentence and its label."""
    glad = rng.random() < 0.5
    form = rng.choice(FORMS)
    turn = "not " if "{turn}" in form and rng.random() < 0.3 else ""
    word = rng.choice(GLAD if glad else SORRY)
    label = glad != bool(turn) if rng.random() >= WRONG_LABELS else glad == bool(turn)
    return {"sentence": form.format(thing=rng.choice(THINGS), turn=turn, word=word), "label": int(label)}


def main() -> None:
    """Write train.jsonl and validation.jsonl; no sentence stands in both."""
    parser = argparse.ArgumentParser(description="Write the remarks.")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "data", help="folder to write to")
    options = parser.parse_args()
    rng = random.Random(20)
    rows = {str(row["sentence"]): row for row in (remark(rng) for _ in range(4000))}
    chosen = list(rows.values())[:600]
    for name, part in (("train.jsonl", chosen[:480]), ("validation.jsonl", chosen[480:])):
        (options.out / name).write_text("".join(json.dumps(row) + "\n" for row in part), encoding="utf-8")


if __name__ == "__main__":
    main()
