"""Takes every workflow out of the Markdown of this repository, so that the linters of workflows read it as well.

A YAML block with `on:` and `jobs:` is a workflow and becomes a file; a block that is a step or a part of one is wrapped
into a workflow around it; YAML that is neither (a config file) is left alone.

Usage: `python scripts/blocks.py FOLDER`: empties the folder, writes `DOCUMENT-LINE.yml` files, prints how many.
"""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_BLOCK = re.compile(r"^(?P<indent> *)```ya?ml\n(?P<text>.*?)^ *```$", re.MULTILINE | re.DOTALL)
_AROUND = """\
name: a step of {name}
on: push
permissions: {{}}
concurrency:
  group: docs
  cancel-in-progress: true
jobs:
  docs:
    name: docs
    runs-on: ubuntu-latest
    timeout-minutes: 10
    environment: training
    steps:
"""


def documents() -> Iterator[Path]:
    """The Markdown of users."""
    yield from sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("**/*.md"), *(ROOT / "examples").glob("**/*.md")])


def blocks(path: Path) -> Iterator[tuple[int, str]]:
    """The YAML blocks of a document that are workflows or steps, as whole workflows, with the line they begin at."""
    source = path.read_text(encoding="utf-8")
    for match in _BLOCK.finditer(source):
        text = textwrap.dedent(match["text"])
        line = source.count("\n", 0, match.start()) + 2
        if re.search(r"^jobs:", text, re.MULTILINE):
            yield line, text
        elif re.match(r"- (?:uses|name|id|run|if): ", text):
            yield line, _AROUND.format(name=path.name) + textwrap.indent(text, " " * 6)


def main() -> int:
    """Write them."""
    folder = Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    count = 0
    for path in documents():
        name = str(path.relative_to(ROOT)).replace("/", "-").removesuffix(".md")
        for line, text in blocks(path):
            (folder / f"{name}-{line}.yml").write_text(text, encoding="utf-8")
            count += 1
    print(f"{count} workflows and steps in the documentation")
    return 0 if count else 1


if __name__ == "__main__":
    sys.exit(main())
