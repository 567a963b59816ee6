"""Two nodes of a real torchrun (gloo) as two Jobs of one network group, in containers with a network of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from hf_train.local_hub.pytest import LocalHubHandle, running
from support.docker_engine import Engine
from support.hf_cli import eventually
from support.product import Product, make_repo

pytestmark = [pytest.mark.docker, pytest.mark.training]
TRAIN = """\
import os, sys, time
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(rank)  # other data and other weights on each: only what is exchanged can agree
model = DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data, target = torch.randn(64, 4), torch.randn(64, 1)
for step in range(1, 6):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(data), target)
    loss.backward()
    optimizer.step()
    mean = loss.detach().clone()
    dist.all_reduce(mean)
    print({"loss": round(mean.item() / world, 6), "epoch": float(step)}, flush=True)
    while "--stay" in sys.argv:
        time.sleep(0.2)
weights = sum(parameter.sum().item() for parameter in model.parameters())
print(f"rank {rank} of {world} on node {os.environ['PET_NODE_RANK']}: weights {weights:.6f}", flush=True)
dist.destroy_process_group()
"""


@pytest.fixture
def product(engine: Engine, torch_image: str, tmp_path: Path) -> Iterator[tuple[Product, LocalHubHandle, Engine]]:
    """A user's repository, and a Hub that runs Jobs in containers."""
    repo = make_repo(tmp_path / "repo", {"train.py": TRAIN})
    with running(tmp_path / "hub", "--executor", "docker") as hub:
        environ = {"HF_ENDPOINT": hub.endpoint, "HF_TOKEN": hub.token}
        environ["HF_TRAIN_IMAGE"] = torch_image
        made = Product(cwd=repo, environ=environ, scratch=tmp_path)
        yield made, hub, engine
        made.end_all()


OPTIONS = ("--nodes", "2", "--timeout", "5m", "--env", "OMP_NUM_THREADS=1", "--", "python3", "train.py")


def _networks(engine: Engine, hub: LocalHubHandle) -> str:
    return engine.run("network", "ls", "-q", "--filter", f"label=hf-train.local-hub={hub.data.resolve()}").stdout


def test_two_nodes_train_one_model(product: tuple[Product, LocalHubHandle, Engine]) -> None:
    here, hub, engine = product
    done = here.start(*OPTIONS).done(240)
    assert (done.code, done.report.get("reason")) == (0, "completed"), done.out
    rows = done.report["nodes"]
    assert [(row["node"], row["stage"]) for row in rows] == [(0, "COMPLETED"), (1, "COMPLETED")]
    logs = [hub.log(row["job-id"]) for row in rows]
    losses = [[line for line in log if line.startswith("{'loss'")] for log in logs]
    assert len(losses[0]) == 5
    assert losses[0] == losses[1], "the loss of both ranks agrees"
    ends = [next(line for line in log if line.startswith("rank ")) for log in logs]
    assert [end.partition(":")[0] for end in ends] == ["rank 0 of 2 on node 0", "rank 1 of 2 on node 1"]
    assert len({re.sub(r".*weights", "", end) for end in ends}) == 1
    assert done.report["job-id"] == rows[0]["job-id"]
    assert done.report["metrics"]["loss"] == pytest.approx(float(losses[0][-1].split()[1].rstrip(",")))
    eventually(lambda: _networks(engine, hub) == "")


@pytest.mark.parametrize("node", [0, 1])
def test_a_killed_node_fails_the_run_and_ends_the_other(
    node: int, product: tuple[Product, LocalHubHandle, Engine]
) -> None:
    here, hub, engine = product
    live = here.start(*OPTIONS, "--stay")
    live.wait_for("'epoch': 1.0", 120)
    jobs = {job["labels"]["hft-node"]: job for job in hub.jobs()}
    container = engine.run("ps", "-q", "--filter", f"label=hf-train.job={jobs[str(node)]['id']}").stdout.strip()
    engine.run("kill", "--signal", "KILL", container)
    done = live.done(90)
    assert done.code == 1, done.out
    stages = {row["node"]: row["stage"] for row in done.report["nodes"]}
    assert stages[node] == "ERROR"
    eventually(lambda: all(job["status"]["stage"] in {"ERROR", "CANCELED"} for job in hub.jobs()))
    mine = f"label=hf-train.local-hub={hub.data.resolve()}"
    eventually(lambda: engine.run("ps", "-q", "--filter", mine).stdout == "")
    eventually(lambda: _networks(engine, hub) == "")
