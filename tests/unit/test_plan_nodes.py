"""The plan of several nodes: a spec for each, one group, one key, the cost of all."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hf_train.codec import from_json, to_json
from hf_train.inputs import Layers, parse
from hf_train.local_hub.jobs.spec import checked
from hf_train.plan import Plan, make_plan
from hf_train.plan.spending import estimate
from hf_train.preflight import money_findings
from hf_train.report import Report, comment, summary
from hf_train.report.nodes import nodes_json
from hf_train.show import plan_json, rows
from hf_train.values import Network, Stage
from unit.makers import FACTS, FLAVORS, ON_GITHUB, STATE, plan, report

RUN = ("python", "-m", "torch.distributed.run", "train.py")


def _plan(**flags: str) -> Plan:
    return make_plan(parse(Layers(flags=flags)), ON_GITHUB, FACTS)


def test_each_node_has_its_spec() -> None:
    made = plan(command="python train.py", nodes="3")
    first, second, third = made.specs
    assert first is made.job
    assert first.command == second.command == third.command
    join = 'export PET_MASTER_ADDR="${HF_NETWORK_GROUP_PREFIX}node-0"; exec "$@"'
    assert first.command == ("sh", "-c", join, "hf-train", "sh", "/code/.hf-train/start.sh", *RUN)
    assert [spec.env["PET_NODE_RANK"] for spec in made.specs] == ["0", "1", "2"]
    assert {name: value for name, value in first.env.items() if name.startswith("PET_")} == {
        "PET_NNODES": "3",
        "PET_NODE_RANK": "0",
        "PET_NPROC_PER_NODE": "1",
        "PET_MASTER_PORT": "29500",
        "PET_RDZV_CONF": "timeout=1800",
    }
    assert [spec.network for spec in made.specs] == [
        Network(group="hft-nonce1", aliases=(f"node-{rank}",)) for rank in range(3)
    ]
    assert [spec.labels["hft-node"] for spec in made.specs] == ["0", "1", "2"]
    assert {spec.labels["hft-nonce"] for spec in made.specs} == {"nonce1"}
    assert {spec.labels["hft-key"] for spec in made.specs} == {made.key}


def test_the_group_is_a_name_that_the_hub_takes() -> None:
    for nonce in ("a" * 64, "A_B.c/" * 9, ""):
        made = plan(facts=replace(FACTS, nonce=nonce), nodes="16")
        for spec in made.specs:
            assert spec.network is not None
            network = {"group": spec.network.group, "aliases": list(spec.network.aliases)}
            checked({"command": ["true"], "dockerImage": "python:3.12", "network": network})


def test_one_node_is_as_ever() -> None:
    made = plan()
    assert (made.others, made.job.network, made.specs) == ((), None, (made.job,))
    assert plan(nodes="1") == made
    assert not any(name.startswith(("PET_", "hft-node")) for name in (*made.job.env, *made.job.labels))


def test_the_key_is_that_of_the_training_on_so_many_nodes() -> None:
    other = plan(facts=replace(FACTS, nonce="nonce2"), nodes="2")
    assert plan(nodes="2").key == other.key
    assert len({plan().key, plan(nodes="2").key, plan(nodes="3").key}) == 3


def test_a_process_for_each_gpu() -> None:
    made = plan(command="torchrun train.py", flavor="a10g-largex4", nodes="2")
    assert made.job.command[-2:] == ("torchrun", "train.py")
    assert made.job.env["PET_NPROC_PER_NODE"] == "4"


def test_a_script_with_a_header_keeps_its_packages() -> None:
    made = _plan(script="train.py", args="--lr 1", nodes="2")
    assert made.job.command[-10:] == ("uv", "run", "--with-requirements", "train.py", *RUN, "--lr", "1")


@pytest.mark.parametrize(("flavor", "start"), [("t4-small", RUN[:3]), ("a10g-largex4", ("torchrun",))])
def test_a_recipe_takes_torchrun(flavor: str, start: tuple[str, ...]) -> None:
    made = _plan(recipe="trl/sft", args="--dataset_name d", flavor=flavor, nodes="2")
    at = made.job.command.index(start[0])
    assert made.job.command[at : at + len(start)] == start
    assert made.recipe is not None
    gpus = 4 if flavor.endswith("x4") else 1
    assert dict(made.recipe.lines)["launcher"] == f"torchrun on 2 nodes, {gpus} process(es) on each"


def test_all_nodes_are_paid_for() -> None:
    one, three = plan(), plan(nodes="3")
    assert one.budget.worst_case_usd is not None
    assert three.budget.worst_case_usd == pytest.approx(3 * one.budget.worst_case_usd)
    ahead = plan(nodes="3", smoke="timeout: 5m").budget.ahead_usd
    assert ahead == pytest.approx(3 * (plan(smoke="timeout: 5m").budget.ahead_usd or 0))
    (found,) = money_findings(plan(nodes="3", max_cost="0.5"), FLAVORS)
    assert "3 nodes of t4-small for 2700 s" in found.what
    earlier = [replace(STATE, image="i", labels={"hft-node": str(rank)}, command=("c",)) for rank in range(3)]
    job = replace(three.job, image="i", command=("c",))
    told = estimate(job, FLAVORS[1], earlier, 3)
    assert told is not None
    assert told.runs == 1
    assert told.usd == pytest.approx(3 * 13 * 0.0067)


def test_the_lines_by_hand_are_one_for_each_the_first_node_last() -> None:
    lines = plan(nodes="2").equal_line.split("\n")
    assert len(lines) == 2
    for line, rank, detach in zip(lines, (1, 0), (True, False), strict=True):
        assert f"--network-group hft-nonce1 --network-alias node-{rank}" in line
        assert f"PET_NODE_RANK={rank}" in line
        assert ("--detach" in line) is detach


def test_the_plan_tells_of_them() -> None:
    made = plan(nodes="2")
    assert dict(rows(made))["nodes"] == "2, in the network group hft-nonce1"
    assert '"nodes": 2' in plan_json(made)
    assert "nodes" not in dict(rows(plan()))
    assert from_json(Plan, to_json(made)) == made


def _report() -> Report:
    first = replace(STATE, labels={"hft-node": "0"})
    second = replace(
        STATE, labels={"hft-node": "1"}, stage=Stage.ERROR, message="exit code: 3 | `x` @octo", running_s=30.0
    )
    waiting = replace(STATE, labels={"hft-node": "2"}, stage=Stage.CANCELED, running_s=None, started_at=None)
    return report(plan=plan(nodes="3"), nodes=(first, second, waiting))


def test_the_report_has_a_row_for_each() -> None:
    ended = _report()
    assert ended.cost_usd == pytest.approx((13 + 1) * 0.0067)
    text = summary(ended)
    assert "| 0 | [`666666666666666666666666`](https://huggingface.co/jobs/alice/666666666666666666666666) |" in text
    assert "ERROR: exit code: 3 \\| `x` @octo" in text
    assert "| 2 |" in comment(ended, "<!-- x -->")
    assert [one["stage"] for one in nodes_json(ended)] == ["COMPLETED", "ERROR", "CANCELED"]
    assert [one["cost-usd"] for one in nodes_json(ended)] == [pytest.approx(0.0871), 0.0067, 0.0]
    assert "| Node |" not in summary(report())
