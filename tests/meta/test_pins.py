"""Everything that others could change under our feet is pinned: packages, images, actions."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from support.paths import DOCKERFILE, LOCKS, ROOT, WORKFLOWS, load_yaml

ENTRY = re.compile(r"^(?P<name>[a-z0-9][a-z0-9.-]*)==(?P<version>[^\s;]+)(?P<marker> ; [^\\]+)?(?P<more> \\)?$")
HASH = re.compile(r"^    --hash=sha256:[0-9a-f]{64}(?P<more> \\)?$")


def pins(path: Path) -> dict[str, tuple[str, int]]:
    """Package and marker to version and number of hashes; fails on a line that is not of a lock.

    One package may stand in a lock several times, for ranges of Python.
    """
    found: dict[str, tuple[str, int]] = {}
    name = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.lstrip().startswith("#"):
            continue
        if match := ENTRY.match(line):
            name = match["name"] + (match["marker"] or "")
            assert name not in found, f"{name} is pinned twice"
            found[name] = (match["version"], 0)
        else:
            assert HASH.match(line), line
            version, count = found[name]
            found[name] = (version, count + 1)
    return found


def names(path: Path) -> set[str]:
    """The packages of a lock."""
    return {entry.split(" ; ")[0] for entry in pins(path)}


def _wanted(requirements: list[str]) -> set[str]:
    return {re.split(r"[^A-Za-z0-9._-]", text)[0].lower().replace("_", "-") for text in requirements}


@pytest.mark.case(44)
@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_every_package_has_hashes(path: Path) -> None:
    assert [name for name, (_, count) in pins(path).items() if not count] == []


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_a_lock_names_no_host_and_no_file(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"://|--index|--extra-index|--find-links|^-e |^\.", text, re.MULTILINE)


def test_the_locks_hold_what_the_project_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    runtime = _wanted(project["project"]["dependencies"])
    local = runtime | _wanted(project["project"]["optional-dependencies"]["local"])
    dev = local | _wanted(project["dependency-groups"]["dev"])
    for path, wanted in zip(LOCKS, (runtime, local, dev), strict=True):
        assert wanted - names(path) == set(), path.name


def test_the_locks_agree_with_each_other() -> None:
    runtime, local, dev = ({(name.split(" ; ")[0], pin[0]) for name, pin in pins(path).items()} for path in LOCKS)
    assert runtime <= local <= dev


def test_the_local_hub_is_not_in_the_actions_lock() -> None:
    assert names(LOCKS[0]).isdisjoint({"starlette", "uvicorn", "numpy", "docker", "uv", "pytest"})


def test_the_image_is_built_on_a_digest_from_the_lock() -> None:
    text = DOCKERFILE.read_text(encoding="utf-8")
    (base,) = re.findall(r"^ARG BASE=(\S+)$", text, re.MULTILINE)
    assert re.fullmatch(r"[a-z0-9./-]+:[a-z0-9.-]+@sha256:[0-9a-f]{64}", base)
    assert re.findall(r"^FROM .*$", text, re.MULTILINE) == ["FROM ${BASE}"]
    assert "--require-hashes --only-binary :all: --no-deps -r /opt/hf-train/entrypoint/requirements.txt" in text


def test_the_image_runs_isolated_and_not_as_root_and_needs_no_buildkit() -> None:
    text = DOCKERFILE.read_text(encoding="utf-8")
    assert text.rstrip().endswith('ENTRYPOINT ["/opt/hf-train/venv/bin/python", "-I", "-m", "hf_train"]')
    assert re.findall(r"^USER (.*)$", text, re.MULTILINE) == ["10001"]
    assert not re.search(r"^# syntax|--mount=|^(?:COPY|RUN) <<|--chmod|--link", text, re.MULTILINE)


def _jobs() -> list[tuple[str, dict[str, Any]]]:
    return [
        (f"{path.name}:{name}", job)
        for path in sorted(WORKFLOWS.glob("*.yml"))
        for name, job in load_yaml(path)["jobs"].items()
    ]


@pytest.mark.case(27)
@pytest.mark.parametrize("path", sorted(WORKFLOWS.glob("*.yml")), ids=lambda path: path.name)
def test_a_workflow_starts_with_no_permission(path: Path) -> None:
    assert load_yaml(path)["permissions"] == {}


@pytest.mark.case(41)
@pytest.mark.parametrize(("name", "job"), _jobs(), ids=lambda value: value if isinstance(value, str) else "")
def test_a_workflow_calls_actions_by_commit_only(name: str, job: dict[str, Any]) -> None:
    for step in job.get("steps", []):
        used = step.get("uses", "./")
        assert used == "./" or re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}", used), (name, used)
        if used.startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False
    assert "timeout-minutes" in job


def _of_pull_requests() -> list[Path]:
    """Workflows whose jobs a branch rule can require; it then names one job."""
    return [path for path in sorted(WORKFLOWS.glob("*.yml")) if "  pull_request:" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", _of_pull_requests(), ids=lambda path: path.name)
def test_one_job_waits_for_all_others(path: Path) -> None:
    jobs = load_yaml(path)["jobs"]
    assert sorted(jobs["all-green"]["needs"]) == sorted(set(jobs) - {"all-green"})
    assert jobs["all-green"]["if"] == "always()"
    (step,) = jobs["all-green"]["steps"]
    assert step["run"].count("success") == len(jobs) - 1
