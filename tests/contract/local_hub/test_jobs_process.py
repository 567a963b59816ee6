"""Executor `process`: what a Job finds, what it may do, and that nothing of it stays."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import HfApi, Volume

from hf_train.local_hub.pytest import LocalHubHandle
from support.hf_cli import eventually, processes

Run = Callable[..., dict[str, Any]]

DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        sys.argv[0] = "daemon"
        time.sleep(300)
    os._exit(0)
os.wait()
print("daemon started", flush=True)
time.sleep(300 if sys.argv[2] == "stay" else 0)
"""


def test_environment_of_a_job(local_hub: LocalHubHandle, run: Run) -> None:
    job = run("env; pwd; ls -A", env={"A": "b c"}, secrets={"S": "two\nlines"}, flavor="a10g-small")
    lines = local_hub.log(job["id"])
    env = dict(line.split("=", 1) for line in lines if "=" in line)
    assert (env["A"], env["S"], env["JOB_ID"]) == ("b c", "two", job["id"])
    assert (env["ACCELERATOR"], env["CPU_CORES"], env["MEMORY"]) == ("a10g-small", "4", "15Gi")
    assert env["HF_ENDPOINT"] == local_hub.endpoint
    assert "HF_TOKEN" not in env, "no token unless it is given as a secret"
    assert not {"HF_HOME", "GITHUB_TOKEN", "PYTHONPATH"} & env.keys()
    assert lines[-1] == env["PWD"], "the folder is fresh and empty"
    assert job["secrets"] == ["S"]
    assert len({env["HOME"], env["TMPDIR"], env["PWD"]}) == 3
    eventually(lambda: not Path(env["HOME"]).exists())  # and it is gone afterwards


def test_a_socket_fits_into_the_temporary_folder(local_hub: LocalHubHandle, api: HfApi) -> None:
    """Python's managers (multiprocess, and so `datasets` with `num_proc`) make theirs there: 108 bytes at most."""
    bind = "import socket, tempfile\nsocket.socket(socket.AF_UNIX).bind(tempfile.mkdtemp() + '/' + 'n' * 40)\n"
    ask = "import os, sys\nprint(os.path.realpath(os.environ['TMPDIR']).startswith(sys.argv[1]))"
    for code, said in ((bind, []), (ask, ["True"])):
        job = local_hub.wait(api.run_job(image="python:3.12", command=["python", "-c", code, str(local_hub.data)]).id)
        assert (job["status"]["stage"], local_hub.log(job["id"])) == ("COMPLETED", said)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["sh", "-c", "exit 3"], "Job failed with exit code: 3. Reason: Error"),
        (["sh", "-c", "exit 125"], "Job failed with exit code: 125. Reason: Error"),
        (["sh", "-c", "kill -9 $$"], "Job failed with exit code: 137. Reason: OOMKilled"),
        (["sh", "-c", "kill -TERM $$"], "Job failed with exit code: 143. Reason: Error"),
        (["no-such-program"], "Job failed with exit code: 127. Reason: Error"),
        (["/etc/passwd"], "Job failed with exit code: 126. Reason: Error"),
    ],
)
def test_words_of_a_failure(local_hub: LocalHubHandle, api: HfApi, command: list[str], message: str) -> None:
    job = local_hub.wait(api.run_job(image="python:3.12", command=command).id)
    assert (job["status"]["stage"], job["status"]["message"]) == ("ERROR", message)


def test_volumes_lie_at_their_mount_paths(local_hub: LocalHubHandle, api: HfApi, run: Run, tmp_path: Path) -> None:
    bucket = f"{local_hub.user}/work"
    api.create_bucket(bucket)
    api.batch_bucket_files(bucket, add=[(b"from the bucket", "in/a.txt")])
    name = f"hft-{secrets.token_hex(4)}"
    job = run(
        f"cat /{name}/code/a.txt; touch /{name}/code/new; echo out > /{name}/deep/er/out/b.txt"
        f"; rm /usr/lib/{name}/in/a.txt; grep -c {name} /proc/self/mounts; echo done",
        volumes=[
            Volume(type="bucket", source=bucket, path="in", mount_path=f"/{name}/code", read_only=True),
            Volume(type="bucket", source=bucket, path="made", mount_path=f"/{name}/deep/er/out"),
            Volume(type="bucket", source=bucket, path="", mount_path=f"/usr/lib/{name}"),
        ],
    )
    assert job["status"]["stage"] == "COMPLETED"
    lines = local_hub.log(job["id"])
    assert lines[0] == f"from the buckettouch: cannot touch '/{name}/code/new': Read-only file system"
    assert lines[-2:] == ["3", "done"]
    paths = {item.path for item in api.list_bucket_tree(bucket, recursive=True)}
    assert "made/b.txt" in paths, "what a Job writes is in the bucket"
    assert "in/a.txt" not in paths, "what a Job removes is not"
    assert not Path(f"/{name}").exists()
    assert not Path(f"/usr/lib/{name}").exists()
    mounts = Path("/proc/self/mounts").read_text()
    assert name not in mounts, "nothing is mounted on the host"
    assert str(local_hub.data) not in mounts


def test_repo_volume_is_read_only(local_hub: LocalHubHandle, api: HfApi, run: Run) -> None:
    repo = f"{local_hub.user}/data"
    api.create_repo(repo, repo_type="dataset")
    api.upload_file(repo_id=repo, repo_type="dataset", path_or_fileobj=b"1,2\n", path_in_repo="train/x.csv")
    volume = Volume(type="dataset", source=repo, mount_path="/hft-data", path="train", revision="main")
    job = run("cat /hft-data/x.csv; touch /hft-data/y || echo refused", volumes=[volume])
    lines = local_hub.log(job["id"])
    assert (lines[0], lines[-1]) == ("1,2", "refused")
    assert "Read-only file system" in lines[1]


def test_timeout_kills_everything(local_hub: LocalHubHandle, run: Run) -> None:
    mark = f"30{secrets.randbelow(10**6):06d}"
    job = run(f"trap 'echo asked' TERM; sleep {mark} & sleep {mark}; sleep {mark}", timeout=1)
    assert (job["status"]["stage"], job["status"]["message"]) == ("ERROR", "Job timeout")
    assert job["durations"]["runningSecs"] <= 4
    assert not processes(f"sleep {mark}")


@pytest.mark.parametrize("way", ["cancel", "end"])
def test_a_daemon_that_forked_twice_goes_too(local_hub: LocalHubHandle, api: HfApi, way: str) -> None:
    mark = secrets.token_hex(8)
    stay = "stay" if way == "cancel" else "go"
    job = api.run_job(image="python:3.12", command=["python", "-c", DAEMON, mark, stay])
    eventually(lambda: local_hub.log(job.id) == ["daemon started"])
    if way == "cancel":
        assert processes(mark)
        api.cancel_job(job_id=job.id)
        assert local_hub.job(job.id)["status"] == {"stage": "CANCELED", "message": None, "failureCount": 0}
    eventually(lambda: not processes(mark), 5)
    assert local_hub.wait(job.id)["status"]["stage"] == ("CANCELED" if way == "cancel" else "COMPLETED")


def test_memory_over_the_limit(local_hub: LocalHubHandle, api: HfApi) -> None:
    local_hub.fault("jobs memory-mb=100")
    hog = "import time; x = bytearray(300 << 20); print('got it', flush=True); time.sleep(60)"
    job = local_hub.wait(api.run_job(image="python:3.12", command=["python", "-c", hog]).id, 20)
    assert job["status"]["message"] == "Job failed with exit code: 137. Reason: OOMKilled"


def test_attempts(local_hub: LocalHubHandle, run: Run, api: HfApi) -> None:
    api.create_bucket(f"{local_hub.user}/state")
    volume = Volume(type="bucket", source=f"{local_hub.user}/state", mount_path="/hft-state")
    line = 'echo x >> /hft-state/tries; n=$(wc -l < /hft-state/tries); echo "try $n"; test "$n" = 3'
    job = run(line, volumes=[volume], attempts=5)
    assert job["status"] == {"stage": "COMPLETED", "message": None, "failureCount": 2}
    assert local_hub.log(job["id"]) == ["try 1", "try 2", "try 3"]
    assert (job["attempts"], job["retry"]) == (5, 4)


def test_output_comes_through_as_it_is(local_hub: LocalHubHandle, run: Run) -> None:
    job = run(r"printf 'a\r\033[31mb\033[0m\n\nU+2028:\342\200\250.\n\377\376bad\nlast without end'")
    assert local_hub.log(job["id"]) == [
        "a\r\x1b[31mb\x1b[0m",
        "",
        "U+2028:\u2028.",
        "\ufffd\ufffdbad",
        "last without end",
    ]


def test_the_way_back_to_the_hub(local_hub: LocalHubHandle, api: HfApi) -> None:
    script = (
        "import os; from huggingface_hub import HfApi; "
        "api = HfApi(); repo = api.create_repo(os.environ['REPO']).repo_id; "
        "api.upload_file(repo_id=repo, path_or_fileobj=b'weights', path_in_repo='model.safetensors')"
    )
    repo = f"{local_hub.user}/model"
    job = api.run_job(
        image="python:3.12", command=["python", "-c", script], env={"REPO": repo}, secrets={"HF_TOKEN": local_hub.token}
    )
    assert local_hub.wait(job.id)["status"]["stage"] == "COMPLETED", local_hub.log(job.id)
    assert "model.safetensors" in api.list_repo_files(repo)


def test_secrets_are_nowhere_on_disk_and_a_rerun_has_them(local_hub: LocalHubHandle, api: HfApi, run: Run) -> None:
    value = f"hf_local_{secrets.token_hex(16)}"
    job = run('echo "${#S}"', secrets={"S": value})
    again = local_hub.wait(api.rerun_job(job_id=job["id"]).id)
    assert local_hub.log(again["id"]) == [str(len(value))]
    assert again["initiator"] == {"type": "duplicated-job", "id": job["id"]}
    holders = [path for path in local_hub.data.rglob("*") if path.is_file() and value.encode() in path.read_bytes()]
    assert holders == []
    assert value not in str(local_hub.requests())


def test_a_network_group_has_its_names_on_loopback(local_hub: LocalHubHandle, api: HfApi, run: Run) -> None:
    late = 'for i in $(seq 100); do getent hosts "${HF_NETWORK_GROUP_PREFIX}late" && exit; sleep 0.1; done; exit 1'
    early = api.run_job(image="python:3.12", command=["sh", "-c", late], network_group="g", network_aliases=["early"])
    line = 'getent hosts "${HF_NETWORK_GROUP_PREFIX}early" "$HF_NETWORK_GROUP_HOSTNAME" && ! getent hosts early'
    eventually(lambda: local_hub.job(early.id)["status"]["stage"] == "RUNNING")
    job = run(line, network_group="g", network_aliases=["late"])
    assert job["status"]["stage"] == "COMPLETED", local_hub.log(job["id"])
    assert {row.split()[0] for row in local_hub.log(job["id"])} == {"127.0.0.1"}
    assert local_hub.wait(early.id)["status"]["stage"] == "COMPLETED", "who came first knows who came later"
    alone = run('env | grep HF_NETWORK || getent hosts "group-early"', network_group="other")
    assert any(row.startswith("HF_NETWORK_GROUP_HOSTNAME=group-") for row in local_hub.log(alone["id"]))


def test_no_network_group_no_names(local_hub: LocalHubHandle, run: Run) -> None:
    job = run("env | grep -c HF_NETWORK || true")
    assert local_hub.log(job["id"])[0] == "0"
