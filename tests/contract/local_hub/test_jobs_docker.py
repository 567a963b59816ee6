"""Executor `docker`: the named image in a real engine."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import HfApi, JobInfo, Volume

from hf_train.local_hub.pytest import LocalHubHandle, running
from support.docker_engine import Engine
from support.hf_cli import Cli, eventually

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def hub(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalHubHandle]:
    """A Hub with the executor `docker`."""
    with running(tmp_path_factory.mktemp("docker-hub"), "--executor", "docker") as handle:
        yield handle


@pytest.fixture
def api(hub: LocalHubHandle) -> Iterator[HfApi]:
    yield HfApi(endpoint=hub.endpoint, token=hub.token)
    hub.clear_faults()
    hub.cancel_jobs()


Run = Callable[..., dict[str, Any]]


@pytest.fixture
def run(hub: LocalHubHandle, api: HfApi, base_image: str) -> Run:
    def run_to_end(line: str, **options: Any) -> dict[str, Any]:
        job = api.run_job(image=options.pop("image", base_image), command=["sh", "-c", line], **options)
        return hub.wait(job.id)

    return run_to_end


def containers(engine: Engine, hub: LocalHubHandle) -> list[str]:
    label = f"label=hf-train.local-hub={hub.data.resolve()}"
    return engine.run("ps", "-aq", "--filter", label).stdout.split()


def test_a_job_in_its_image(hub: LocalHubHandle, run: Run, engine: Engine, base_image: str) -> None:
    job = run("cat /etc/os-release; echo err >&2; cat /proc/1/cmdline; echo; env", env={"A": "b c"}, secrets={"S": "s"})
    lines = hub.log(job["id"])
    assert job["status"]["stage"] == "COMPLETED"
    assert "VERSION_CODENAME=bookworm" in lines
    assert "err" in lines
    assert any("docker-init" in line for line in lines), "a small init"
    assert {f"JOB_ID={job['id']}", "A=b c", "S=s", "MEMORY=16Gi", f"HF_ENDPOINT={hub.endpoint}"} <= set(lines)
    assert containers(engine, hub) == [], "the container is removed"


def test_the_entrypoint_of_the_image_is_not_used(
    hub: LocalHubHandle, run: Run, engine: Engine, base_image: str
) -> None:
    tag = f"hf-train-test/entry:{secrets.token_hex(4)}"
    name = f"hft-{secrets.token_hex(4)}"
    engine.run("create", "--name", name, base_image, "true")
    try:
        engine.run("commit", "--change", 'ENTRYPOINT ["echo", "eaten"]', "--change", "WORKDIR /srv", name, tag)
        assert hub.log(run("pwd", image=tag)["id"]) == ["/srv"]
    finally:
        engine.run("rm", name)
        engine.run("rmi", tag)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("exit 3", "Job failed with exit code: 3. Reason: Error"),
        ("kill -TERM $$", "Job failed with exit code: 143. Reason: Error"),
    ],
)
def test_words_of_a_failure(run: Run, line: str, message: str) -> None:
    assert run(line)["status"]["message"] == message


def test_a_command_that_is_not_there(hub: LocalHubHandle, api: HfApi, base_image: str) -> None:
    job = hub.wait(api.run_job(image=base_image, command=["no-such-program"]).id)
    assert job["status"]["message"] == "Job failed with exit code: 127. Reason: Error"
    assert "no-such-program" in hub.log(job["id"])[-1]


def test_an_image_that_is_not_there(hub: LocalHubHandle, api: HfApi) -> None:
    job = hub.wait(api.run_job(image="127.0.0.1:9/no/such:image", command=["true"]).id, 40)
    assert job["status"]["stage"] == "ERROR"
    assert job["status"]["message"].startswith("Failed to pull image 127.0.0.1:9/no/such:image: ")


def test_volumes(hub: LocalHubHandle, api: HfApi, run: Run) -> None:
    bucket = f"{hub.user}/docker"
    api.create_bucket(bucket, exist_ok=True)
    api.batch_bucket_files(bucket, add=[(b"code\n", "code/a.txt")])
    job = run(
        "cat /code/a.txt; touch /code/b 2>&1 || echo refused; echo out > /out/b.txt; id -u",
        volumes=[
            Volume(type="bucket", source=bucket, path="code", mount_path="/code", read_only=True),
            Volume(type="bucket", source=bucket, path="out", mount_path="/out"),
        ],
    )
    lines = hub.log(job["id"])
    assert (lines[0], lines[-2]) == ("code", "refused")
    assert "Read-only file system" in lines[1]
    paths = {item.path for item in api.list_bucket_tree(bucket, recursive=True)}
    assert {"out/b.txt", "code/a.txt"} <= paths
    assert "code/b" not in paths


def test_out_of_memory(hub: LocalHubHandle, api: HfApi, base_image: str) -> None:
    hub.fault("jobs memory-mb=64")
    hog = "x = bytearray(500 << 20); print(len(x))"
    job = hub.wait(api.run_job(image=base_image, command=["python3", "-c", hog]).id)
    assert job["status"]["message"] == "Job failed with exit code: 137. Reason: OOMKilled"


def sleeper(hub: LocalHubHandle, api: HfApi, image: str, **options: Any) -> JobInfo:
    job = api.run_job(
        image=image, command=["sh", "-c", "trap '' TERM; (setsid sleep 300 &); echo up; sleep 300"], **options
    )
    eventually(lambda: hub.log(job.id) == ["up"])
    return job


def test_cancel_and_timeout(hub: LocalHubHandle, api: HfApi, engine: Engine, base_image: str) -> None:
    job = sleeper(hub, api, base_image)
    api.cancel_job(job_id=job.id)
    assert hub.job(job.id)["status"]["stage"] == "CANCELED"
    eventually(lambda: containers(engine, hub) == [])
    late = hub.wait(sleeper(hub, api, base_image, timeout=2).id)
    assert late["status"]["message"] == "Job timeout"
    eventually(lambda: containers(engine, hub) == [])


def test_stats_of_a_running_job(hub: LocalHubHandle, api: HfApi, base_image: str) -> None:
    job = sleeper(hub, api, base_image)
    sample = next(iter(api.fetch_job_metrics(job_id=job.id)))
    assert sample["memory_used_bytes"] > 0
    assert sample["memory_total_bytes"] == 16 << 30


def test_network_group(hub: LocalHubHandle, api: HfApi, run: Run, engine: Engine, base_image: str) -> None:
    serve = "python3 -m http.server 8000 & echo up; wait"
    server = api.run_job(
        image=base_image, command=["sh", "-c", serve], network_group="pair", network_aliases=["server"]
    )
    eventually(lambda: "up" in hub.log(server.id), 20)
    line = (
        'python3 -c "import os, urllib.request as u; e = os.environ; '
        "print(*(u.urlopen('http://' + h + ':8000').status for h in (e['HF_NETWORK_GROUP_PREFIX'] + 'server', "
        "e['HF_NETWORK_GROUP_HOSTNAME']) if h))\""
    )
    # Until both are members, the name of all may lead to the one that asks, which serves nothing.
    job = run(f"for i in 1 2 3 4 5 6 7 8; do {line} && exit 0; sleep 0.5; done; exit 1", network_group="pair")
    assert hub.log(job["id"])[-1] == "200 200"
    label = f"label=hf-train.local-hub={hub.data.resolve()}"
    assert len(engine.run("network", "ls", "-q", "--filter", label).stdout.split()) == 1, "one of it still runs"
    api.cancel_job(job_id=server.id)
    eventually(lambda: engine.run("network", "ls", "-q", "--filter", label).stdout == "")


def test_a_group_that_starts_and_ends_at_once(hub: LocalHubHandle, api: HfApi, engine: Engine, base_image: str) -> None:
    jobs = [api.run_job(image=base_image, command=["true"], network_group="crowd") for _ in range(4)]
    assert [hub.wait(job.id)["status"]["stage"] for job in jobs] == ["COMPLETED"] * 4
    label = f"label=hf-train.local-hub={hub.data.resolve()}"
    eventually(lambda: engine.run("network", "ls", "-q", "--filter", label).stdout == "")


def test_leftovers_of_a_killed_hub_are_removed(engine: Engine, base_image: str, tmp_path: Path) -> None:
    with running(tmp_path / "hub", "--executor", "docker") as first:
        job = sleeper(first, HfApi(endpoint=first.endpoint, token=first.token), base_image)
        first.process.kill()
        first.process.wait()
        assert len(containers(engine, first)) == 1
    with running(tmp_path / "hub", "--executor", "docker") as second:
        assert containers(engine, second) == []
        assert second.job(job.id)["status"]["stage"] == "ERROR"
        sleeper(second, HfApi(endpoint=second.endpoint, token=second.token), base_image)
        began = time.monotonic()
        second.process.terminate()
        assert second.process.wait(10) == 0
        assert time.monotonic() - began < 3
        assert containers(engine, second) == []


def test_the_real_cli(hub: LocalHubHandle, api: HfApi, base_image: str, tmp_path: Path) -> None:
    code = tmp_path / "code"
    code.mkdir()
    (code / "train.py").write_text("import os; print('trained', os.listdir('/code'))")
    hf = Cli(hub=hub, home=tmp_path)
    out = hf("jobs", "run", "-v", f"{code}:/code", base_image, "--", "python3", "/code/train.py")
    assert "trained ['train.py']" in out
    assert [path.name for path in code.iterdir()] == ["train.py"]
