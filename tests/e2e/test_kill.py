"""Ten moments, three signals: whatever stops the run, no Job goes on. `bench/kill_test.py` does each twenty times."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.local_hub_process import Hub
from support.moments import MOMENTS, SIGNALS, Moment, problems, stop
from support.product import Product, make_repo


@pytest.fixture
def product(account: Hub, tmp_path: Path) -> Iterator[Product]:
    repo = make_repo(tmp_path / "repo", {"train.py": "print('x')\n"})
    made = Product(cwd=repo, environ=dict(account.environ), scratch=tmp_path)
    yield made
    made.end_all()


@pytest.mark.case(54, 55, 56)
@pytest.mark.parametrize("signum", SIGNALS, ids=lambda one: one.name)
@pytest.mark.parametrize("moment", MOMENTS, ids=lambda one: one.name)
def test_nothing_bills_after_a_run_was_stopped(
    moment: Moment, signum: signal.Signals, product: Product, account: Hub, tmp_path: Path
) -> None:
    stopped = stop(moment, signum, product, account, tmp_path / "state.json")
    assert problems(moment, signum, stopped) == []
