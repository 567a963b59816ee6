"""trackio's bucket on the local Hub, read with the Job's own token."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from hf_train.errors import RefusedByHub
from hf_train.hub import HubTrackers
from hf_train.values import Secret
from support.local_hub_process import Hub
from support.product import Product
from support.trackio import database


@pytest.fixture
def board(account: Hub) -> str:
    name = f"{account.user}/board"
    account.api.create_bucket(name, private=True)
    rows = [(datetime.now(UTC), at, {"reward": at / 2}) for at in range(3)]
    files: list[tuple[str | Path | bytes, str]] = [
        (database(rows), "trackio/mine.db"),
        (b"x" * 100, "trackio/mine.lock"),
        (b"y" * 9000, "trackio/media/a.db"),
    ]
    account.api.batch_bucket_files(name, add=files)
    return name


def test_the_report_has_the_curve_that_only_trackio_has(product: Product, account: Hub, board: str) -> None:
    line = f"* Trackio metrics will be synced to Hugging Face Bucket: {account.url}/buckets/{board}"
    done = product.run("--path", "none", "--", "echo", line, env={"HF_TRAIN_JOB_TOKEN": account.token})
    assert done.code == 0, done.out
    assert done.report["curve"] == {"reward": [[0, 0], [1, 0.5], [2, 1]]}
    done = product.run("--reuse", "never", "--path", "none", "--", "echo", line)
    assert done.report["curve"] == {}, "a Job without a token could not have read it either"


def test_only_databases_of_the_folder_and_of_a_size(account: Hub, board: str) -> None:
    trackers = HubTrackers(account.url, Secret(account.token))
    assert len(trackers.databases(board, 1 << 20)) == 1
    assert trackers.databases(board, 1000) == ()
    assert trackers.databases(f"{account.user}/none", 1 << 20) == ()
    assert HubTrackers(account.url, None).databases(board, 1 << 20) == ()


def test_a_strangers_token_sees_nothing(account: Hub, board: str) -> None:
    try:
        found = HubTrackers(account.url, Secret("hf_local_as_somebody")).databases(board, 1 << 20)
    except RefusedByHub:
        found = ()
    assert found == ()
