"""Speed and memory of the log reader: 1,000,000 lines, 100 MB of mixed log, against `wc -l`.

    python bench/bench_reader.py [--lines N] [--kind mixed|noise|dicts|bars|errors|endless]

Prints time, lines and megabytes per second, peak memory (resident set) and the ratio against `wc -l`; exits with 1 when
the promise (10 s, 80 MB) is broken. The log is made once and streamed from disk in 64 KB chunks, so only the reader's
memory counts.
"""

from __future__ import annotations

import argparse
import itertools
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "entrypoint"))

from hf_train.collect.reader import LogReader

SECONDS = 10.0
MEGABYTES = 80.0


def noise(rng: random.Random, n: int) -> str:
    full = f"{rng.randrange(9999)} documents, {rng.randrange(10**6)} tokens, {rng.random():.2f} full"
    queue = "images of 512 x 512, prompts shortened to 77 words, cache warm, queue"
    kinds = (
        f"[INFO|modeling_utils.py:{n % 4000}] 2026-12-02 03:33:53,089 >> Model weights saved in out/checkpoint-{n}",
        f"2026-12-02 03:51:00,{n % 1000:03d} - INFO - acme.data - shard {n}: {full}",
        f'  File "/opt/venv/lib/python3.12/site-packages/acme/module_{n % 97}.py", line {n % 999}, in forward',
        f"Batch {n} fetched from worker {n % 8}: {queue} {n % 64}",
        "The following columns in the Evaluation set don't have a corresponding argument and are ignored: text.",
        f"{rng.getrandbits(160):040x} {rng.getrandbits(64):016x} /data/{rng.getrandbits(80):020x}.parquet fetched",
    )
    return kinds[n % len(kinds)] + "\n"


def step(rng: random.Random, n: int) -> str:
    return (
        f"{{'loss': '{rng.random():.4g}', 'grad_norm': '{rng.random():.4g}', 'learning_rate': '{rng.random():.4g}', "
        f"'epoch': '{n / 100000:.4g}'}}\n"
    )


def bar(rng: random.Random, n: int) -> str:
    done = n % 1000000
    return (
        f"\r {done // 10000:2d}%|████      | {done}/1000000 [00:10<00:20, {rng.random() * 9:.2f}it/s, "
        f"loss={rng.random():.3g}]"
    )


def pairs(rng: random.Random, n: int) -> str:
    return (
        f"12/02 22:18:02 - mmengine - INFO - Epoch(train) [1][{n % 735}/735]  lr: 1.0e-02  eta: 0:10:00  time: 0.3012  "
        f"data_time: 0.0102  memory: 3012  loss: {rng.random():.4f}  acc: {rng.random():.4f}\n"
    )


def error(rng: random.Random, n: int) -> str:
    return (
        f"worker {n % 16}: ConnectionError: HTTPSConnectionPool, retrying in {rng.random():.2f} s "
        f"(attempt {n % 5}), no failure yet\n"
    )


def lines(kind: str, count: int) -> Iterator[str]:
    rng = random.Random(7)
    makers = {
        "noise": [noise],
        "dicts": [step],
        "bars": [bar],
        "pairs": [pairs],
        "errors": [error],
        "mixed": [noise] * 11 + [bar] * 5 + [step] * 2 + [pairs] + [error],
    }[kind]
    for n, make in zip(range(count), itertools.cycle(makers), strict=False):
        yield make(rng, n)


def write(path: Path, kind: str, count: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        if kind == "endless":
            for _ in range(200):
                file.write("loss=0.5 " * 116509)
            return
        file.writelines(lines(kind, count))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument(
        "--kind", default="mixed", choices=["mixed", "noise", "dicts", "bars", "pairs", "errors", "endless"]
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "job.log"
        write(path, options.kind, options.lines)
        size = path.stat().st_size / 1e6
        start = time.perf_counter()
        subprocess.run(["wc", "-l", str(path)], check=True, stdout=subprocess.DEVNULL)
        counted = time.perf_counter() - start
        reader = LogReader()
        start, used = time.perf_counter(), time.process_time()
        with path.open("rb") as file:
            while chunk := file.read(65536):
                reader.feed(chunk)
        reading = reader.close()
        taken, used = time.perf_counter() - start, time.process_time() - used
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    longest = max((len(points) for points in reading.curve.values()), default=0)
    print(
        f"{options.kind}: {options.lines:,} lines, {size:.0f} MB: {taken:.2f} s, of that {used:.2f} s "
        f"CPU ({options.lines / taken:,.0f} lines/s, "
        f"{size / taken:.0f} MB/s), peak {peak:.0f} MB, {taken / counted:.0f} x wc -l, longest curve {longest} points"
    )
    return 0 if taken <= SECONDS and peak <= MEGABYTES and longest <= 500 else 1


if __name__ == "__main__":
    raise SystemExit(main())
