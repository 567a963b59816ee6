"""Several nodes on the local Hub's processes: they find the first one by its name, and end together."""

from __future__ import annotations

import json
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from support.hf_cli import eventually
from support.local_hub_process import LIVE, Hub
from support.product import Product, clean_environ

# Node 0 listens where torchrun would, the others come by its name; the text has its variables, so it stays as it is.
MEET = """\
import os, socket, sys, time
rank, count = int(os.environ["PET_NODE_RANK"]), int(os.environ["PET_NNODES"])
address, port = os.environ["PET_MASTER_ADDR"], PORT
if rank == 0:
    server = socket.create_server(("", port))
    met = sorted(server.accept()[0].recv(9).decode() for _ in range(count - 1))
    print("met", *met, flush=True)
else:
    for _ in range(300):
        try:
            socket.create_connection((address, port)).sendall(str(rank).encode())
            break
        except OSError:
            time.sleep(0.1)
    else:
        sys.exit("nobody at " + address)
"""


def test_the_nodes_meet_and_are_reported_as_one(product: Product, account: Hub) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    code = MEET.replace("PORT", str(port))
    done = product.run("--nodes", "3", "--path", "none", "--", "python", "-c", code)
    assert (done.code, done.report["reason"]) == (0, "completed"), done.out
    assert "met 1 2" in done.out
    assert [row["stage"] for row in done.report["nodes"]] == ["COMPLETED"] * 3
    assert len(account.jobs()) == 3


@pytest.mark.parametrize("failing", ["0", "1"])
def test_a_node_that_fails_ends_the_others(failing: str, product: Product, account: Hub) -> None:
    line = f'echo "node $PET_NODE_RANK"; [ "$PET_NODE_RANK" = {failing} ] && exit 5; sleep 60'
    done = product.run("--nodes", "2", "--path", "none", "--", "sh", "-c", line)
    assert (done.code, done.report["headline"]) == (1, "Training failed with exit code 5"), done.out
    assert f"node {failing}" in done.out
    eventually(lambda: all(job["status"]["stage"] not in LIVE for job in account.jobs()))
    stages = {row["node"]: row["stage"] for row in done.report["nodes"]}
    assert stages == {int(failing): "ERROR", 1 - int(failing): "CANCELED"}


def test_a_refusal_of_one_leaves_none(product: Product, account: Hub) -> None:
    account.fault("POST /api/jobs/* status=402 nth=2")
    line = 'echo "$PET_NODE_RANK"; sleep 60'
    done = product.run("--nodes", "2", "--path", "none", "--", "sh", "-c", line)
    assert done.code == 3, done.out
    assert "those before it were cancelled" in done.out
    assert [job["status"]["stage"] for job in account.jobs()] == ["CANCELED"]


def test_the_cleanup_ends_all_and_so_does_a_cancel_of_one(product: Product, account: Hub, tmp_path: Path) -> None:
    line = 'echo "$PET_NODE_RANK"; sleep 60'
    for way in ("cleanup", "cancel"):
        words = ("--mode", "detach", "--reuse", "never", "--nodes", "3", "--path", "none", "--", "sh", "-c", line)
        assert product.run(*words).code == 0
        live = [job for job in account.jobs() if job["status"]["stage"] in LIVE]
        assert len(live) == 3
        if way == "cancel":
            assert product.call("cancel", live[1]["id"]).code == 0
        else:
            state = {"endpoint": account.url, "namespace": account.user, "job-id": "", "nodes": "3"}
            path = tmp_path / "state.json"
            path.write_text(json.dumps({**state, "nonce": live[0]["labels"]["hft-nonce"]}))
            assert product.call("cancel", "--state-file", str(path)).code == 0
            assert not path.exists()
        assert not [job for job in account.jobs() if job["status"]["stage"] in LIVE]


def test_the_lines_by_hand_submit_the_same_specs(product: Product, account: Hub) -> None:
    words = ("--nodes", "2", "--path", "none", "--mode", "detach", "--reuse", "never", "--", "python", "-m", "this")
    assert product.run(*words).code == 0
    lines = json.loads(product.call("plan", "--format", "json", *words).out)["hf-jobs-run"].split("\n")
    hf = str(Path(sys.executable).with_name("hf"))
    for one in lines:
        environ = clean_environ(account.environ)
        subprocess.run([hf, *shlex.split(one)[1:]], env=environ, capture_output=True, timeout=60, check=False)
    ours, theirs = account.jobs()[2:], account.jobs()[:2]
    for mine, hand in zip(ours, theirs, strict=True):
        assert mine["command"] == hand["command"]
        assert mine["environment"] == hand["environment"]
        assert mine["network"]["aliases"] == hand["network"]["aliases"]


@pytest.mark.parametrize(("line", "code"), [("true", 0), ('test "$PET_NODE_RANK" = 0', 1)])
def test_a_detached_group_is_collected_as_one(line: str, code: int, product: Product, account: Hub) -> None:
    text = f'echo "$PET_NODE_RANK"; {line}'
    words = ("--mode", "detach", "--nodes", "2", "--path", "none", "--", "sh", "-c", text)
    started = product.run(*words)
    assert started.code == 0, started.out
    eventually(lambda: all(job["status"]["stage"] not in LIVE for job in account.jobs()))
    further = next(job["id"] for job in account.jobs() if job["labels"]["hft-node"] == "1")
    assert "it is node 1 of several" in product.call("collect", further).out
    done = product.call("collect", started.report["job-id"])
    assert done.code == code, done.out
    assert "its report is finished" in done.out
