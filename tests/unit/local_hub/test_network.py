"""Names in a network group."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hf_train.local_hub.executors.base import Ended, Stop, Task
from hf_train.local_hub.executors.hosts import Hosts
from hf_train.local_hub.executors.process import ProcessExecutor
from hf_train.local_hub.jobs.hardware import HARDWARE
from hf_train.local_hub.network import environment, hostname, names


def task(folder: Path, network: dict[str, object]) -> Task:
    return Task(
        job_id="6" * 24,
        namespace="alice",
        image="python:3.12",
        command=("true",),
        env={"HF_ENDPOINT": "http://127.0.0.1:1", **environment("alice", network)},
        mounts=(),
        folder=folder,
        hardware=HARDWARE["cpu-basic"],
        memory_bytes=1 << 30,
        network=network,
    )


def test_names_are_host_names_and_the_namespace_s_own() -> None:
    network = {"group": "g" * 46, "aliases": ["a" * 34, "b"]}
    assert all(len(name) <= 63 for name in names("alice", network))
    assert hostname("alice", "g") != hostname("bob", "g")
    env = environment("alice", network)
    assert names("alice", network)[0] == env["HF_NETWORK_GROUP_HOSTNAME"]
    assert names("alice", network)[2] == env["HF_NETWORK_GROUP_PREFIX"] + "b"
    assert environment("alice", {}) == {}


def test_the_hosts_file_of_a_group_grows(tmp_path: Path) -> None:
    hosts = Hosts(tmp_path / "hosts")
    assert hosts.mounts(task(tmp_path, {})) == ()
    (first,) = hosts.mounts(task(tmp_path, {"group": "g", "aliases": ["one"]}))
    (second,) = hosts.mounts(task(tmp_path, {"group": "g", "aliases": ["two"]}))
    assert (first.source, first.target, first.read_only) == (second.source, "/etc/hosts", True)
    rows = [row.split() for row in first.source.read_text().splitlines() if "group-" in row]
    assert [row[0] for row in rows] == ["127.0.0.1"] * 2
    assert [row[-1].rpartition("-")[2] for row in rows] == ["one", "two"]


def test_without_private_mounts_the_log_says_that_there_are_no_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, str] = {}

    def start(*words: Any, **_: object) -> _Process:
        seen.update(words[3])
        return _Process()

    monkeypatch.setattr("hf_train.local_hub.executors.process._start", start)
    monkeypatch.setattr("hf_train.local_hub.executors.process._supervise", lambda *_: Ended(exit_code=0))
    said: list[bytes] = []
    executor = ProcessExecutor(tmp_path / "cache", private=False)
    executor.run(task(tmp_path, {"group": "g", "aliases": ["one"]}), said.append, Stop())
    assert b"do not resolve" in said[0]
    assert (seen["HF_NETWORK_GROUP_HOSTNAME"], seen["HF_NETWORK_GROUP_PREFIX"]) == ("localhost", "")


class _Process:
    pid = 1
