"""The launcher and the output folder: what is kept as it appears, what a hostile or broken world does, and resuming."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.job_side import MORE_TOOLS, SHELL_TOOLS, Job, image, lay, wait_until

SHORT = {"GRACE_S = 10.0": "GRACE_S = 0.7", "LAST_S = 15.0": "LAST_S = 1.0", "USAGE_S = 60.0": "USAGE_S = 0.5"}
FLAG = "--resume_from_checkpoint"
TRAIN = """
import json, os, pathlib, sys, time
out = pathlib.Path(os.environ["HF_TRAIN_OUTPUT_DIR"], "model")
out.mkdir(exist_ok=True)

def write(path, value):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))

def until(path):
    while not pathlib.Path(path).exists():
        time.sleep(0.02)
"""


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    """A Job with an output folder."""
    old = {"all_results.json": b'{"old": 1}', "runs/2025/eval_results.json": b'{"old": 2}', "x.py": b""}
    code = lay(tmp_path / "code", old, changed=SHORT)
    made = Job(code=code, scratch=tmp_path, path=image(tmp_path / "bin", *SHELL_TOOLS, *MORE_TOOLS, python=True))
    yield made.with_output()
    made.end_all()


def results(job: Job) -> dict[str, Any]:
    """The results that were kept."""
    folder = job.record / "results"
    return {path.name: json.loads(path.read_text()) for path in folder.iterdir()} if folder.is_dir() else {}


def checkpoint(job: Job, step: int, *, state: str | None = None, where: str = "model", **files: bytes) -> Path:
    """A checkpoint as an earlier run left it."""
    folder = job.output / where / f"checkpoint-{step}"
    folder.mkdir(parents=True)
    if state is not None:
        (folder / "trainer_state.json").write_text(state)
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_bytes(content)
    return folder


def ended(job: Job, name: str, code: int | None, started: str) -> None:
    """The record of an earlier run."""
    folder = job.output / ".hf-train" / name
    folder.mkdir(parents=True)
    end = {"version": 1, "exit_code": code, "started": started, "ended": None if code is None else started}
    (folder / "end.json").write_text(json.dumps(end))


# ---- what is kept ----


@pytest.mark.case(62)
def test_results_are_kept_as_they_appear_and_outlive_a_kill(job: Job) -> None:
    text = (
        TRAIN
        + """
write("out/train_results.json", {"train_loss": 0.5})
write(out / "checkpoint-5" / "trainer_state.json", {"global_step": 5})
until(out / "go")
write(out / "checkpoint-10" / "trainer_state.json", {"global_step": 10})
write("out/train_results.json", {"train_loss": 0.25})
time.sleep(300)
"""
    )
    process = job.start("python3", "-c", text, start_new_session=True)
    first = {"train_results.json": {"train_loss": 0.5}, "trainer_state.json": {"global_step": 5}}
    wait_until(lambda: results(job) == first)
    (job.output / "model" / "go").touch()
    second = {"train_results.json": {"train_loss": 0.25}, "trainer_state.json": {"global_step": 10}}
    wait_until(lambda: results(job) == second, 20)
    wait_until(lambda: job.kept("end.json")["checkpoints"] == [5, 10])
    child = next(int(one.name) for one in Path("/proc").glob("[0-9]*") if _parent(one.name) == process.pid)
    process.kill()
    os.kill(child, signal.SIGKILL)
    process.wait()
    assert results(job) == second
    end = job.kept("end.json")
    assert (end["job"], end["exit_code"], end["signal"], end["ended"], end["launcher"]) == (
        "job1", None, None, None, "python3"
    )  # fmt: skip
    assert job.kept("usage.json")["samples"] >= 1
    assert "pip" in (job.record / "freeze.txt").read_text() or (job.record / "freeze.txt").read_text().startswith("# ")


def _parent(name: str) -> int:
    try:
        return int(Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _is_alive(name: str) -> bool:
    try:
        return Path(f"/proc/{name}/cmdline").read_bytes() != b""  # empty for a zombie
    except OSError:
        return False


def test_the_end_is_written_with_all_that_came_last(job: Job) -> None:
    job.env["HF_TRAIN_METRICS_FILE"] = "./scores/metrics.json"
    text = (
        TRAIN
        + """
write("scores/metrics.json", {"f1": 0.75})
write("other/metrics.json", {"f1": 0.1})
write("out/all_results.json", {"eval_loss": 1.5})
write(out / "all_results.json", {"eval_loss": 0.5})
os.kill(os.getpid(), 9)
"""
    )
    began = time.time()
    done = job.python(text)
    assert (done.returncode, done.stderr) == (137, "")
    assert results(job) == {"all_results.json": {"eval_loss": 0.5}, "metrics.json": {"f1": 0.75}}
    end = job.kept("end.json")
    assert end == {
        "version": 1, "job": "job1", "exit_code": 137, "signal": 9, "started": end["started"], "ended": end["ended"],
        "resumed_from_step": None, "checkpoints": [], "launcher": "python3",
    }  # fmt: skip
    assert abs(time.mktime(time.strptime(end["ended"], "%Y-%m-%dT%H:%M:%SZ")) - time.timezone - began) < 30
    usage = job.kept("usage.json")
    assert usage["gpu"] == []
    assert 1 << 20 < usage["host_memory_max_bytes"] <= usage["host_memory_total_bytes"]
    assert not list(job.record.rglob("*.part"))


def test_what_our_side_is_told_is_not_left_for_the_command(job: Job) -> None:
    job.env |= {"HF_TRAIN_METRICS_FILE": "m.json", "HF_TRAIN_RESUME_FLAG": FLAG}
    done = job.python("import os; print(sorted(name for name in os.environ if name.startswith('HF_TRAIN')))")
    assert done.stdout == "['HF_TRAIN_OUTPUT_DIR']\n"


def test_the_traceback_that_torchrun_keeps(job: Job) -> None:
    text = """
import json, os
extra = {"py_callstack": "Traceback ...\\nValueError: no", "timestamp": "1"}
error = {"message": {"message": "ValueError: no", "extraInfo": extra}}
open(os.environ["TORCHELASTIC_ERROR_FILE"], "w").write(json.dumps(error))
raise SystemExit(1)
"""
    assert job.python(text).returncode == 1
    assert (job.record / "traceback.txt").read_text() == "Traceback ...\nValueError: no"


def test_the_packages_are_those_of_the_python_that_trains(job: Job) -> None:
    """With `uv run` it is none of the image; here another name of the interpreter, and packages of its own."""
    own = Path(job.scratch, "venv", "bin", "python3.99")
    own.parent.mkdir(parents=True)
    own.symlink_to(Path(job.path, "python3").resolve())
    process = job.start("sh", "-c", f"{own} -c 'import time; time.sleep(30)'; true")
    kept = job.record / "freeze.txt"
    wait_until(kept.exists)
    process.terminate()
    process.wait(10)
    assert kept.read_text().startswith(f"# {own} 3.")


@pytest.mark.parametrize("hangs", [False, True])
def test_what_the_gpus_did(job: Job, hangs: bool) -> None:
    smi = Path(job.path, "nvidia-smi")
    rows = "NVIDIA A10G, 91, 20000, 23028\\nNVIDIA A10G, 0, 3, 23028\\nbroken, [N/A], x, 1\\n"
    smi.write_text(f"#!/bin/sh\n[ -z '{'x' if hangs else ''}' ] || exec sleep 100\nprintf '{rows}'\n")
    smi.chmod(0o755)
    began = time.monotonic()
    assert job.run("sleep", "0.6").returncode == 0
    assert time.monotonic() - began < 5
    if not hangs:
        gpu = {"name": "NVIDIA A10G", "memory_total_bytes": 23028 << 20}
        assert job.kept("usage.json")["gpu"] == [
            gpu | {"utilization_mean_pct": 91.0, "utilization_max_pct": 91, "memory_max_bytes": 20000 << 20},
            gpu | {"utilization_mean_pct": 0.0, "utilization_max_pct": 0, "memory_max_bytes": 3 << 20},
        ]


@pytest.mark.parametrize("apart", ["", "setsid "])
def test_a_child_of_a_helper_that_holds_its_output_keeps_nobody(job: Job, apart: str) -> None:
    pids = job.scratch / "pids"
    smi = Path(job.path, "nvidia-smi")
    smi.write_text(f"#!/bin/sh\n{apart}sleep 30 &\necho $! >> {pids}\necho 'NVIDIA A10G, 91, 20000, 23028'\n")
    smi.chmod(0o755)
    began = time.monotonic()
    try:
        assert job.python(TRAIN + "write('all_results.json', {'eval_loss': 0.5}); time.sleep(1)").returncode == 0
        assert time.monotonic() - began < 5
        alive = [name for name in pids.read_text().split() if _is_alive(name)]
    finally:
        for name in pids.read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(name), signal.SIGKILL)
    assert results(job) == {"all_results.json": {"eval_loss": 0.5}}
    assert job.kept("end.json")["exit_code"] == 0
    assert [one["name"] for one in job.kept("usage.json")["gpu"]] == ["NVIDIA A10G"]
    assert apart or not alive, "what stays in the helper's group ends with it"


# ---- a world that is hostile or broken ----


@pytest.mark.case(12)
def test_hostile_results_are_not_followed_and_do_not_hang(job: Job) -> None:
    secret = job.scratch / "secret.json"
    secret.write_text('{"key": "not yours"}')
    job.env["HF_TRAIN_METRICS_FILE"] = "metrics.json"
    text = (
        TRAIN
        + f"""
os.unlink("all_results.json")
os.symlink("{secret}", "all_results.json")
os.symlink("{secret.parent}", "linked")
os.mkfifo("train_results.json")
pathlib.Path("eval_results.json").write_bytes(b"[" + b"1," * (1 << 20) + b"1]")
pathlib.Path("trainer_state.json").write_text("[" * 500000)
os.mkdir("metrics.json")
deep = pathlib.Path("a/b/c/d/e/f")
deep.mkdir(parents=True)
(deep / "metrics.json").write_text("{{}}")
time.sleep(0.8)
"""
    )
    began = time.monotonic()
    done = job.python(text)
    assert (done.returncode, results(job)) == (0, {})
    assert time.monotonic() - began < 5
    work = next(job.scratch.glob("tmp/hf-train.??????"))
    assert (
        done.stderr == f"hf-train: {work}/eval_results.json has more than a megabyte: it is not kept with the results\n"
    )


def test_half_of_a_file_waits_for_the_rest(job: Job) -> None:
    text = TRAIN + "pathlib.Path('all_results.json').write_text('{\"eval_loss\": 0.'); time.sleep(0.8)"
    assert job.python(text).returncode == 0
    assert results(job) == {}


@pytest.mark.parametrize("what", ["never there", "read-only", "a file", "gone"])
def test_an_output_that_cannot_be_written_to_is_one_line_and_no_more(job: Job, what: str) -> None:
    script = "echo trained; sleep 1; exit 3"
    if what == "never there":
        job.output.rmdir()
    elif what == "read-only":
        job.env["HF_TRAIN_OUTPUT"] = "/proc"  # root too can make no folder there
    elif what == "a file":
        job.output.rmdir()
        job.output.touch()
    else:
        script = f"echo trained; rm -rf {job.output}; sleep 1; exit 3"
    done = job.run("sh", "-c", script)
    assert (done.returncode, done.stdout) == (3, "trained\n")
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"hf-train: {job.env['HF_TRAIN_OUTPUT']} cannot be written to (")
    assert what != "gone" or not job.output.exists()


def test_a_mount_that_knows_no_rename(job: Job) -> None:
    """Then the file is written where it belongs. Here a folder with the name of the part is in the way."""
    (job.record / "end.json.part").mkdir(parents=True)
    assert job.run("true").returncode == 0
    assert job.kept("end.json")["exit_code"] == 0


def test_a_mount_that_hangs_keeps_nobody(job: Job) -> None:
    job.record.mkdir(parents=True)
    os.mkfifo(job.record / "end.json.part")
    began = time.monotonic()
    assert job.run("sh", "-c", "exit 6").returncode == 6
    assert time.monotonic() - began < 4


# ---- resuming ----


@pytest.mark.case(122)
@pytest.mark.parametrize("where", ["", "model"])
def test_the_newest_whole_checkpoint_of_an_unfinished_run(job: Job, where: str) -> None:
    job.env["HF_TRAIN_RESUME_FLAG"] = FLAG
    checkpoint(job, 90, where=where, state='{"global_step": 90}')
    newest = checkpoint(job, 200, where=where, state='{"global_step": 200}', model__safetensors=b"w")
    checkpoint(job, 300, where=where, state='{"global_step": 3')  # cut
    checkpoint(job, 310, where=where, state='{"global_step": 300}')  # another's
    checkpoint(job, 320, where=where, state='{"global_step": 320}', model__safetensors=b"")  # lost by the mount
    checkpoint(job, 330, where=where, model__safetensors=b"w")  # nobody finished it
    (job.output / where / "checkpoint-400").symlink_to(newest)
    (job.output / where / "checkpoint-x").mkdir()
    ended(job, "job0", None, "2026-01-02T00:00:00Z")
    done = job.python("import os, sys; print(sys.argv[1:], os.environ['HF_TRAIN_CHECKPOINT'])", "--lr", "1")
    assert done.stdout == f"['--lr', '1', '{FLAG}', '{newest}'] {newest}\n"
    assert done.stderr == f"hf-train: resumed from step 200 ({newest})\n"
    end = job.kept("end.json")
    assert (end["resumed_from_step"], end["checkpoints"]) == (200, [90, 200, 300, 310, 320, 330])
    assert results(job) == {}, "what an earlier run left is not this one's result"


def test_a_checkpoint_of_accelerate(job: Job) -> None:
    job.env["HF_TRAIN_RESUME_FLAG"] = FLAG
    newest = checkpoint(job, 20, model__safetensors=b"w", random_states_0__pkl=b"r")
    checkpoint(job, 30, model__safetensors=b"w")
    assert job.run("true").stderr == f"hf-train: resumed from step 20 ({newest})\n"


@pytest.mark.parametrize("why", ["finished", "no whole one", "none", "the user's own"])
def test_a_run_that_starts_anew(job: Job, why: str) -> None:
    job.env["HF_TRAIN_RESUME_FLAG"] = FLAG
    words = []
    if why == "finished":
        checkpoint(job, 5, state='{"global_step": 5}')
        ended(job, "a", 1, "2026-01-02T00:00:00Z")
        ended(job, "b", 0, "2026-01-03T00:00:00Z")
        ended(job, "c", None, "2026-01-01T00:00:00Z")
        (job.output / ".hf-train" / "d").mkdir()
        (job.output / ".hf-train" / "d" / "end.json").write_text("[" * 100000)
    elif why == "no whole one":
        checkpoint(job, 5, model__safetensors=b"w")
    elif why == "the user's own":
        checkpoint(job, 5, state='{"global_step": 5}')
        words = ["--resume-from-checkpoint=False"]
    done = job.python("import sys; print(sys.argv[1:])", *words)
    assert (done.stdout, done.stderr) == (f"{words}\n", "")
    assert job.kept("end.json")["resumed_from_step"] is None


@pytest.mark.case(122)
def test_what_a_finished_run_left_is_never_gone_on_from(job: Job) -> None:
    """A finishes, B is killed before its first checkpoint, C begins anew, D goes on from what C wrote."""
    job.env["HF_TRAIN_RESUME_FLAG"] = FLAG
    text = TRAIN + "write(out / 'checkpoint-9' / 'trainer_state.json', {'global_step': 9}); print(sys.argv[1:])"
    assert job.python(text).stdout == "[]\n"
    newest = job.output / "model" / "checkpoint-9"
    for name, command in {"B": "kill -9 $$", "C1": "exit 1"}.items():
        job.env["JOB_ID"] = name
        done = job.run("sh", "-c", f"echo $#; {command}", "sh")
        assert (done.stdout, done.stderr) == ("0\n", ""), name
    time.sleep(1.1)  # the times of records are whole seconds
    job.env["JOB_ID"] = "C2"
    assert job.python(text.replace("9", "4"), "x").stdout == "['x']\n", "also the older step 4 is a new run's"
    end = json.loads((job.output / ".hf-train" / "C2" / "end.json").read_text())
    (job.output / ".hf-train" / "C2" / "end.json").write_text(json.dumps({**end, "exit_code": None, "ended": None}))
    for name in ("C2", "C2", "D"):  # two more attempts of the same Job
        job.env["JOB_ID"] = name
        resumed = newest.with_name("checkpoint-4")
        assert job.run("sh", "-c", "exit 1").stderr == f"hf-train: resumed from step 4 ({resumed})\n", name


def test_a_further_attempt_of_the_same_job_keeps_its_start(job: Job) -> None:
    """Else what the first attempt wrote would be older than the only run after the finished one."""
    job.env["HF_TRAIN_RESUME_FLAG"] = FLAG
    newest = checkpoint(job, 5, state='{"global_step": 5}')
    os.utime(newest / "trainer_state.json", (1_600_000_000, 1_600_000_000))  # September 2020
    ended(job, "a", 0, "2020-01-03T00:00:00Z")
    ended(job, "job1", None, "2020-01-04T00:00:00Z")
    for _ in range(2):
        assert job.run("sh", "-c", "exit 1").stderr == f"hf-train: resumed from step 5 ({newest})\n"


def test_a_second_node_decides_as_the_first_one_did(job: Job) -> None:
    """The first one has written its record by then."""
    job.env["HF_TRAIN_RESUME_FLAG"] = FLAG
    checkpoint(job, 5, state='{"global_step": 5}')
    ended(job, "a", 0, "2026-01-03T00:00:00Z")
    os.utime(job.output / "model" / "checkpoint-5" / "trainer_state.json", (1, 1))
    ended(job, "node0", None, "2026-01-04T00:00:00Z")
    assert job.run("true").stderr == ""


def test_own_code_is_told_of_the_newest_that_is_not_empty(job: Job) -> None:
    newest = checkpoint(job, 8, model__pt=b"w")
    checkpoint(job, 9)
    done = job.python("import os, sys; print(sys.argv[1:], os.environ['HF_TRAIN_CHECKPOINT'])")
    assert done.stdout == f"[] {newest}\n"
    assert done.stderr == f"hf-train: there is a checkpoint of step 8 (HF_TRAIN_CHECKPOINT={newest})\n"
