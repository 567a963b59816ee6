"""The action as a user's workflow calls it, under act: on this machine and in a bare container."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from e2e.conftest import GITHUB_TOKEN, commit, start_act
from support.act import Act, Run
from support.github_stub import GitHubStub
from support.hub_process import TOKEN, HubProcess

pytestmark = pytest.mark.act

STEPS = """\
- uses: actions/checkout@v7
- id: train
  uses: octo/hf-train@v1
  env:
    HF_ENDPOINT: {endpoint}
{env}
  with:
    hf-token: ${{{{ secrets.HF_TOKEN }}}}
    flavor: cpu-basic
    timeout: 5m
{inputs}
- id: after
  if: always()
  shell: bash
  env:
    OUTCOME: ${{{{ steps.train.outcome }}}}
    OUTPUTS: ${{{{ toJSON(steps.train.outputs) }}}}
  run: |
    {{ printf 'outcome=%s\\n' "$OUTCOME"; printf 'outputs<<E-O-F\\n%s\\nE-O-F\\n' "$OUTPUTS"; }} >> "$GITHUB_OUTPUT"
"""


def _steps(hub: HubProcess, inputs: Mapping[str, str], env: Mapping[str, str] | None = None) -> str:
    def rows(values: Mapping[str, str]) -> str:
        return "\n".join(f"    {name}: {json.dumps(value)}" for name, value in values.items())

    return STEPS.format(endpoint=hub.url, inputs=rows(inputs), env=rows(env or {}))


def _outputs(run: Run) -> dict[str, str]:
    """The action's outputs, as a later step of the workflow sees them."""
    outputs = json.loads(run.step("after").outputs["outputs"])
    assert isinstance(outputs, dict)
    return {str(name): str(value) for name, value in outputs.items()}


@pytest.fixture(params=["host", "container"])
def act(request: pytest.FixtureRequest) -> Act:
    """act in each of its two modes."""
    found = request.getfixturevalue(f"act_{request.param}")
    assert isinstance(found, Act)
    return found


@pytest.mark.parametrize("event", ["push", "pull_request_labeled"])
def test_a_training_runs_and_its_outputs_reach_the_workflow(
    act: Act, event: str, repo: Path, action: Path, github: GitHubStub, hub: HubProcess
) -> None:
    steps = _steps(hub, {"command": "python3 train.py"})
    with start_act(act, repo, action, github, steps, event=event) as running:
        run = running.wait()
    assert run.code == 0, run.shown[-5000:]
    (job,) = hub.jobs()
    outputs = _outputs(run)
    assert outputs["job-id"] == job.id
    assert (outputs["stage"], outputs["exit-code"], str(job.status.stage)) == ("COMPLETED", "0", "COMPLETED")
    assert json.loads(outputs["metrics"])["train_loss"] == 0.5
    assert outputs["job-url"].startswith(hub.url)
    assert float(outputs["cost-usd"]) >= 0
    assert (job.labels or {})["hf-train"] == "1"
    # What the workflow may read is declared; anything else would reach it under act only (upstream issue 2553).
    assert set(outputs) <= set(run.step("train", "run").outputs) | set(run.step("train").outputs)
    assert "train_loss" in run.step("train", "run").summary
    comments = github.comments()
    if event == "push":
        assert comments == []
        return
    (comment,) = comments
    assert comment.body.startswith("<!-- hf-train:")
    assert "train_loss" in comment.body
    assert "0.5" in comment.body
    assert comment.login == "github-actions[bot]"
    assert comment.edits, "the comment lives: it was made at launch and edited with the result"
    assert outputs["comment-url"].endswith(f"#issuecomment-{comment.id}")
    for secret in (TOKEN, GITHUB_TOKEN):
        assert secret not in comment.body
        assert secret not in run.shown


def test_a_failing_training_turns_the_step_red_after_the_comment_is_posted(
    act: Act, repo: Path, action: Path, github: GitHubStub, hub: HubProcess
) -> None:
    steps = _steps(hub, {"command": "python3 fail.py"})
    with start_act(act, repo, action, github, steps, event="pull_request_labeled") as running:
        run = running.wait()
    assert run.code == 1, run.shown[-5000:]
    assert run.step("train", "run").result == "failure"
    assert run.step("after").outputs["outcome"] == "failure"
    (job,) = hub.jobs()
    outputs = _outputs(run)
    assert (outputs["job-id"], outputs["stage"], outputs["exit-code"]) == (job.id, "ERROR", "1")
    (comment,) = github.comments()
    assert "the loss is not finite" in comment.body
    assert run.step("train", "run").annotations() != []


@pytest.mark.case(54)
def test_sigint_to_the_steps_process_cancels_the_job(
    act: Act, repo: Path, action: Path, github: GitHubStub, hub: HubProcess
) -> None:
    steps = _steps(hub, {"command": "sh -c 'echo started; sleep 300'"})
    with start_act(act, repo, action, github, steps, event="pull_request_labeled") as running:
        hub.wait_for(lambda jobs: jobs and str(jobs[0].status.stage) == "RUNNING", timeout_s=180)
        pid = running.pid_of("hf_train", "run")
        began = time.monotonic()
        os.kill(pid, signal.SIGINT)
        hub.wait_for(lambda jobs: str(jobs[0].status.stage) in {"CANCELED", "CANCELLED"}, timeout_s=10)
        took = time.monotonic() - began
        run = running.wait()
    assert took < 3, took
    outputs = _outputs(run)
    assert outputs["stage"].startswith("CANCEL")
    assert outputs["exit-code"] == "130"
    assert run.step("train", "cleanup").result == "success"
    (comment,) = github.comments()
    assert "ancel" in comment.body


@pytest.mark.case(56)
def test_a_killed_step_is_cleaned_up_after(
    act_host: Act, repo: Path, action: Path, github: GitHubStub, hub: HubProcess
) -> None:
    steps = _steps(hub, {"command": "sleep 300", "comment": "never"})
    with start_act(act_host, repo, action, github, steps) as running:
        hub.wait_for(lambda jobs: jobs and str(jobs[0].status.stage) == "RUNNING", timeout_s=180)
        os.kill(running.pid_of("hf_train", "run"), signal.SIGKILL)
        run = running.wait()
    assert run.step("train", "run").result == "failure"
    assert run.step("train", "cleanup").result == "success"
    assert str(hub.jobs()[0].status.stage).startswith("CANCEL")


@pytest.mark.case(19)
def test_without_a_token_the_step_says_so_and_asks_the_hub_nothing(
    act_host: Act, repo: Path, action: Path, github: GitHubStub, hub: HubProcess
) -> None:
    steps = _steps(hub, {"command": "python3 train.py"})
    with start_act(act_host, repo, action, github, steps, event="pull_request_fork", secrets={}) as running:
        run = running.wait()
    assert run.code == 0, run.shown[-3000:]
    assert hub.jobs() == []
    assert _outputs(run)["job-id"] == ""
    (notice,) = run.step("train", "run").annotations("notice")
    assert "no Hub token" in notice


def test_bad_input_is_red_and_costs_nothing(
    act_host: Act, repo: Path, action: Path, github: GitHubStub, hub: HubProcess
) -> None:
    steps = _steps(hub, {"command": "python3 train.py", "script": "train.py", "flavor": "a10g small; rm -rf /"})
    with start_act(act_host, repo, action, github, steps.replace("    flavor: cpu-basic\n", "")) as running:
        run = running.wait()
    assert run.code == 1, run.shown[-5000:]
    assert run.step("train", "run").result == "failure"
    assert hub.jobs() == []
    assert any("script" in text for text in run.step("train", "run").annotations())


@pytest.mark.case(12, 15)
def test_inputs_arrive_byte_for_byte_and_none_is_run_by_a_shell(
    act_host: Act, repo: Path, action: Path, github: GitHubStub, hub: HubProcess, tmp_path: Path
) -> None:
    canary = tmp_path / "canary"
    value = f'$(touch {canary}) `touch {canary}` "; touch {canary} # \\ ü ${{HOME}} %0A::error::x'
    steps = _steps(hub, {"command": 'sh -c \'printf "got<%s>\\n" "$VALUE"\'', "env": f"VALUE={value}"})
    with start_act(act_host, repo, action, github, steps) as running:
        run = running.wait()
    assert run.code == 0, run.shown[-3000:]
    (job,) = hub.jobs()
    assert (job.environment or {})["VALUE"] == value
    assert not canary.exists()


def test_the_embedded_hub_needs_no_secret_and_a_second_use_no_setup(
    act_host_without_uv: Act, repo: Path, action: Path, github: GitHubStub
) -> None:
    step = """\
- id: {name}
  uses: octo/hf-train@v1
  with:
    local: true
    command: python3 train.py
    comment: never
"""
    steps = "- uses: actions/checkout@v7\n" + step.format(name="first") + step.format(name="second")
    with start_act(act_host_without_uv, repo, action, github, steps, secrets={}) as running:
        run = running.wait()
    assert run.code == 0, run.shown[-3000:]
    for name in ("first", "second"):
        assert run.step(name, "run").outputs["stage"] == "COMPLETED"
    assert "made by an earlier step" not in run.step("first", "setup").text
    assert "made by an earlier step" in run.step("second", "setup").text
    assert run.step("first", "setup").outputs["state-file"] != run.step("second", "setup").outputs["state-file"]


HOSTILE = (
    *(f"{name}.py" for name in ("typing", "json", "os", "re", "ssl", "socket", "hashlib", "tempfile", "venv", "pip")),
    *("sitecustomize.py", "usercustomize.py", "startup.py", "enum.py", "dataclasses.py", "pathlib.py", "signal.py"),
    *(f"{name}/__init__.py" for name in ("yaml", "huggingface_hub", "github", "typer", "hf_train", "requests")),
)


@pytest.mark.case(42, 43)
def test_a_hostile_checkout_runs_nothing_beside_the_token(
    act_host: Act, repo: Path, action: Path, github: GitHubStub, hub: HubProcess, tmp_path: Path
) -> None:
    canary = tmp_path / "canary"
    shell = f"#!/bin/sh\necho $0 >> {canary}\n"
    for name in HOSTILE:
        (repo / name).parent.mkdir(exist_ok=True)
        (repo / name).write_text(f"open({str(canary)!r}, 'a').write({name!r} + '\\n')\n", encoding="utf-8")
    with GitHubStub() as index:
        evil = f"{index.url}/simple"
        files = {
            "evilpy": shell,
            "evil.sh": shell,
            "bin/python3": shell,
            "bin/uv": shell,
            ".python-version": f"{repo}/evilpy\n",
            "uv.toml": f'[[index]]\nurl = "{evil}"\ndefault = true\n',
            "pyproject.toml": f'[tool.uv]\nindex-url = "{evil}"\n',
            "pip.conf": f"[global]\nindex-url = {evil}\n",
            ".env": f"UV_INDEX_URL={evil}\nUV_PYTHON={repo}/evilpy\n",
        }
        for name, text in files.items():
            (repo / name).parent.mkdir(exist_ok=True)
            (repo / name).write_text(text, encoding="utf-8")
            (repo / name).chmod(0o755)
        commit(repo, "Hostile")
        steering = {
            "PYTHONPATH": ".",
            "PYTHONSTARTUP": "startup.py",
            "PYTHONHOME": "",
            "PIP_CONFIG_FILE": "pip.conf",
            "UV_CONFIG_FILE": "uv.toml",
            "UV_PYTHON": "./evilpy",
            "UV_ENV_FILE": ".env",
            "BASH_ENV": "./evil.sh",
        }
        # First the attack, so that the defence is worth something.
        attacked = {**os.environ, "PYTHONPATH": "."}
        subprocess.run(["python3", "-c", "import json"], cwd=repo, env=attacked, check=False, capture_output=True)
        assert canary.exists(), "the canary does not sing"
        canary.unlink()

        steps = _steps(hub, {"command": "sh -c 'echo trained'", "exclude": ".env"}, steering)
        with start_act(act_host, repo, action, github, steps) as running:
            run = running.wait()
        assert run.step("train", "run").result == "success", run.shown[-4000:]
        assert not canary.exists(), canary.read_text(encoding="utf-8")
        assert index.requests == []
    assert _outputs(run)["stage"] == "COMPLETED"
