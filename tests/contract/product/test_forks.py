"""A fork's pull request, by the two workflows that we ship: it trains on the runner, and the second stage comments.

The steps are read from docs/workflows, run as processes with the variables that the actions hand over, and what the
first stage uploads is what the second one downloads.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support import events
from support.github_stub import GitHubStub, Token
from support.paths import ROOT, load_yaml
from support.product import Done, Product, clean_environ, make_repo, on_github, read_outputs, read_report

FOLDER = ROOT / "docs" / "workflows"
TRAIN = """\
import sys

for step in range(1, 1 + int(sys.argv[sys.argv.index("--max-steps") + 1]), 10):
    print({"loss": round(1 / step, 3), "epoch": float(step)}, flush=True)
"""
READS, WRITES = "ghs_localfork00001", "ghs_localworkflow1"
SECRET = "hf_localsecret1234567"


def steps_of(name: str) -> list[dict[str, Any]]:
    (job,) = load_yaml(FOLDER / name)["jobs"].values()
    steps: list[dict[str, Any]] = job["steps"]
    return steps


def variables(step: dict[str, Any], temp: Path) -> dict[str, str]:
    """What the action of a step hands to its command."""
    return {
        f"HF_TRAIN_{key.upper().replace('-', '_')}": str(value).replace("${{ runner.temp }}", str(temp))
        for key, value in step["with"].items()
    }


@pytest.fixture
def github() -> Iterator[GitHubStub]:
    """GitHub with the fork's pull request 7 and somebody else's 8."""
    with GitHubStub() as server:
        server.state.add_pull(7, head_repo="stranger/proj")
        server.state.add_pull(8, head_sha="8" * 40)
        server.state.tokens |= {READS: Token(write=False), WRITES: Token()}
        yield server


@pytest.fixture(scope="module")
def artifact(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What the first stage uploads, after it ran as a step of the fork's pull request."""
    scratch = tmp_path_factory.mktemp("fork")
    with GitHubStub() as server:
        server.state.add_pull(7, head_repo="stranger/proj")
        server.state.tokens |= {READS: Token(write=False)}
        yield first_stage(scratch, server)


def first_stage(scratch: Path, github: GitHubStub) -> Path:
    _, train, upload = steps_of("fork-train.yml")
    repo, event, files = (
        make_repo(scratch / "repo", {"train.py": TRAIN}),
        events.load("pull_request_fork"),
        on_github(scratch),
    )
    environ = {
        **event.environ,
        **{name: files[name] for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "RUNNER_TEMP")},
        **variables(train, scratch),
        "GITHUB_EVENT_PATH": str(event.path),
        "GITHUB_API_URL": github.url,
        "GITHUB_WORKSPACE": str(repo),
        "HF_TRAIN_GITHUB_TOKEN": READS,
        "HF_ENDPOINT": "http://127.0.0.1:9",  # no Hub but the embedded one may be asked
    }
    done = subprocess.run(
        [sys.executable, "-I", "-m", "hf_train", "run"],
        cwd=repo,
        env=clean_environ(environ),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert read_outputs(files["GITHUB_OUTPUT"])["stage"] == "COMPLETED"
    assert [one for one in github.requests if one.method != "GET"] == []
    uploaded = repo / upload["with"]["path"]
    assert read_report(uploaded.parent)["pull"] == 7
    out = scratch / "artifact"
    out.mkdir()
    shutil.copy(uploaded, out)  # the artifact of one file holds it by its name alone
    return out


@pytest.fixture
def second(artifact: Path, product: Product, github: GitHubStub, tmp_path: Path) -> tuple[Path, Callable[[], Done]]:
    """The folder that the second stage downloaded, and the stage."""
    fetch, comment = steps_of("fork-report.yml")
    event, files = events.load("workflow_run_fork"), on_github(tmp_path)
    temp = Path(files["RUNNER_TEMP"])
    downloaded = Path(str(fetch["with"]["path"]).replace("${{ runner.temp }}", str(temp)))
    shutil.copytree(artifact, downloaded)
    product.environ = {
        **event.environ,
        **variables(comment, temp),
        "GITHUB_STEP_SUMMARY": files["GITHUB_STEP_SUMMARY"],
        "RUNNER_TEMP": str(temp),
        "GITHUB_EVENT_PATH": str(event.path),
        "GITHUB_API_URL": github.url,
        "HF_TRAIN_GITHUB_TOKEN": WRITES,
    }
    return downloaded, lambda: product.call("merge")


@pytest.mark.case(19, 25)
def test_a_forks_training_is_reported_on_its_pull_request(
    second: tuple[Path, Callable[[], Done]], github: GitHubStub
) -> None:
    _, stage = second
    done = stage()
    assert done.code == 0, done.out
    (comment,) = github.comments(7)
    assert "Training completed" in comment.body or "✅" in comment.body
    assert "0.091" in comment.body
    assert github.comments(8) == []
    assert stage().code == 0
    assert len(github.comments(7)) == 1


def claims(folder: Path) -> None:
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    forged = {"pull": 8, "sha": "8" * 40, "repository": "other/proj", "comment-key": "train / train"}
    (folder / "report.json").write_text(json.dumps({**report, **forged}), encoding="utf-8")


def climbs(folder: Path) -> None:
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    paths = {"comment-file": "../../secret", "report-file": "../../secret", "comment-url": "file:///etc/passwd"}
    (folder / "report.json").write_text(json.dumps({**report, **paths}), encoding="utf-8")


def links(folder: Path) -> None:
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    (folder.parents[1] / "secret").write_text(json.dumps({**report, "metrics": {SECRET: 1.0}}), encoding="utf-8")
    (folder / "report.json").unlink()
    (folder / "report.json").symlink_to(folder.parents[1] / "secret")
    (folder / "deep").symlink_to(folder.parents[1])


def swells(folder: Path) -> None:
    with (folder / "report.json").open("r+b") as stream:
        stream.truncate(1 << 30)


def forges(folder: Path) -> None:
    (folder / "report.json").write_text(
        json.dumps({"schema": 99, "metrics": {"a": 1}, "verdict": "✅"}), encoding="utf-8"
    )


def speaks(folder: Path) -> None:
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    words = "@everyone [click](https://evil.test) <img src=x> \r::set-output name=a::b closes #1"
    report |= {"metrics": {words: 1.0}, "comment-key": words, "reason": words, "job-url": "https://evil.test/"}
    (folder / "report.json").write_text(json.dumps(report), encoding="utf-8")


def nests(folder: Path) -> None:
    (folder / "report.json").write_text("[" * 100_000, encoding="utf-8")


@pytest.mark.case(25, 26)
@pytest.mark.parametrize(
    "hostile", [claims, climbs, links, swells, forges, speaks, nests], ids=lambda one: one.__name__
)
def test_what_a_fork_puts_into_the_artifact_is_data(
    hostile: Callable[[Path], None], second: tuple[Path, Callable[[], Done]], github: GitHubStub, tmp_path: Path
) -> None:
    folder, stage = second
    (folder.parents[1] / "secret").write_text(SECRET, encoding="utf-8")
    hostile(folder)
    done = stage()
    assert done.code in {0, 2}, done.out
    assert done.seconds < 5
    assert github.comments(8) == []
    bodies = [comment.body for comment in github.comments(7)]
    assert len(bodies) <= 1
    text = "".join(bodies)
    assert SECRET not in text + done.out + done.err
    assert all(body.startswith("<!-- hf-train:train / train -->\n") for body in bodies)
    for bad in ("](https://evil.test", "<img", "\n::set-output", "file:///"):
        assert bad not in text
    assert "\n::set-output" not in done.out.replace("\r", "\n")
    if hostile in {links, swells, forges, nests}:
        assert "✅" not in text
