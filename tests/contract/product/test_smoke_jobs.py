"""Smoke first and retries, on the local Hub: real Jobs, their real logs and durations."""

from __future__ import annotations

import pytest

from support.local_hub_process import Hub
from support.product import Product, write

TRAIN = """\
import sys, time

words = sys.argv[1:]
steps = [int(words[at + 1]) for at, word in enumerate(words) if word == "--max_steps"][-1]
for step in range(1, steps + 1):
    time.sleep(0.02)
    print(f"{step * 100 // steps:3d}%|##########| {step}/{steps} [00:{step // 10:02d}<00:01, 10.00it/s]", flush=True)
print({"train_runtime": steps / 10, "train_steps_per_second": 10.0, "epoch": 1.0}, flush=True)
"""


@pytest.fixture
def trainer(product: Product) -> Product:
    """A training whose length its last `--max_steps` sets."""
    write(product.cwd, {"train.py": TRAIN})
    return product


def _run(trainer: Product, steps: int, *words: str) -> tuple[str, ...]:
    return (*words, "--smoke", "args: --max_steps 5", "--", "python", "train.py", "--max_steps", str(steps))


def test_a_smoke_run_and_then_the_full_one(trainer: Product, account: Hub) -> None:
    done = trainer.run(*_run(trainer, 10, "--timeout", "20m", "--max-cost", "1"))
    assert done.code == 0, done.out
    assert len(account.jobs()) == 2
    (smoke,) = done.report["earlier"]
    assert smoke["kind"] == "smoke"
    assert smoke["reason"].startswith("10 steps at 10 a second: the full run takes about")
    assert "a timeout of" in done.out
    assert [job["environment"].get("HFT_SMOKE") for job in reversed(account.jobs())] == ["1", None]
    again = trainer.run(*_run(trainer, 10_000, "--timeout", "1m"))
    assert again.code == 2, again.out
    assert "The full run does not fit its timeout" in again.out
    assert again.report["earlier"][0]["cost-usd"] is not None
    assert len(account.jobs()) == 3, "only its smoke run was launched"


def test_what_the_platform_ended_is_launched_once_more(trainer: Product, account: Hub) -> None:
    account.fault("jobs final=ERROR message='Node was lost'")
    done = trainer.run("--retry", "1", "--", "true")
    jobs = account.jobs()
    assert [job["status"]["stage"] for job in jobs] == ["ERROR", "ERROR"]
    assert len({job["labels"]["hft-nonce"] for job in jobs}) == 2
    assert done.code == 1
    (first,) = done.report["earlier"]
    assert (first["kind"], first["reason"], first["job-id"]) == ("try", "Node was lost", jobs[1]["id"])
