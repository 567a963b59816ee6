"""Hostile lines through the printer and the oracle of the runner's rules, and what the printer costs.

    python bench/bench_printer.py [--lines N] [--plain N]

Prints how many of the lines a runner would have obeyed as they came, and how many after the printer, without the stop
window that stands around it besides: 0, or this ends with 1. Then the time for plain lines of a training.
"""

from __future__ import annotations

import argparse
import io
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "entrypoint"), str(ROOT / "tests")]

from hf_train import console as room  # noqa: E402
from hf_train.console import PlainConsole  # noqa: E402
from hf_train.text.redact import Redactor  # noqa: E402
from hf_train.text.untrusted import printable  # noqa: E402
from support.runner_oracle import Runner  # noqa: E402
from unit.hostile_lines import hostile_lines  # noqa: E402

SECRETS = ("hf_local_0123456789abcdef", "ghs_local_0123456789abcdef", "wandb-0123456789abcdef")
LINE = "{'loss': '%.4f', 'grad_norm': '0.91', 'learning_rate': '1.9e-05', 'epoch': '%.4f'} line %d"


def obeyed(lines: int, seed: int) -> tuple[int, int]:
    """Commands obeyed of so many hostile lines: as they come, and after the printer without gutter or window."""
    bare = after = 0
    for line in hostile_lines(lines, seed):
        bare += bool(Runner().read(line).obeyed)
        after += bool(Runner().read("\n".join(printable(line))).obeyed)
    return bare, after


def printed_s(lines: int) -> float:
    """CPU seconds for so many plain lines on a console that shows all of them; the best of three."""
    room.MAX_LINES, room.MAX_BYTES = 1 << 40, 1 << 40
    text = [LINE % (1000 / (1000 + i), i / lines, i) for i in range(lines)]
    rounds = []
    for _ in range(3):
        console = PlainConsole(Redactor(SECRETS), io.StringIO())
        start = time.process_time()
        for at in range(0, lines, 500):
            console.remote(console.whole(text[at : at + 500]))
        rounds.append(time.process_time() - start)
    return min(rounds)


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--plain", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    start = time.perf_counter()
    bare, after = obeyed(options.lines, options.seed)
    print(
        f"{options.lines} hostile lines: {bare} obeyed as they come, {after} after the printer "
        f"({time.perf_counter() - start:.0f} s)"
    )
    print(f"{options.plain} plain lines: {printed_s(options.plain):.2f} s of CPU")
    return 0 if after == 0 and bare > options.lines // 4 else 1


if __name__ == "__main__":
    sys.exit(main())
