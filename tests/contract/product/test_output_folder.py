"""The output folder on the local Hub: real Jobs that leave things there, and what a report, a re-run and a push see."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from huggingface_hub import HfApi

from hf_train.errors import RefusedByHub
from hf_train.hub.reports import BucketReports
from support.hf_cli import eventually
from support.local_hub_process import LIVE, Hub
from support.product import Product

RECORD = '/output/.hf-train/"$JOB_ID"'
SHELL = f"""
mkdir -p {RECORD}/results
echo '{{"eval_loss": 0.4012345678901234}}' > {RECORD}/results/all_results.json
"""


def folder_of(product: Product, *words: str) -> str:
    """Folder of the training in the bucket, by the plan."""
    planned = product.call("plan", "--format", "json", "--output", "bucket", *words)
    folder: str = json.loads(planned.out)["output"]["folder"]
    return folder


def names(account: Hub, folder: str) -> set[str]:
    """Files in it, by their path in it."""
    items = account.api.list_bucket_tree(f"{account.user}/jobs-artifacts", folder, recursive=True)
    return {item.path.removeprefix(f"{folder}/") for item in items if item.type == "file"}


@pytest.mark.case(62, 122)
def test_a_timeout_loses_nothing_and_the_next_run_goes_on(product: Product, account: Hub) -> None:
    """Own code: it looks at HF_TRAIN_CHECKPOINT and writes to HF_TRAIN_OUTPUT_DIR."""
    shell = f"""
        if [ -n "$HF_TRAIN_CHECKPOINT" ]; then echo "goes on from $HF_TRAIN_CHECKPOINT"; exit 0; fi
        {SHELL}
        mkdir -p "$HF_TRAIN_OUTPUT_DIR"/run/checkpoint-7
        echo '{{"global_step": 7}}' > "$HF_TRAIN_OUTPUT_DIR"/run/checkpoint-7/trainer_state.json
        sleep 60
    """
    words = ("--timeout", "4s", "--", "sh", "-c", shell)
    done = product.run("--output", "bucket", *words)
    assert done.code == 5, done.out
    assert done.report["metrics"] == {"eval_loss": 0.4012345678901234}
    assert done.report["sources"] == {"eval_loss": "all_results.json (output)"}
    folder = folder_of(product, *words)
    assert done.report["output"] == f"hf://buckets/{account.user}/jobs-artifacts/{folder}"
    assert done.report["checkpoint-step"] == 7
    assert {"run/checkpoint-7/trainer_state.json", ".hf-train/about.json"} <= names(account, folder)

    again = product.run("--output", "bucket", *words)
    assert again.code == 0, again.out
    assert "goes on from /output/run/checkpoint-7" in again.job_lines
    assert again.report["metrics"] == {}, "what the first Job left is not this one's"
    assert again.report["output"] == done.report["output"]


@pytest.mark.case(122)
def test_a_command_with_the_option_gets_it_with_the_newest_checkpoint(product: Product) -> None:
    shell = """
        echo "args: $*"; [ $# -gt 0 ] && exit 0
        for n in 5 30 200; do mkdir -p /output/checkpoint-$n; done
        for n in 5 30; do echo "{\\"global_step\\": $n}" > /output/checkpoint-$n/trainer_state.json; done
        exit 3
    """
    words = (
        "--output",
        "bucket",
        "--env",
        "HF_TRAIN_RESUME_FLAG=--resume_from_checkpoint",
        "--",
        "sh",
        "-c",
        shell,
        "x",
    )
    assert product.run(*words).code == 1
    done = product.run(*words)
    assert done.code == 0, done.out
    assert "args: --resume_from_checkpoint /output/checkpoint-30" in done.job_lines, "200 is not whole"
    assert done.report["resumed-from-step"] == 30
    assert "resumed from step 30" in (done.folder / "comment.md").read_text(encoding="utf-8")
    anew = product.run(*words, env={"HF_TRAIN_REUSE": "never"})
    assert anew.report["resumed-from-step"] is None, "a training that is done begins anew"


@pytest.mark.case(122)
def test_the_hubs_own_second_attempt_goes_on(product: Product, account: Hub) -> None:
    shell = """
        [ $# -gt 0 ] && exit 0
        mkdir -p /output/checkpoint-5; echo "{\\"global_step\\": 5}" > /output/checkpoint-5/trainer_state.json
        exit 3
    """
    flag = ("--env", "HF_TRAIN_RESUME_FLAG=--resume_from_checkpoint")
    done = product.run("--output", "bucket", "--attempts", "2", *flag, "--", "sh", "-c", shell, "x")
    assert done.code == 0, done.out
    assert done.report["resumed-from-step"] == 5
    assert len(account.jobs()) == 1


@pytest.mark.case(26)
def test_a_hostile_job_cannot_do_more_than_lie(product: Product, account: Hub) -> None:
    shell = f"""
        mkdir -p {RECORD}/results; cd {RECORD}
        printf 'cos\\nsystem\\n(S"touch /tmp/owned"\\ntR.' > results/model.pkl
        head -c 3000000 /dev/zero > results/all_results.json
        printf '[%.0s' $(seq 20000) > results/eval_results.json
        ln -s /etc/passwd results/train_results.json
        mkfifo results/metrics.json
        for n in $(seq 300); do : > results/$n.json; done
        echo '{{"log_history": [{{"step": 1, "loss": 0.5}}], "global_step": 1}}' > results/trainer_state.json
    """
    done = product.run("--output", "bucket", "--metrics-file", "metrics.json", "--", "sh", "-c", shell)
    assert done.code == 0, done.out
    assert done.report["metrics"] == {"loss": 0.5}, done.report["problems"]
    assert "root:" not in done.out + json.dumps(done.report)
    assert "output: eval_results.json: nested too deeply" in done.report["problems"]


def test_the_folder_is_published_without_records_and_checkpoints(product: Product, account: Hub) -> None:
    shell = """
        mkdir -p /output/model/checkpoint-5
        echo w > /output/model/model.safetensors
        echo o > /output/model/checkpoint-5/optimizer.pt
    """
    repo, pushed = f"{account.user}/from-output", set[str]()
    for place, where in (("/output/model", ""), ("/output", "model/")):
        asked = ("--output", "bucket", "--publish", place, "--model-repo", repo, "--reuse", "never")
        done = product.run(*asked, "--", "sh", "-c", f"{shell} : {place}")
        assert done.code == 0, done.out
        pushed = set(account.api.list_repo_files(repo))
        assert f"{where}model.safetensors" in pushed
        assert not any(".hf-train" in name or "optimizer" in name for name in pushed)


@pytest.fixture
def reports(account: Hub) -> BucketReports:
    """The adapter, and a bucket with small files and large ones."""
    bucket = f"{account.user}/files"
    account.api.create_bucket(bucket, private=True)
    account.api.batch_bucket_files(bucket, add=[(b"small", "a/x"), (b"l" * 5000, "a/y"), (b"", "a/z"), (b"no", "b/x")])
    return BucketReports(account.api)


def test_only_what_is_named_and_small_is_read(account: Hub, reports: BucketReports) -> None:
    bucket, asked = f"{account.user}/files", ["a/x", "a/y", "a/z", "a/none"]
    assert reports.contents(bucket, asked, 1000) == {"a/x": b"small", "a/z": b""}
    assert reports.contents(bucket, ["a"], 1000) == {}
    with pytest.raises(RefusedByHub, match="404"):
        reports.contents(f"{account.user}/none", ["x"], 1000)


def test_a_bucket_that_may_not_be_read(account: Hub, reports: BucketReports) -> None:
    foreign = BucketReports(HfApi(endpoint=account.url, token="hf_local_unknown"))
    with pytest.raises(RefusedByHub):
        foreign.contents(f"{account.user}/files", ["a/x"], 1000)


def test_a_detached_jobs_output_is_read_by_whoever_collects_it(product: Product, account: Hub, tmp_path: Path) -> None:
    done = product.run("--output", "bucket", "--mode", "detach", "--", "sh", "-c", SHELL)
    assert done.code == 0, done.out
    eventually(lambda: all(job["status"]["stage"] not in LIVE for job in account.jobs()))
    collected = product.call("collect", "--report-dir", str(tmp_path / "late"), done.report["job-id"])
    assert collected.code == 0, collected.out
    report = json.loads((tmp_path / "late" / done.report["job-id"] / "report.json").read_text(encoding="utf-8"))
    assert report["metrics"] == {"eval_loss": 0.4012345678901234}
    assert report["output"] == done.report["output"] != ""
