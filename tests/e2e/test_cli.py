"""The command line by process, as a user has it: exit codes, messages, the small commands, the demo."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import httpx2
import pytest

import hf_train
from hf_train.errors import ExitCode
from support.local_hub_process import Hub
from support.product import clean_environ, make_repo, on_github, read_report

MODULE = (sys.executable, "-I", "-m", "hf_train")
SCRIPT = (str(Path(sys.executable).parent / "hf-train"),)
LOG = """\
{'loss': 2.5, 'grad_norm': 1.0, 'learning_rate': 5e-05, 'epoch': 0.5}
{'loss': 1.25, 'grad_norm': 0.9, 'learning_rate': 1e-05, 'epoch': 1.0}
{'train_runtime': 12.5, 'train_loss': 1.875, 'epoch': 1.0}
"""


def call(
    *words: str, entry: Sequence[str] = MODULE, cwd: Path | None = None, stdin: str = "", **env: str
) -> subprocess.CompletedProcess[str]:
    """`hf-train WORDS` to its end."""
    return subprocess.run(
        [*entry, *words],
        cwd=cwd,
        env=clean_environ({"COLUMNS": "200", "NO_COLOR": "1", **env}),
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A user's repository."""
    return make_repo(tmp_path / "repo", {"train.py": "print({'loss': 0.5})\n", "fail.py": "raise SystemExit(3)\n"})


@pytest.mark.parametrize("entry", [MODULE, SCRIPT], ids=["module", "script"])
def test_the_version(entry: Sequence[str]) -> None:
    done = call("--version", entry=entry)
    assert (done.returncode, done.stdout) == (0, f"hf-train {hf_train.__version__}\n")


def test_help_names_every_command_and_every_input(tmp_path: Path) -> None:
    root = call("--help")
    assert root.returncode == 0
    for name in ("run", "plan", "cancel", "explain", "local-hub", "demo"):
        assert f" {name} " in root.stdout
    text = call("run", "--help").stdout
    from hf_train.inputs import FIELDS

    for field in FIELDS:
        assert (f"--{field.name} " in text) is field.flag, field.name
    assert "token" not in "".join(re.findall(r"--[a-z-]+", text))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("bogus",), "No such command 'bogus'"),
        (("run", "--flavour", "x"), "No such option: --flavour (Possible options: --flavor)"),
        (("run", "--flavor"), "Option '--flavor' requires an argument"),
        (("run", "stray", "--", "true"), "unexpected extra argument"),
        (("plan", "--format", "yaml", "--", "true"), "'yaml' is not one of"),
        (("cancel",), "name at least one Job, or give --state-file"),
        (("explain",), "Missing argument 'LOG'"),
        (("explain", "/no/such/log"), "/no/such/log: No such file or directory"),
        (("explain", "--format", "xml", "-"), "'xml' is neither text nor json"),
        (("local-hub", "--port", "x"), "'x' is not a port"),
        (("local-hub", "--fault", "nonsense"), "nonsense"),
    ],
)
def test_wrong_words_are_2_and_one_sentence(words: Sequence[str], says: str, tmp_path: Path) -> None:
    done = call(*words, cwd=tmp_path)
    assert done.returncode == 2, done.stdout
    assert says in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("entry", "command", "code"), [(MODULE, "train.py", ExitCode.OK), (SCRIPT, "fail.py", ExitCode.FAILED)]
)
def test_a_run_ends_with_the_code_of_the_training(
    entry: Sequence[str], command: str, code: ExitCode, account: Hub, repo: Path
) -> None:
    done = call("run", "--", "python", command, entry=entry, cwd=repo, **account.environ)
    assert done.returncode == code, done.stdout + done.stderr
    assert done.stderr == ""


@pytest.mark.case(42)
def test_the_checkout_cannot_put_code_into_the_step(account: Hub, repo: Path) -> None:
    """Modules of the checkout, and those that Python imports by itself, are data for us."""
    for name in ("typer.py", "sitecustomize.py", "hf_train.py", "httpx2.py", "yaml.py"):
        (repo / name).write_text("open('owned', 'w'); raise SystemExit(99)\n")
    environ = {**account.environ, "PYTHONPATH": str(repo), "PYTHONSTARTUP": str(repo / "typer.py")}
    done = call("plan", "--", "true", cwd=repo, **environ)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not (repo / "owned").exists()


@pytest.mark.parametrize("command", ["train.py", "fail.py"])
def test_a_reader_that_goes_away_changes_neither_the_watch_nor_the_verdict(
    command: str, account: Hub, repo: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "report"
    words = ("run", "--report-dir", str(folder), "--", "python", command)
    process = subprocess.Popen(
        [*MODULE, *words],
        cwd=repo,
        env=clean_environ(account.environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline()
    process.stdout.close()  # as `| head -1` does
    assert process.stderr is not None
    with process.stderr as errors:
        said = errors.read()
    assert (process.wait(timeout=60), said) == (1 if command == "fail.py" else 0, "")
    assert read_report(folder)["stage"] == ("ERROR" if command == "fail.py" else "COMPLETED")


@pytest.mark.case(81)
def test_output_survives_an_ascii_locale(account: Hub, repo: Path) -> None:
    words = ("run", "--path", "none", "--", "printf", "Gr\u00fc\u00dfe \u2713 \\355\\240\\200\\n")
    done = call(*words, cwd=repo, LC_ALL="C", PYTHONIOENCODING="ascii", **account.environ)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "| Gr\u00fc\u00dfe \u2713" in done.stdout


def test_plan_prints_a_plan_and_spends_nothing(account: Hub, repo: Path) -> None:
    done = call(
        "plan", "--flavor", "a10g-small", "--timeout", "2h", "--", "python", "train.py", cwd=repo, **account.environ
    )
    assert done.returncode == 0, done.stdout
    for words in ("a10g-small", "worst case", "$2.00", "hf jobs run", "python train.py"):
        assert words in done.stdout
    assert {one["method"] for one in account.requests()} <= {"GET"}


def test_plan_as_json_is_json_alone_also_on_a_runner(account: Hub, repo: Path, tmp_path: Path) -> None:
    environ = {**account.environ, **on_github(tmp_path)}
    done = call(
        "plan", "--format", "json", "--secrets", "KEY", "--", "true", cwd=repo, KEY="hf_localsecret1", **environ
    )
    plan = json.loads(done.stdout)
    assert (plan["namespace"], plan["secrets"]) == (account.user, ["KEY"])
    assert "hf_localsecret1" not in done.stdout
    assert "::add-mask::hf_localsecret1" in done.stderr


def test_plan_needs_neither_a_token_nor_a_hub(repo: Path, tmp_path: Path) -> None:
    nobody = {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HOME": str(tmp_path), "HOME": str(tmp_path)}
    done = call("plan", "--", "python", "train.py", cwd=repo, **nobody)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "hf jobs run" in done.stdout
    assert "price is not known" in done.stdout


def test_run_without_a_token_outside_github_is_3(repo: Path, tmp_path: Path) -> None:
    done = call("run", "--", "true", cwd=repo, HF_HOME=str(tmp_path), HOME=str(tmp_path))
    assert done.returncode == 3
    assert "No token" in done.stdout
    assert "--local" in done.stdout


def test_cancel_by_id(account: Hub, repo: Path) -> None:
    words = ("run", "--mode", "detach", "--path", "none", "--reuse", "never", "--", "sleep", "60")
    for _ in range(2):
        assert call(*words, cwd=repo, **account.environ).returncode == 0
    first, second = (job["id"] for job in account.jobs())
    done = call("cancel", first, f"{account.user}/{second}", cwd=None, **account.environ)
    assert done.returncode == 0, done.stdout
    assert [job["status"]["stage"] for job in account.jobs()] == ["CANCELED", "CANCELED"]
    again = call("cancel", first, cwd=None, **account.environ)
    assert (again.returncode, "has ended already (CANCELED)" in again.stdout) == (0, True)
    unknown = call("cancel", "0" * 24, cwd=None, **account.environ)
    assert (unknown.returncode, "The Hub has no Job" in unknown.stdout) == (3, True)


@pytest.mark.case(31)
def test_the_cleanup_shows_its_token_to_no_other_hub(account: Hub, tmp_path: Path) -> None:
    """Another step can write the state file."""
    path = tmp_path / "state.json"
    path.write_text(json.dumps({"endpoint": account.url, "namespace": account.user, "nonce": "0" * 32}))
    account.forget()
    done = call("cancel", "--state-file", str(path), HF_TOKEN=account.token, HF_ENDPOINT="http://127.0.0.1:9")
    assert done.returncode == 0
    assert "another Hub" in done.stdout
    assert account.requests() == []


@pytest.mark.case(17)
@pytest.mark.parametrize("content", ["", "[]", "{}", '{"nonce": "x"}', "\x00", '{"nonce": 1, "namespace": []}'])
def test_a_broken_state_file_never_fails_the_step(content: str, account: Hub, tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_text(content)
    done = call("cancel", "--state-file", str(path), cwd=None, **account.environ)
    assert done.returncode == 0, done.stdout


def test_explain_reads_a_file_and_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text(LOG)
    text = call("explain", str(path))
    assert text.returncode == 0
    assert "train_loss" in text.stdout
    assert "1.875" in text.stdout
    piped = call("explain", "--format", "json", "-", stdin=LOG)
    assert piped.returncode == 0
    assert "train_loss" in json.dumps(json.loads(piped.stdout))


def test_the_local_hub_says_where_it_is_and_stops_at_sigterm(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*MODULE, "local-hub", "--data", str(tmp_path / "data")],
        env=clean_environ({}),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        name, _, url = process.stdout.readline().strip().partition("=")
        assert name == "HF_ENDPOINT"
        assert httpx2.get(f"{url}/api/jobs/hardware", timeout=5).status_code == 200
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
        process.stdout.close()


def test_a_run_on_an_embedded_hub_needs_no_account(repo: Path, tmp_path: Path) -> None:
    nobody = {"HF_HOME": str(tmp_path), "HOME": str(tmp_path)}
    good = call("run", "--local", "--report-dir", str(tmp_path / "r"), "--", "python", "train.py", cwd=repo, **nobody)
    assert good.returncode == 0, good.stdout + good.stderr
    assert read_report(tmp_path / "r")["metrics"] == {"loss": 0.5}
    assert call("run", "--local", "--", "python", "fail.py", cwd=repo, **nobody).returncode == 1


def test_the_demo(tmp_path: Path) -> None:
    began = time.monotonic()
    done = call("demo", "--report-dir", "report", cwd=tmp_path, HOME=str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert time.monotonic() - began < 90
    folder = tmp_path / "report"
    assert {"report.json", "comment.md", "summary.md", "job.log"} <= {path.name for path in folder.iterdir()}
    report = read_report(folder)
    comment = (folder / "comment.md").read_text(encoding="utf-8")
    assert report["metrics"]
    assert "| Metric |" in comment
    assert report["model-url"].endswith(report["model-revision"])
    assert report["model-url"] in comment
    assert "cost" in comment
    assert comment in done.stdout
