"""From the start of the step to a submitted Job: `hf-train run --mode detach` against `hf jobs run -d -v ./dir:/code`.

    python bench/bench_submit.py [--files N] [--rounds N]

A git repository of 1,000 files is sent to a local Hub, a fresh one for each tool and round: the first push, then a
second one with one changed file. The time is from the start of the process to the arrival of `POST /api/jobs/…` at the
Hub, as its request log has it; the number of requests until then and the time the Hub took for them are shown as well.
The best of the rounds counts.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "entrypoint"))

from hf_train.local_hub.pytest import LocalHubHandle, running  # noqa: E402

HF = Path(sys.executable).with_name("hf")
PROGRAM = "import sys; sys.path.insert(0, sys.argv.pop(1)); from hf_train.cli import main; sys.exit(main())"
OURS = [sys.executable, "-I", "-c", PROGRAM, str(ROOT / "entrypoint"), "run", "--mode", "detach", "--comment", "never"]
COMMAND = ["--", "python", "-c", "print('trained')"]
TOOLS = {
    "hf jobs run -d -v": [str(HF), "jobs", "run", "-d", "-v", "./:/code", "python:3.12", *COMMAND],
    "hf-train run": [*OURS, *COMMAND],
}
POLL_S = 0.05


@dataclass(frozen=True, kw_only=True)
class Push:
    """One launch."""

    seconds: float
    requests: int
    hub_s: float


def make_repository(folder: Path, files: int) -> None:
    """Small text files in folders of 50, committed."""
    for number in range(files):
        path = folder / f"package_{number // 50}" / f"module_{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# module {number}\n" + f"value_{number} = {number}\n" * 100)
    commit(folder, "init", "-q")


def commit(folder: Path, *first: str) -> None:
    """Commit what is there."""
    git = ["git", "-C", str(folder), "-c", "user.name=bench", "-c", "user.email=bench@localhost"]
    if first:
        subprocess.run([*git, *first], check=True)
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "state"], check=True)


def launch(hub: LocalHubHandle, words: list[str], env: Mapping[str, str], cwd: Path) -> Push:
    """Start the tool, and stop the clock when its Job arrives."""
    hub.clear_requests()
    start = datetime.now(UTC)
    process = subprocess.Popen(
        words, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    output: list[str] = []
    reader = threading.Thread(target=lambda: output.append(process.communicate()[0]))
    reader.start()
    path = f"/api/jobs/{hub.user}"
    while not (found := [one for one in hub.requests("POST", path) if one["path"] == path]):
        if process.poll() is not None and not hub.jobs():
            reader.join()
            sys.exit(f"{' '.join(words)[:200]} ended with {process.returncode}\n{output[-1][-3000:]}")
        time.sleep(POLL_S)
    seconds = (datetime.fromisoformat(found[0]["at"]) - start).total_seconds()
    before = [one for one in hub.requests() if one["at"] <= found[0]["at"]]
    reader.join()
    if process.returncode != 0:
        sys.exit(f"{' '.join(words)[:200]} ended with {process.returncode}\n{output[-1][-3000:]}")
    hub.wait(hub.jobs()[0]["id"])
    return Push(seconds=seconds, requests=len(before), hub_s=sum(one["seconds"] or 0 for one in before))


def round_of(words: list[str], files: int) -> tuple[Push, Push]:
    """First push and second push of one tool on a fresh Hub."""
    with tempfile.TemporaryDirectory() as folder, running(Path(folder, "hub")) as hub:
        repository = Path(folder, "repo")
        make_repository(repository, files)
        env = {
            "PATH": os.environ["PATH"],
            "HOME": folder,
            "HF_HOME": f"{folder}/hf",
            "HF_ENDPOINT": hub.endpoint,
            "HF_TOKEN": hub.token,
            "HF_HUB_DISABLE_UPDATE_CHECK": "1",
            "HF_HUB_DISABLE_PROGRESS_BARS": "1",
            "NO_COLOR": "1",
        }
        first = launch(hub, words, env, repository)
        (repository / "package_0" / "module_0.py").write_text("changed = True\n")
        commit(repository)
        return first, launch(hub, words, env, repository)


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    best: dict[str, list[Push]] = {}
    print(f"{options.files} files; start of the process to POST /api/jobs")
    head = f"{'requests':>10}{'in Hub s':>10}"
    print(f"{'tool':20}{'first push s':>14}{head}{'one file changed s':>20}{head}")
    for name, words in TOOLS.items():
        rounds = [round_of(words, options.files) for _ in range(options.rounds)]
        best[name] = [min(pushes, key=lambda push: push.seconds) for pushes in zip(*rounds, strict=True)]
        first, second = best[name]
        rest = [f"{push.requests:10}{push.hub_s:10.2f}" for push in (first, second)]
        print(f"{name:20}{first.seconds:14.2f}{rest[0]}{second.seconds:20.2f}{rest[1]}")
    theirs, ours = best.values()
    ratios = [mine.seconds / other.seconds for mine, other in zip(ours, theirs, strict=True)]
    print(f"hf-train / hf: first push {ratios[0]:.2f}, one file changed {ratios[1]:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
