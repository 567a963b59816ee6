"""The server: starts, stops, restarts, stands beside others, and runs Jobs without being root or without mounts."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest
from huggingface_hub import HfApi, JobInfo, Volume

import hf_train
from hf_train.local_hub.pytest import LocalHubHandle
from support.hf_cli import eventually, processes

Start = Callable[..., LocalHubHandle]


def api_of(hub: LocalHubHandle) -> HfApi:
    return HfApi(endpoint=hub.endpoint, token=hub.token)


def sleeper(hub: LocalHubHandle, mark: str) -> JobInfo:
    """A Job that runs, and ignores SIGTERM."""
    job = api_of(hub).run_job(
        image="python:3.12",
        command=["sh", "-c", f"trap '' TERM; echo up; sleep {mark}; sleep {mark}"],
        secrets={"S": "x"},
    )
    eventually(lambda: hub.log(job.id) == ["up"])
    return job


def mark() -> str:
    return f"300{secrets.randbelow(10**7):07d}"


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_within_two_seconds(own_hub: Start, signum: signal.Signals) -> None:
    hub, name = own_hub(), mark()
    job = sleeper(hub, name)
    logs = httpx2.stream(
        "GET",
        f"{hub.endpoint}/api/jobs/{hub.user}/{job.id}/logs",
        headers={"Authorization": f"Bearer {hub.token}"},
        timeout=10,
    )
    with logs as stream:
        lines = stream.iter_lines()
        assert "Job started" in next(lines)
        began = time.monotonic()
        hub.process.send_signal(signum)
        list(lines)
    assert hub.process.wait(10) == 0
    assert time.monotonic() - began < 2.5
    assert not processes(f"sleep {name}")
    assert (hub.data / "server.err").read_text() == ""


def test_sigkill_leaves_no_process(own_hub: Start) -> None:
    hub, name = own_hub(), mark()
    sleeper(hub, name)
    hub.process.kill()
    hub.process.wait()
    eventually(lambda: not processes(f"sleep {name}"), 5)
    assert str(hub.data) not in Path("/proc/self/mounts").read_text()


def test_a_restart_keeps_what_ended_and_fails_what_ran(own_hub: Start, tmp_path: Path) -> None:
    hub = own_hub(data=tmp_path / "kept")
    done = hub.wait(api_of(hub).run_job(image="i", command=["echo", "hello"], labels={"a": "b"}).id)
    ran = sleeper(hub, mark())
    hub.process.kill()
    hub.process.wait()
    log = hub.data / "jobs" / ran.id / "log.sse"
    log.write_bytes(log.read_bytes() + b'data: {"data":"half an ev')
    again = own_hub(data=tmp_path / "kept")
    assert again.job(done["id"]) == done
    assert list(api_of(again).fetch_job_logs(job_id=done["id"])) == ["hello"]
    assert again.job(ran.id)["status"]["stage"] == "ERROR"
    assert again.job(ran.id)["status"]["message"] == "The local Hub was stopped while the Job ran"
    assert list(api_of(again).fetch_job_logs(job_id=ran.id)) == ["up"], "a half written event is cut off"
    with pytest.raises(Exception, match="409"):
        api_of(again).rerun_job(job_id=ran.id)
    rerun = api_of(again).rerun_job(job_id=done["id"])
    assert again.wait(rerun.id)["status"]["stage"] == "COMPLETED"


def test_two_hubs_at_once(own_hub: Start, tmp_path: Path) -> None:
    one, two = own_hub(data=tmp_path / "one"), own_hub(data=tmp_path / "two")
    job = api_of(one).run_job(image="i", command=["true"])
    assert one.wait(job.id)["status"]["stage"] == "COMPLETED"
    assert two.jobs() == []


def command(*options: str) -> list[str]:
    return [sys.executable, "-m", "hf_train.local_hub", *options]


def test_one_data_folder_is_for_one_hub(own_hub: Start) -> None:
    hub = own_hub()
    second = subprocess.run(
        command("--data", str(hub.data)), env=environ(), capture_output=True, text=True, timeout=20, check=False
    )
    assert second.returncode == 2
    assert second.stderr == f"hf-train local-hub: another local Hub works on {hub.data}\n"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--port", "70000"], "not a port"),
        (["--executor", "podman"], "invalid choice"),
        (["--fault", "POST /api/jobs/*"], "says what goes wrong"),
        (["--fault", "logs cut-after=x"], "cut-after is a whole number"),
        (["--schedule-seconds", "soon"], "not a number of seconds"),
    ],
)
def test_bad_options(options: list[str], words: str) -> None:
    done = subprocess.run(command(*options), env=environ(), capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 2
    assert words in done.stderr


def environ() -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(hf_train.__file__).parents[1])}


def test_a_taken_port(own_hub: Start, tmp_path: Path) -> None:
    port = own_hub().endpoint.rpartition(":")[2]
    done = subprocess.run(
        command("--port", port, "--data", str(tmp_path / "other")),
        env=environ(),
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert (done.returncode, "Address already in use" in done.stderr) == (2, True)


def test_the_admin_route_is_for_loopback_only(own_hub: Start) -> None:
    hub = own_hub("--host", "0.0.0.0")
    address = hub.endpoint.replace("0.0.0.0", "127.0.0.1")
    assert httpx2.get(f"{address}/api/jobs/hardware").status_code == 200
    assert httpx2.get(f"{address}/__admin/requests").status_code == 404
    assert httpx2.post(f"{address}/__admin/faults", json={"fault": "jobs final=ERROR"}).status_code == 404


def test_orgs_and_accounts(own_hub: Start) -> None:
    hub = own_hub("--user", "ann", "--org", "lab")
    api = api_of(hub)
    job = api.run_job(image="i", command=["true"], namespace="lab")
    assert (job.owner.name, job.owner.type) == ("lab", "org")
    with pytest.raises(Exception, match=r"missing permissions: job\.write"):
        api.run_job(image="i", command=["true"], namespace="else")
    reader = HfApi(endpoint=hub.endpoint, token="hf_local_read_only")
    with pytest.raises(Exception, match=r"missing permissions: job\.write"):
        reader.cancel_job(job_id=job.id, namespace="lab")
    with pytest.raises(Exception, match="401"):
        HfApi(endpoint=hub.endpoint, token="hf_local_invalid").inspect_job(job_id=job.id, namespace="lab")
    other = HfApi(endpoint=hub.endpoint, token="hf_local_as_bob")
    with pytest.raises(Exception, match="404"):
        other.inspect_job(job_id=job.id, namespace="lab")


PROGRAM = """
import sys
sys.path.insert(0, sys.argv.pop(1))
from hf_train.local_hub import server
from hf_train.local_hub.executors import process
make = lambda settings: process.ProcessExecutor(cache=settings.data / "cache", private=PRIVATE)
server.make_executor = make
from hf_train.local_hub.__main__ import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("capabilities", ["none", "all"])
@pytest.mark.parametrize("private", [None, False])
def test_without_capabilities_and_without_mounts(tmp_path: Path, capabilities: str, private: bool | None) -> None:
    """Private is None: it finds what the system allows. False: the stated fallback, forced.

    A root without capabilities may not mount either, and the interpreter need not be readable by everybody. It keeps
    CAP_SETFCAP, without which the kernel maps no root into a user namespace (user_namespaces(7)); others need none.
    """
    data = tmp_path / "data"
    data.mkdir()
    root = os.geteuid() == 0
    drop = (
        ["setpriv", "--bounding-set=-all,+setfcap", "--inh-caps=-all", "--"] if root and capabilities == "none" else []
    )
    # In a chroot nobody makes user namespaces (user_namespaces(7)); the fallback is then what is right.
    probe = [*drop, "unshare", "--user", "--map-root-user", "--mount", "true"]
    allowed = not drop or subprocess.run(probe, capture_output=True, check=False).returncode == 0
    program = PROGRAM.replace("PRIVATE", str(private))
    words = [sys.executable, "-I", "-c", program, str(Path(hf_train.__file__).parents[1]), "--data", str(data)]
    process = subprocess.Popen([*drop, *words], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout:
        try:
            endpoint = process.stdout.readline().strip().removeprefix("HF_ENDPOINT=")
            hub = LocalHubHandle(endpoint=endpoint, token="hf_local_x", user="local-user", data=data, process=process)
            check_volumes_and_kill(
                hub, fallback=private is False or not allowed, writes_all=root and capabilities == "all"
            )
        finally:
            process.terminate()
            process.wait(10)


def check_volumes_and_kill(hub: LocalHubHandle, *, fallback: bool, writes_all: bool) -> None:
    api = api_of(hub)
    api.create_bucket("local-user/b")
    api.batch_bucket_files("local-user/b", add=[(b"code\n", "code/t.txt")])
    volumes = [
        Volume(type="bucket", source="local-user/b", path="code", mount_path="/hft-code", read_only=True),
        Volume(type="bucket", source="local-user/b", path="out", mount_path="/hft-out"),
    ]
    line = 'cat /hft-code/t.txt; echo result > "$OUT/r.txt"; touch /hft-code/new || echo refused; ls /hft-code'
    job = hub.wait(api.run_job(image="i", command=["sh", "-c", line], env={"OUT": "/hft-out"}, volumes=volumes).id)
    lines = hub.log(job["id"])
    assert job["status"]["stage"] == "COMPLETED", lines
    assert ("rewritten" in lines[0]) is fallback
    assert "code" in lines
    if not (fallback and writes_all):  # root writes where no write bit stands: a limit that the fallback states
        assert "refused" in lines
    assert "new" not in {item.path for item in api.list_bucket_tree("local-user/b", recursive=True)}
    assert "out/r.txt" in {item.path for item in api.list_bucket_tree("local-user/b", recursive=True)}
    name = mark()
    job_info = api.run_job(image="i", command=["sh", "-c", f"(setsid sleep {name} &) ; echo up; sleep {name}"])
    eventually(lambda: hub.log(job_info.id) == ["up"])
    assert len(processes(f"sleep {name}")) >= 2
    api.cancel_job(job_id=job_info.id)
    eventually(lambda: not processes(f"sleep {name}"), 5)
    last = api.run_job(image="i", command=["sh", "-c", f"(setsid sleep {name} &) ; echo up; sleep {name}"])
    eventually(lambda: hub.log(last.id) == ["up"])
    hub.process.kill()
    hub.process.wait()
    eventually(lambda: not processes(f"sleep {name}"), 5)
