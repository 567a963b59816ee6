"""Stops runs of `hf-train` with SIGINT, SIGTERM and SIGKILL (then the cleanup) at ten moments, each many times.

    python bench/kill_test.py [--times N] [--workers N]

Prints, for each moment and signal, how often all Jobs were CANCELED afterwards and how long that took: from the signal,
or for SIGKILL from the start of the cleanup. Exits with 1 when one run was not as it must be (see `tests/support/
moments.py`). The suite does each once (`tests/e2e/test_kill.py`).
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import secrets
import signal
import statistics
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "entrypoint"), str(ROOT / "tests")]

from support import hub_process  # noqa: E402
from support.local_hub_process import Hub  # noqa: E402
from support.moments import MOMENTS, SIGNALS, problems, stop  # noqa: E402
from support.product import Product, make_repo  # noqa: E402

_HUB: list[tuple[str, Path]] = []
_OPEN = contextlib.ExitStack()


def own_hub() -> None:
    """A Hub for each worker: faults are for all accounts of a Hub."""
    scratch = Path(_OPEN.enter_context(tempfile.TemporaryDirectory(prefix="hf-train-kill-")))
    running = _OPEN.enter_context(hub_process.running(scratch / "hub"))
    multiprocessing.util.Finalize(None, _OPEN.close, exitpriority=10)
    _HUB.append((running.url, scratch))


def once(task: tuple[int, signal.Signals, int]) -> tuple[int, signal.Signals, float, list[str]]:
    """One run, stopped once."""
    number, signum, time_no = task
    url, scratch = _HUB[0]
    hub = Hub(url=url, user=f"u{secrets.token_hex(4)}", data=scratch)
    hub.heal()
    hub.forget()
    with tempfile.TemporaryDirectory(prefix="run-", dir=scratch) as name:
        folder = Path(name)
        repo = make_repo(folder / "repo", {"train.py": f"print({time_no})\n"})
        product = Product(cwd=repo, environ=hub.environ, scratch=folder)
        try:
            stopped = stop(MOMENTS[number], signum, product, hub, folder / "state.json")
            return number, signum, stopped.seconds, problems(MOMENTS[number], signum, stopped)
        except AssertionError as error:
            return number, signum, 0.0, [str(error)[-300:] or "an assertion failed"]
        finally:
            product.end_all()
            hub.heal()
            hub.cancel_all()


def main() -> int:
    """Run all of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=20, help="runs per moment and signal")
    parser.add_argument("--workers", type=int, default=2, help="runs at the same time, each on a Hub of its own")
    options = parser.parse_args()
    tasks = [(n, signum, k) for k in range(options.times) for n in range(len(MOMENTS)) for signum in SIGNALS]
    began, results = time.monotonic(), []
    with ProcessPoolExecutor(options.workers, multiprocessing.get_context("spawn"), initializer=own_hub) as pool:
        for result in pool.map(once, tasks):
            results.append(result)
            for problem in result[3]:
                print(f"PROBLEM {MOMENTS[result[0]].name}, {result[1].name}: {problem}", flush=True)
    print(f"{'moment':<36} {'signal':<8} {'good':>7} {'median s':>9} {'max s':>6}")
    for number, moment in enumerate(MOMENTS):
        for signum in SIGNALS:
            mine = [one for one in results if one[:2] == (number, signum)]
            times = [one[2] for one in mine]
            good = sum(not one[3] for one in mine)
            name = f"{good}/{len(mine)}"
            print(f"{moment.name:<36} {signum.name:<8} {name:>7} {statistics.median(times):>9.2f} {max(times):>6.2f}")
    bad = sum(bool(one[3]) for one in results)
    print(f"{len(results)} runs in {time.monotonic() - began:.0f} s, {bad} not as they must be")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
