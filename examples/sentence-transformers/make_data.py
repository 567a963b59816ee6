"""Write the data set of this example: pairs of remarks about a training, with how alike they are (0 to 1).

Each row is `{"sentence1": ..., "sentence2": ..., "score": ...}`, the shape of the STS benchmark. Two remarks are alike
when they speak of the same thing and judge it alike; each of the two makes half of the score.

Run it with: python make_data.py --out data
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path

THINGS = [("loss", "error"), ("model", "network"), ("batch", "minibatch"), ("run", "training"), ("score", "result")]
GLAD = ["good", "fine", "smooth", "stable", "lovely"]
SORRY = ["bad", "slow", "noisy", "broken", "awful"]
FORMS = (
    "the {thing} is {word}",
    "what a {word} {thing}",
    "we find the {thing} {word} today",
    "the {thing} of this morning was {word}",
    "everybody says that the {thing} looks {word}",
)


def pair(rng: random.Random) -> dict[str, str | float]:
    """Two remarks and how alike they are."""
    things = [rng.choice(THINGS) for _ in range(2)]
    if rng.random() < 0.5:
        things[1] = things[0]
    glad = [rng.random() < 0.5 for _ in range(2)]
    words = [rng.choice(GLAD if one else SORRY) for one in glad]
    first, second = (
        rng.choice(FORMS).format(thing=rng.choice(thing), word=word) for thing, word in zip(things, words, strict=True)
    )
    score = 0.5 * (things[0] == things[1]) + 0.5 * (glad[0] == glad[1])
    return {"sentence1": first, "sentence2": second, "score": score}


def main() -> None:
    """Write train.jsonl, validation.jsonl and test.jsonl."""
    parser = argparse.ArgumentParser(description="Write the pairs.")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "data", help="folder to write to")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    rng = random.Random(20)
    for name, count in (("train.jsonl", 640), ("validation.jsonl", 80), ("test.jsonl", 80)):
        rows = [json.dumps(pair(rng)) + "\n" for _ in range(count)]
        (options.out / name).write_text("".join(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
