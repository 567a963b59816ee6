"""Following 200,000 log lines: `hf-train run` against the real `hf jobs run`, the two streams alone on a replay, and
`hf-train explain`, which reads the results out of the same lines, against the `hf jobs logs` that only prints them.

    python bench/bench_logs.py [--lines N] [--rounds N]

All of them follow Jobs of one local Hub that print the same lines. Prints wall time, CPU seconds and peak resident set
of each client process (`wait4`), how many of the lines came through, and the ratios; the best of the rounds counts.
`hf-train run` also reads results from every line and keeps the log in `job.log`, where its lines are counted (it shows
fewer). Exits with 1 when a line is lost, or when the stream alone is slower or hungrier than `hf jobs logs -f`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "entrypoint"))

from hf_train.local_hub.pytest import LocalHubHandle, running  # noqa: E402

EXPLAIN = "hf-train explain"
HF = Path(sys.executable).with_name("hf")
PRINTER = """
import sys
n = int(sys.argv[1])
step = "{'loss': '%.4f', 'grad_norm': '0.91', 'learning_rate': '1.9e-05', 'epoch': '%.4f'} line %d\\n"
for first in range(0, n, 1000):
    sys.stdout.write("".join(step % (1000 / (1000 + i), i / n, i) for i in range(first, min(n, first + 1000))))
"""
READER = """
import sys
sys.path.insert(0, sys.argv[1])
from hf_train.hub.logs import StreamFeed
feed = StreamFeed(sys.argv[2], sys.argv[3])
while not feed.ended:
    sys.stdout.writelines(line + "\\n" for line in feed.take(0.2))
while lines := feed.take(0):
    sys.stdout.writelines(line + "\\n" for line in lines)
"""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What one client took."""

    wall_s: float
    cpu_s: float
    peak_mb: float
    lines: int


def measure(words: list[str], env: Mapping[str, str], cwd: Path) -> Cost:
    """Run a client with its output into a file."""
    out = cwd / "out.txt"
    with out.open("wb") as stdout, (cwd / "err.txt").open("wb") as stderr:
        start = time.perf_counter()
        process = subprocess.Popen(words, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(words)[:200]} ended with {process.returncode}\n{(cwd / 'err.txt').read_text()[-3000:]}")
    kept = cwd / "report" / "job.log"
    with (kept if "--report-dir" in words else out).open("rb") as text:
        count = sum(b"} line " in line for line in text)
    return Cost(wall_s=wall, cpu_s=usage.ru_utime + usage.ru_stime, peak_mb=usage.ru_maxrss / 1024, lines=count)


def clients(hub: LocalHubHandle, job: str, lines: int) -> dict[str, list[str]]:
    """What is measured: two that launch and follow, two that replay the log of one Job, one that reads its file."""
    line = ["python", "-c", PRINTER, str(lines)]
    program = "import sys; sys.path.insert(0, sys.argv.pop(1)); from hf_train.cli import main; sys.exit(main())"
    ours = [sys.executable, "-I", "-c", program, str(ROOT / "entrypoint")]
    url = f"{hub.endpoint}/api/jobs/{hub.user}/{job}/logs"
    return {
        "hf jobs run": [str(HF), "jobs", "run", "python:3.12", "--", *line],
        "hf-train run": [*ours, "run", "--path", "none", "--comment", "never", "--report-dir", "report", "--", *line],
        "hf jobs logs -f": [str(HF), "jobs", "logs", "-f", job],
        EXPLAIN: [*ours, "explain", "--format", "json", "lines.txt"],
        "hf-train reader": [sys.executable, "-I", "-c", READER, str(ROOT / "entrypoint"), url, hub.token],
    }


def best(rounds: list[Cost]) -> Cost:
    """The least of each."""
    return Cost(
        wall_s=min(one.wall_s for one in rounds),
        cpu_s=min(one.cpu_s for one in rounds),
        peak_mb=min(one.peak_mb for one in rounds),
        lines=min(one.lines for one in rounds),
    )


def show(costs: Mapping[str, Cost], lines: int) -> bool:
    """Print the table; whether the promise holds."""
    print(f"{'client':18}{'wall s':>8}{'CPU s':>8}{'peak MB':>9}{'lines':>9}")
    for name, cost in costs.items():
        print(f"{name:18}{cost.wall_s:8.2f}{cost.cpu_s:8.2f}{cost.peak_mb:9.0f}{cost.lines:9}")
    pairs = (("hf-train run", "hf jobs run"), ("hf-train reader", "hf jobs logs -f"), (EXPLAIN, "hf jobs logs -f"))
    for ours, theirs in pairs:
        a, b = costs[ours], costs[theirs]
        print(
            f"{ours} / {theirs}: wall {a.wall_s / b.wall_s:.2f}, CPU {a.cpu_s / b.cpu_s:.2f}, "
            f"peak memory {a.peak_mb / b.peak_mb:.2f}"
        )
    reader, theirs_alone = costs["hf-train reader"], costs["hf jobs logs -f"]
    whole = all(cost.lines == lines for name, cost in costs.items() if name != EXPLAIN)
    return whole and reader.wall_s <= theirs_alone.wall_s and reader.peak_mb <= theirs_alone.peak_mb


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, running(Path(folder, "hub")) as hub:
        work = Path(folder, "work")
        work.mkdir()
        env = {
            "PATH": os.environ["PATH"],
            "HOME": folder,
            "HF_HOME": f"{folder}/hf",
            "HF_ENDPOINT": hub.endpoint,
            "HF_TOKEN": hub.token,
            "HF_HUB_DISABLE_UPDATE_CHECK": "1",
            "NO_COLOR": "1",
        }
        subprocess.run(["git", "init", "-q", str(work)], check=True)
        first = ["jobs", "run", "-q", "-d", "python:3.12", "--", "python", "-c", PRINTER, str(options.lines)]
        job = subprocess.run([str(HF), *first], env=env, capture_output=True, text=True, check=True).stdout.strip()
        start = time.perf_counter()
        hub.wait(job, 300)
        size = (hub.data / "jobs" / job / "log.sse").stat().st_size / 1e6
        print(
            f"{options.lines} lines, {size:.0f} MB of events; the Hub took them in {time.perf_counter() - start:.2f} s"
        )
        with (work / "lines.txt").open("wb") as kept_lines:
            subprocess.run([str(HF), "jobs", "logs", "-f", job], env=env, stdout=kept_lines, check=True)
        costs = {
            name: best([measure(words, env, work) for _ in range(options.rounds)])
            for name, words in clients(hub, job, options.lines).items()
        }
        kept = show(costs, options.lines)
        status = Path(f"/proc/{hub.process.pid}/status").read_text()
        peak = next(int(row.split()[1]) for row in status.splitlines() if row.startswith("VmHWM")) / 1024
        print(f"peak memory of the local Hub itself: {peak:.0f} MB")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
