"""Write the data set of this example: small pictures of coloured shapes, with captions.

`data/` gets the images and `metadata.jsonl` with `file_name` and `text`, the form that `datasets` loads as an image
folder.

Run it with: python make_data.py --out data
"""

from __future__ import annotations

import argparse
import json
from itertools import product
from pathlib import Path

from PIL import Image, ImageDraw

SIZE = 32
COLOURS = {"red": (205, 60, 50), "green": (60, 150, 75), "blue": (55, 95, 190)}
SHAPES = ("circle", "square", "triangle")


def draw(colour: tuple[int, int, int], shape: str) -> Image.Image:
    """One shape on a light ground."""
    image = Image.new("RGB", (SIZE, SIZE), (245, 240, 230))
    pen = ImageDraw.Draw(image)
    box = (6, 6, SIZE - 7, SIZE - 7)
    if shape == "circle":
        pen.ellipse(box, fill=colour)
    elif shape == "square":
        pen.rectangle(box, fill=colour)
    else:
        pen.polygon([(SIZE // 2, box[1]), (box[0], box[3]), (box[2], box[3])], fill=colour)
    return image


def main() -> None:
    """Write the images and their captions."""
    parser = argparse.ArgumentParser(description="Draw the pictures.")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "data", help="folder to write to")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    rows = []
    for (name, colour), shape in product(COLOURS.items(), SHAPES):
        file_name = f"{name}-{shape}.png"
        draw(colour, shape).save(options.out / file_name, optimize=True)
        rows.append(json.dumps({"file_name": file_name, "text": f"a {name} {shape}"}) + "\n")
    (options.out / "metadata.jsonl").write_text("".join(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
