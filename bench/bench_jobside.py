"""What the job side costs: `sleep 10` bare, and as the Job runs it: `start.sh`, then the launcher, an output folder.

    python bench/bench_jobside.py [--seconds N] [--rounds N]

Prints for each how long it took beyond the sleep, and the peak resident set of the processes that are ours: the shell,
which becomes the launcher, and whatever it starts for itself. The best of the rounds counts. Exits with 1 when the job
side takes 1 s or 20 MB more than the bare command.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "entrypoint"))

from hf_train import jobside  # noqa: E402

MOST_S, MOST_MB = 1.0, 20.0
FILES = 200
"""Of the repository: what is verified and copied."""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What one run took beyond the sleep, and the peak of our processes in MB."""

    wall_s: float
    peak_mb: float


def lay(folder: Path) -> None:
    """A snapshot as it lies in the mount."""
    files = {f"src/module_{number}.py": b"VALUE = 1\n" * 200 for number in range(FILES)}
    files |= {f".hf-train/{name}": content for name, content in jobside.programs().items()}
    files |= {f".hf-train/{jobside.EXECUTABLES}": b"", f".hf-train/{jobside.LINKS}": b""}
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    sums = "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in files.items())
    (folder / ".hf-train" / jobside.SUMS).write_text(sums)
    (folder / ".hf-train" / "manifest.json").write_text("{}")


def measure(words: list[str], seconds: float, scratch: Path) -> Cost:
    """Run once."""
    scratch.mkdir()
    (scratch / "output").mkdir()
    env = {**os.environ, "TMPDIR": str(scratch), "HF_TRAIN_OUTPUT": str(scratch / "output"), "JOB_ID": "bench"}
    began = time.monotonic()
    process = subprocess.Popen(words, env=env, cwd="/")
    peak = 0.0
    while process.poll() is None:
        peak = max(peak, resident(process.pid))
        time.sleep(0.02)
    wall = time.monotonic() - began - seconds
    if process.returncode:
        sys.exit(f"{words[0]} ended with {process.returncode}")
    shutil.rmtree(scratch)
    return Cost(wall_s=wall, peak_mb=peak)


def resident(pid: int) -> float:
    """Megabytes of a process and of all below it now, but for the command itself."""
    total = 0.0
    with contextlib.suppress(OSError, IndexError, ValueError):
        folder = Path(f"/proc/{pid}")
        if (folder / "comm").read_text() != "sleep\n":
            total += int((folder / "status").read_text().split("VmRSS:")[1].split()[0]) / 1024
        for child in (folder / "task" / str(pid) / "children").read_text().split():
            total += resident(int(child))
    return total


def main() -> int:
    """Measure and judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--rounds", type=int, default=2)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-jobside-") as name:
        top = Path(name)
        lay(top / "code")
        sleep = ["sleep", f"{args.seconds:g}"]
        ways = {"bare": sleep, "with jobside": ["sh", str(top / "code" / ".hf-train" / "start.sh"), *sleep]}
        best = {}
        for way, words in ways.items():
            costs = [measure(words, args.seconds, top / "scratch") for _ in range(args.rounds)]
            best[way] = Cost(wall_s=min(c.wall_s for c in costs), peak_mb=min(c.peak_mb for c in costs))
            print(f"{way:14}{best[way].wall_s:8.3f} s beyond the sleep{best[way].peak_mb:8.1f} MB")
    more_s = best["with jobside"].wall_s - best["bare"].wall_s
    more_mb = best["with jobside"].peak_mb - best["bare"].peak_mb
    good = more_s < MOST_S and more_mb < MOST_MB
    print(f"jobside costs {more_s:.3f} s and {more_mb:.1f} MB on {args.seconds:g} s: {'good' if good else 'too much'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
