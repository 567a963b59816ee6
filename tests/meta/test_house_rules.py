"""Rules of the house that no linter has. `make lint` runs them as well."""

from __future__ import annotations

import re
from collections import Counter
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


# What zizmor does not see (reference case 51), each with a line that must be found: a rule that finds nothing proves
# nothing. `\\` at a line's end is joined with the next line.
BLIND = {
    "pip without hashes": (
        r"^(?!.*apt-get).*\bpip\b[^#]*\binstall\b(?!.*--require-hashes)",
        "python -m pip install -U huggingface_hub",
    ),
    "a tool by name, whatever its version": (r"\b(?:uvx|pipx run|uv tool (?:run|install)|npx)\b", "uvx hf jobs ps"),
    "an image by tag": (
        r"\bdocker (?:run|pull)\b(?!.*@sha256:)(?!.*\"\$)(?! --rm hf-train)",
        "docker run --rm python:3.12 true",
    ),
    "the action's path by expression": (
        r"\$\{\{\s*github\.action_path",
        "run: python ${{ github.action_path }}/main.py",
    ),
    "a secret as an argument": (
        r"--(?:[a-z]+-)?(?:token|password)[= ]\"?\$|echo[^|]*\$\{?\w*(?:TOKEN|SECRET|PASSWORD)\b[^|]*$",
        'hf auth login --token "$HF_TOKEN"',
    ),
    "a stored login": (r"\bhf auth login\b|\bdocker login\b.*(?:-p|--password)[= ]", "hf auth login"),
    "a certificate that is not checked": (
        r"curl[^|]* -[a-zA-Z]*k\b|--insecure\b|--trusted-host|GIT_SSL_NO_VERIFY|sslVerify[= ]false",
        "curl -sk https://x.test",
    ),
    "errors thrown away": (r"\|\| *(?:true|:)(?:\s|$)", "make test || true"),
}


def _joined(path: Path) -> list[str]:
    """Lines of a script, continued ones as one, without those that are all comment."""
    text = path.read_text(encoding="utf-8").replace("\\\n", " ")
    return [line for line in text.split("\n") if not line.lstrip().startswith("#")]


@pytest.mark.case(44, 51)
@pytest.mark.parametrize("rule", BLIND)
def test_what_zizmor_does_not_see(rule: str) -> None:
    pattern, bad = BLIND[rule]
    assert re.search(pattern, bad), "the rule has no force"
    shell = [*SHELL, *sorted((ROOT / "scripts").glob("*.sh"))]
    pardoned = {"errors thrown away": ROOT / "scripts"}.get(rule)
    hits = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in shell
        if pardoned is None or pardoned not in path.parents
        for line in _joined(path)
        if re.search(pattern, line)
    ]
    assert hits == []


@pytest.mark.case(7)
def test_no_debug_switch_of_a_library_is_read() -> None:
    product = [path for path in tracked() if ENTRYPOINT in path.parents and path.suffix == ".py"]
    assert _hits(product, r"HF_DEBUG|ACTIONS_STEP_DEBUG|set_verbosity_debug") == []


@pytest.mark.case(12, 15)
def test_no_process_is_started_by_a_shell_and_nothing_is_evaluated() -> None:
    product = [path for path in tracked() if ENTRYPOINT in path.parents and path.suffix == ".py"]
    started = r"shell=True|os\.system|os\.popen"
    evaluated = r"\beval\((?!\?)|(?<![\w.])exec\(|pickle\.load|yaml\.(?:load|unsafe_load)\(|torch\.load"
    assert _hits(product, f"{started}|{evaluated}", skip=r"^\s*(?:#|\"|`)|``") == []


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


def test_no_two_test_files_have_one_name() -> None:
    """pytest imports them by that name (there are no packages): the second would be an error of whole runs alone."""
    names = Counter(path.name for path in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []
