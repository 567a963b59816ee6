"""Speed and memory of the log reader: 1,000,000 lines, 100 MB of mixed log, against `wc -l`.

    python bench/bench_reader.py [KIND ...] [--lines N]

KIND is `mixed` (the default), the name of one family or of one hostile shape, or `all`. Each kind is made once, written
to disk and read from there in 64 KB chunks by a process of its own, so that its peak resident set is the reader's.
Prints time, CPU seconds, lines and megabytes per CPU second, peak memory and the ratio against `wc -l`. Exits with 1
when a promise is broken: `mixed` takes more than 10 s, anything needs more than 80 MB, a family reads fewer than 30,000
lines per CPU second, a hostile shape less than 0.25 MB, or a curve has more than 500 points. Against the real
`hf jobs logs`: `bench_logs.py`.
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
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "entrypoint"))

from hf_train.collect.reader import LogReader

SECONDS = 10.0
MEGABYTES = 80.0
LINES_PER_CPU_SECOND = 30_000
HOSTILE_MB_PER_CPU_SECOND = 0.25
LINES = 1_000_000
HOSTILE_BYTES = 20_000_000
"""Size of a hostile log (`endless`: ten times that, one line of 200 MB)."""

Make = Callable[[random.Random, int], str]


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


def mmengine(rng: random.Random, n: int) -> str:
    return (
        f"12/02 22:18:02 - mmengine - INFO - Epoch(train) [1][{n % 735}/735]  lr: 1.0e-02  eta: 0:10:00  time: 0.3012  "
        f"data_time: 0.0102  memory: 3012  loss: {rng.random():.4f}  acc: {rng.random():.4f}\n"
    )


def megatron(rng: random.Random, n: int) -> str:
    return (
        f" [2026-06-20 10:11:12] iteration {n:8}/ 1000000 | consumed samples: {n * 64:12} | elapsed time per iteration "
        f"(ms): {rng.random() * 900:.1f} | learning rate: {rng.random():.6E} | global batch size:    64 | "
        f"lm loss: {rng.random() * 9:.6E} | loss scale: 1.0 | grad norm: {rng.random():.3f} | "
        f"number of nan iterations:   0 |\n"
    )


def fairseq(rng: random.Random, n: int) -> str:
    return (
        f"2026-06-20 09:15:20 | INFO | train_inner | epoch 001: {n % 1102:6} / 1102 loss={rng.random() * 9:.5g}, "
        f"nll_loss={rng.random() * 9:.5g}, ppl={rng.random() * 400:.5g}, wps={rng.random() * 40000:.1f}, ups=6.96, "
        f"num_updates={n}, lr={rng.random():.6g}, gnorm={rng.random():.4g}, wall={n // 7}\n"
    )


def deepspeed(rng: random.Random, n: int) -> str:
    return (
        f"steps: {n} loss: {rng.random() * 3:.4f} iter time (s): {rng.random():.3f} samples/sec: {n % 300 / 10:.3f}\n"
    )


def json_line(rng: random.Random, n: int) -> str:
    return (
        f'{{"step": {n}, "loss": {rng.random()}, "learning_rate": {rng.random() / 1000}, "epoch": {n / 100000}, '
        f'"eval": {{"accuracy": {rng.random()}}}, "event": "log"}}\n'
    )


def keras(rng: random.Random, n: int) -> str:
    return (
        f"\x1b[1m{n % 235}/235\x1b[0m \x1b[32m━━━━━━━━━━━━\x1b[0m\x1b[37m━━━━━━━━\x1b[0m \x1b[1m41s\x1b[0m 17ms/step - "
        f"accuracy: {rng.random():.4f} - loss: {rng.random():.4f}"
        + ("\x08" * 20 if n % 9 else f"\nEpoch {n % 7 + 1}/9\n")
    )


def lightning(rng: random.Random, n: int) -> str:
    return (
        f"\rEpoch {n // 2000}:  50%|█████     | {n % 2000}/2000 [00:01<00:01, 21.11it/s, v_num=3, "
        f"train_loss={rng.random():.3f}, val_loss={rng.random():.3f}]"
    )


def yolo(rng: random.Random, n: int) -> str:
    done = n % 100
    return (
        f"\r\x1b[K        1/3      2.31G      {rng.random():.4g}      {rng.random():.4g}    "
        f"     13        640: {done}% ━━━━━━━━━━━━ {done}/100 1.4it/s 0.7s"
    )


def boosting(rng: random.Random, n: int) -> str:
    return f"[{n}]\tvalidation_0-logloss:{rng.random():.5f}\tvalidation_1-logloss:{rng.random():.5f}\n"


def table(rng: random.Random, n: int) -> str:
    if n == 0:
        return "epoch     train_loss  valid_loss  accuracy  time    \n"
    return f"{n}         {rng.random():.6f}    {rng.random():.6f}    {rng.random():.6f}  00:31     \n"


def error(rng: random.Random, n: int) -> str:
    return (
        f"worker {n % 16}: ConnectionError: HTTPSConnectionPool, retrying in {rng.random():.2f} s "
        f"(attempt {n % 5}), no failure yet\n"
    )


FAMILIES: dict[str, list[Make]] = {
    "noise": [noise], "dicts": [step], "bars": [bar], "mmengine": [mmengine], "megatron": [megatron],
    "fairseq": [fairseq], "deepspeed": [deepspeed], "json": [json_line], "keras": [keras], "lightning": [lightning],
    "yolo": [yolo], "boosting": [boosting], "table": [table], "errors": [error],
    "mixed": [noise] * 11 + [bar] * 5 + [step] * 2 + [mmengine] + [error],
}  # fmt: skip


def _word(rng: random.Random) -> str:
    return "".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(8))


HOSTILE: dict[str, Make] = {
    "long-lines": lambda _rng, _n: "loss=0.5 acc: 0.25, " * 1500 + "\n",
    "returns": lambda rng, _n: "\r".join(f"loss: {rng.random():.4f}" for _ in range(5000)),
    "names": lambda rng, _n: f"step 5: {_word(rng)}_loss: {rng.random():.4f}\n",
    "dict-names": lambda rng, _n: f"{{'eval_{_word(rng)}_loss': {rng.random():.4f}}}\n",
    "shapes": lambda rng, _n: f"{_word(rng)} {_word(rng)}: {_word(rng)} loss {_word(rng)} error {rng.random()}\n",
    "braces": lambda _rng, _n: "{'" * 8000 + "\n",
    "nested-json": lambda _rng, _n: '{"a":' * 5000 + "\n",
    "thousands": lambda _rng, _n: "loss: 1,000," * 2500 + "\n",
    "escapes": lambda _rng, _n: "\x1b[31m\x1b[1A\x1b]8;;x\x07loss: 0.5\x08" * 500 + "\n",
    "digits": lambda _rng, _n: "loss: " + "1" * 30000 + "\n",
    "tracebacks": lambda rng, n: f'Traceback (most recent call last):\n  File "a.py", line {n}\n{_word(rng)}Error: x\n',
    "addresses": lambda rng, _n: f"Model pushed to the Hub in https://huggingface.co/{_word(rng)}/{_word(rng)}.\n",
    "bars-of-many": lambda rng, n: f"\r{_word(rng)}:  5%|#  | {n}/9999999 [00:01<00:01, 1.0it/s, loss=0.5]",
    "endless": lambda _rng, _n: "loss=0.5 " * 116509,
}  # fmt: skip
"""Shapes that a log may be given to hurt its reader; each must cost no more than its length."""


def parts(kind: str, lines: int) -> Iterator[str]:
    rng = random.Random(7)
    if kind in FAMILIES:
        for n, make in zip(range(lines), itertools.cycle(FAMILIES[kind]), strict=False):
            yield make(rng, n)
        return
    size, limit = 0, HOSTILE_BYTES * (10 if kind == "endless" else 1)
    for n in itertools.count():
        part = HOSTILE[kind](rng, n)
        size += len(part)
        yield part
        if size >= limit:
            return


def measure(path: Path) -> tuple[float, float, float, int]:
    """Seconds, CPU seconds, peak megabytes, points of the longest curve."""
    reader = LogReader()
    start, used = time.perf_counter(), time.process_time()
    with path.open("rb") as file:
        while chunk := file.read(65536):
            reader.feed(chunk)
    reading = reader.close()
    taken, used = time.perf_counter() - start, time.process_time() - used
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return taken, used, peak, max((len(points) for points in reading.curve.values()), default=0)


def run(kind: str, lines: int) -> bool:
    """Measure one kind in a fresh process; whether its promises hold."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "job.log"
        with path.open("w", encoding="utf-8") as file:
            file.writelines(parts(kind, lines))
        size = path.stat().st_size / 1e6
        start = time.perf_counter()
        subprocess.run(["wc", "-l", str(path)], check=True, stdout=subprocess.DEVNULL)
        counted = time.perf_counter() - start
        words = [sys.executable, __file__, "--read", str(path)]
        out = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()
    taken, used, peak, longest = float(out[0]), float(out[1]), float(out[2]), int(out[3])
    speed = f"{lines / used:9,.0f}" if kind in FAMILIES else " " * 9
    print(
        f"{kind:14}{size:6.0f} MB {taken:7.2f} s {used:7.2f} s CPU {speed} lines/s {size / used:6.1f} MB/s "
        f"{peak:4.0f} MB peak {taken / counted:6.0f} x wc -l, longest curve {longest}",
        flush=True,
    )
    fast = lines / used >= LINES_PER_CPU_SECOND if kind in FAMILIES else size / used >= HOSTILE_MB_PER_CPU_SECOND
    return fast and peak <= MEGABYTES and longest <= 500 and (kind != "mixed" or taken <= SECONDS * lines / LINES)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(["all", *FAMILIES, *HOSTILE]))
    parser.add_argument("--lines", type=int, default=LINES)
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read:
        print(*measure(options.read))
        return 0
    kinds = [*FAMILIES, *HOSTILE] if "all" in options.kinds else options.kinds or ["mixed"]
    if unknown := set(kinds) - {*FAMILIES, *HOSTILE}:
        parser.error(f"no such kind: {', '.join(unknown)}")
    kept = [run(kind, options.lines) for kind in kinds]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    raise SystemExit(main())
