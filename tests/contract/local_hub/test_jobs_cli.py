"""Every `hf jobs` command of huggingface_hub 2.4.0, as a user types it."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from huggingface_hub import HfApi

from hf_train.local_hub.pytest import LocalHubHandle
from support.hf_cli import HF, Cli, eventually

IMAGE = "python:3.12"
SCRIPT = """# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
import os, sys
print("script says", sys.argv[1:], os.environ.get("WHO"))
"""


def test_who_am_i(hf: Cli, local_hub: LocalHubHandle) -> None:
    assert f"user={local_hub.user}" in hf("auth", "whoami").replace("user: ", "user=").replace(" ", "")


def test_run_attached(hf: Cli, local_hub: LocalHubHandle) -> None:
    out = hf(
        "jobs", "run", "-e", "A=1", "-l", "team=x", "--timeout", "5m", IMAGE, "--", "sh", "-c", "echo a=$A; echo end"
    )
    assert "\na=1\nend\n" in out
    job = local_hub.jobs()[0]
    assert f"Job {job['id']} completed" in out
    assert (job["timeout"], job["labels"]["team"], job["dockerImage"], job["flavor"]) == (300, "x", IMAGE, "cpu-basic")


def test_run_attached_that_fails(hf: Cli, local_hub: LocalHubHandle) -> None:
    out = hf("jobs", "run", IMAGE, "--", "sh", "-c", "echo oops; exit 7", code=1)
    assert "oops\n" in out
    assert f"Error: Job {local_hub.jobs()[0]['id']} finished with stage 'ERROR': " in out
    assert "Job failed with exit code: 7. Reason: Error" in out


def test_a_timeout_as_the_cli_tells_it(hf: Cli) -> None:
    out = hf("jobs", "run", "--timeout", "1s", IMAGE, "sleep", "60", code=1)
    assert "finished with stage 'ERROR': Job timeout" in out


def test_a_timeout_of_zero_is_refused(hf: Cli, local_hub: LocalHubHandle) -> None:
    out = hf("jobs", "run", "--timeout", "0", IMAGE, "true", code=1)
    assert "timeoutSeconds: a number greater than 0 is expected" in out
    assert local_hub.jobs() == []


def test_detached_json_and_quiet(hf: Cli, local_hub: LocalHubHandle) -> None:
    out = hf("jobs", "run", "-d", IMAGE, "true")
    assert f"id: {local_hub.jobs()[0]['id']}" in out
    answer = json.loads(hf.start("jobs", "run", "-d", "--json", IMAGE, "true").communicate()[0])
    assert answer["url"] == f"{local_hub.endpoint}/jobs/{local_hub.user}/{answer['id']}"
    assert hf.launch(IMAGE, "true") == local_hub.jobs()[0]["id"]


def test_code_in_and_results_out(hf: Cli, local_hub: LocalHubHandle, api: HfApi) -> None:
    code = hf.home / "dir"
    code.mkdir()
    (code / "train.py").write_text("open('/out/deep.txt', 'w').write('result'); print('ran')")
    out_bucket = f"{local_hub.user}/results"
    hf("buckets", "create", out_bucket)
    volumes = ["-v", "./dir:/code", "-v", f"hf://buckets/{out_bucket}/run-1:/out:rw"]
    out = hf("jobs", "run", *volumes, IMAGE, "--", "sh", "-c", "python /code/train.py; touch /code/x || echo sealed")
    assert "\nran\n" in out
    assert "Read-only file system" in out
    assert "\nsealed\n" in out
    assert [item.path for item in api.list_bucket_tree(out_bucket, recursive=True)] == ["run-1/deep.txt"]
    hf("buckets", "cp", f"hf://buckets/{out_bucket}/run-1/deep.txt", str(hf.home / "back.txt"))
    assert (hf.home / "back.txt").read_text() == "result"
    assert (code / "train.py").exists()
    assert not (code / "x").exists()


def test_uv_run_of_a_local_script(hf: Cli) -> None:
    (hf.home / "job.py").write_text(SCRIPT)
    out = hf("jobs", "uv", "run", "-e", "WHO=me", "job.py", "--lr", "0.1")
    assert "script says ['--lr', '0.1'] me" in out


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    """An HTTP server on loopback, with `job.py`."""
    folder = tmp_path / "web"
    folder.mkdir()
    (folder / "job.py").write_text(SCRIPT)

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            del args

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/job.py"
        server.shutdown()


def test_uv_run_of_a_url(hf: Cli, web: str) -> None:
    assert "script says ['x'] None" in hf("jobs", "uv", "run", web, "x")


def test_logs(hf: Cli, local_hub: LocalHubHandle) -> None:
    job = hf.launch(IMAGE, "--", "sh", "-c", "for i in 1 2 3 4 5; do echo line $i; done")
    local_hub.wait(job)
    assert hf("jobs", "logs", job).startswith("line 1\nline 2\nline 3\nline 4\nline 5\n")
    assert hf("jobs", "logs", "-n", "2", job).startswith("line 4\nline 5\n")
    live = hf.launch(IMAGE, "--", "sh", "-c", "echo one; sleep 2; echo two")
    out = hf("jobs", "logs", "-f", live)
    assert out.startswith("one\ntwo\n")


def test_wait(hf: Cli) -> None:
    good, bad = hf.launch(IMAGE, "sleep", "1"), hf.launch(IMAGE, "false")
    assert hf.json("jobs", "wait", good) == [{"id": good, "stage": "COMPLETED", "message": None}]
    assert f"1 of 2 Job(s) did not complete successfully: {bad} (ERROR)" in hf("jobs", "wait", good, bad, code=1)
    slow = hf.launch(IMAGE, "sleep", "60")
    assert "Timed out after 1s" in hf("jobs", "wait", "--timeout", "1s", slow, code=1)


def test_inspect_and_ls(hf: Cli, local_hub: LocalHubHandle) -> None:
    job = hf.launch("-l", "a=1", "-l", "b=2", "-s", "S=secret", IMAGE, "true")
    hf.launch("-l", "a=1", IMAGE, "sleep", "60")
    local_hub.wait(job)
    (found,) = hf.json("jobs", "inspect", job)
    assert (found["status"]["stage"], found["secrets"], found["owner"]["name"]) == ("COMPLETED", ["S"], local_hub.user)
    assert found["durations"]["total_secs"] >= 0
    assert "404" in hf("jobs", "inspect", "0" * 24, code=1)

    def listed(*options: str) -> int:
        return len(hf.json("jobs", "ls", *options))

    assert listed() == 1, "running ones only"
    assert listed("-a") == 2
    assert listed("-a", "--label", "a=1", "--label", "b=2") == 1
    assert listed("-a", "--label", "a=2") == 0
    assert listed("--status", "COMPLETED") == 1


def test_cancel(hf: Cli, local_hub: LocalHubHandle) -> None:
    job = hf.launch(IMAGE, "sleep", "60")
    eventually(lambda: local_hub.job(job)["status"]["stage"] == "RUNNING")
    assert f"id: {job}" in hf("jobs", "cancel", job)
    assert local_hub.job(job)["status"]["stage"] == "CANCELED"
    assert "finished with stage" not in hf("jobs", "cancel", job), "a second time is no error"


def test_stats(hf: Cli, local_hub: LocalHubHandle) -> None:
    job = hf.launch(IMAGE, "--", "python", "-c", "x = bytearray(50 << 20)\nwhile True: pass")
    eventually(lambda: local_hub.job(job)["status"]["stage"] == "RUNNING")
    rows = hf.json("jobs", "stats", job)
    assert rows[0]["job_id"] == job
    local_hub.cancel_jobs()
    assert hf.json("jobs", "stats", job) == []


def test_stats_of_gpus(hf: Cli, local_hub: LocalHubHandle) -> None:
    local_hub.fault("jobs gpu-use=91,0")
    job = hf.launch("--flavor", "a10g-largex2", IMAGE, "--", "sleep", "60")
    eventually(lambda: local_hub.job(job)["status"]["stage"] == "RUNNING")
    gpus = hf.json("jobs", "stats", job)[0]["gpus"]
    assert [one["utilization"] for one in gpus.values()] == [91, 0]


def test_hardware(hf: Cli) -> None:
    rows = {row["name"]: row for row in hf.json("jobs", "hardware")}
    assert rows["a10g-small"]["accelerator"] == "1x A10G (24 GB)"
    assert rows["a10g-small"]["cost/hour"] == "$1.00"


def test_rerun_and_labels(hf: Cli, local_hub: LocalHubHandle) -> None:
    job = hf.launch("-e", "A=1", "-s", "S=two words", IMAGE, "--", "sh", "-c", "echo $A $S")
    local_hub.wait(job)
    hf("jobs", "rerun", "-d", job)
    again = local_hub.jobs()[0]["id"]
    assert again != job
    local_hub.wait(again)
    assert local_hub.log(again) == ["1 two words"]
    hf("jobs", "labels", "-l", "k=v", "--name", "new", job)
    assert local_hub.job(job)["labels"] == {"k": "v", "name": "new"}


def test_expose(hf: Cli, local_hub: LocalHubHandle) -> None:
    job = hf.launch("--expose", "8000", IMAGE, "sleep", "60")
    assert local_hub.job(job)["status"]["exposeUrls"] == [f"https://{job}--8000.hf.jobs"]
    hf("jobs", "expose", job, "9000")
    assert local_hub.job(job)["expose"]["ports"] == [9000]


def test_a_signal_to_the_cli_leaves_the_job(hf: Cli, local_hub: LocalHubHandle) -> None:
    """What hf-train does better: `hf` itself never cancels."""
    process = hf.start("jobs", "run", IMAGE, "sleep", "60")
    eventually(lambda: local_hub.jobs() and local_hub.jobs()[0]["status"]["stage"] == "RUNNING")
    process.terminate()
    process.communicate(timeout=20)
    assert process.returncode != 0
    assert local_hub.jobs()[0]["status"]["stage"] == "RUNNING"
    assert local_hub.requests("POST", f"/api/jobs/{local_hub.user}/") == []


def test_scheduled(hf: Cli, local_hub: LocalHubHandle) -> None:
    def scheduled(*words: str, code: int = 0) -> str:
        return hf("jobs", "scheduled", *words, code=code)

    scheduled("run", "-l", "a=1", "-s", "S=x", "@daily", IMAGE, "--", "sh", "-c", "echo ${#S}; sleep 50")
    (row,) = hf.json("jobs", "scheduled", "ls")
    one = row["id"]
    (found,) = hf.json("jobs", "scheduled", "inspect", one)
    assert (found["schedule"], found["suspend"]) == ("@daily", False)
    assert found["status"]["next_job_run_at"].endswith(("T00:00:00+00:00", "T00:00:00Z", "00:00:00.000Z"))
    scheduled("suspend", one)
    assert hf.json("jobs", "scheduled", "inspect", one)[0]["suspend"] is True
    scheduled("resume", one)
    scheduled("reschedule", one, "0 9 * * 1")
    assert hf.json("jobs", "scheduled", "inspect", one)[0]["schedule"] == "0 9 * * 1"
    scheduled("trigger", one)
    job = local_hub.jobs()[0]
    assert job["initiator"] == {"type": "scheduled-job", "id": one}
    assert "409" in scheduled("trigger", one, code=1), "one runs, and concurrency is off"
    eventually(lambda: local_hub.log(job["id"]) == ["1"])
    scheduled("labels", "-l", "b=2", one)
    assert hf.json("jobs", "scheduled", "inspect", one)[0]["job_spec"]["labels"]["b"] == "2"
    scheduled("delete", one)
    assert hf.json("jobs", "scheduled", "ls") == []


def test_no_update_check_or_other_host(hf: Cli) -> None:
    """The tests use the very CLI that users have."""
    assert subprocess.run([str(HF), "version"], capture_output=True, text=True, env=hf.environ, check=True).stdout
