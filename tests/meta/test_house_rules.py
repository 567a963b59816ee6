"""Rules of the house that no linter has. `make lint` runs them as well."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from support.paths import ACTION, ENTRYPOINT, ROOT, WORKFLOWS, load_yaml, tracked

SHELL = (ACTION, ENTRYPOINT / "setup.sh", ROOT / "Dockerfile", *sorted(WORKFLOWS.glob("*.yml")))
_BINARY = {".png", ".npz", ".parquet", ".safetensors", ".gz"}
_CAPTURED = ROOT / "tests" / "fixtures" / "logs"  # logs of others, kept as they were printed
TEXTS = [path for path in tracked() if path.suffix not in _BINARY and _CAPTURED not in path.parents]
HERE = Path(__file__)


def _hits(paths: Iterable[Path], pattern: str, *, skip: str = "") -> list[str]:
    rule, pardon = re.compile(pattern), re.compile(skip) if skip else None
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in paths
        if path != HERE
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if rule.search(line) and not (pardon and pardon.search(line))
    ]


def _steps() -> list[dict[str, Any]]:
    steps = list(load_yaml(ACTION)["runs"]["steps"])
    for path in WORKFLOWS.glob("*.yml"):
        steps += [step for job in load_yaml(path)["jobs"].values() for step in job["steps"]]
    return steps


@pytest.mark.case(12)
def test_no_expression_is_pasted_into_a_script() -> None:
    assert [step["run"] for step in _steps() if "${{" in step.get("run", "")] == []


@pytest.mark.case(42, 51)
def test_every_python_of_ours_is_isolated() -> None:
    python = r"(?:python3?|\$python|\$\{?venv\}?/bin/python|\$VENV/bin/python|\$1)\"? +-(?!I|-version)"
    assert _hits(SHELL, r"(?:^|[\s\"(/])" + python, skip=r"^\s*#|apt-get|--python") == []


@pytest.mark.case(14)
def test_nothing_is_written_for_later_steps() -> None:
    written = r"GITHUB_(?:ENV|PATH)\b"
    product = [path for path in tracked() if ENTRYPOINT in path.parents]
    assert _hits([*SHELL, *product], written) == []


@pytest.mark.case(49, 51)
def test_nothing_is_piped_into_a_shell_or_evaluated() -> None:
    assert _hits([*SHELL, *(ROOT / "scripts").glob("*.sh")], r"(?:curl|wget)\b.*\|\s*\w*sh\b|\beval\b") == []


@pytest.mark.case(7, 51)
def test_no_trace_is_switched_on_and_no_verdict_is_thrown_away() -> None:
    assert _hits([ACTION, ENTRYPOINT / "setup.sh"], r"\bset -[a-z]*x|\|\| *true\b|set \+e") == []


def test_no_file_names_a_package_indexs_host() -> None:
    hosts = ["py" + "pi.org", "python" + "hosted.org", "registry.npm" + "js.org", "deb.debian" + ".org"]
    assert _hits(TEXTS, "|".join(re.escape(host) for host in hosts)) == []


def test_no_file_names_a_path_of_the_machine_that_it_was_written_on() -> None:
    assert _hits(TEXTS, r"/work/(?:main|shared|\.)|/tmp/lab\b|/opt/(?:wheels|pypi)\b|/root/\.") == []


@pytest.mark.parametrize(
    "path", [ROOT / ".ci" / "run", *sorted((ROOT / "scripts").glob("*.sh")), ENTRYPOINT / "setup.sh"]
)
def test_scripts_can_be_run_and_stop_at_the_first_error(path: Path) -> None:
    assert path.stat().st_mode & 0o111
    text = path.read_text(encoding="utf-8")
    assert text.startswith("#!/usr/bin/env bash\n")
    assert "\nset -euo pipefail\n" in text


def test_ci_runs_the_whole_suite() -> None:
    text = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "exec make test" in text
