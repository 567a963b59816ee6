"""The pytest plugin, as another project uses it: with the very example of docs/local-hub.md."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import hf_train
from hf_train.local_hub.faults import parse

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "docs" / "local-hub.md"
PACKAGE = str(Path(hf_train.__file__).parents[1])


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)


def test_the_example_of_the_docs(tmp_path: Path) -> None:
    (tmp_path / "test_example.py").write_text(
        blocks("python")[0]
        + "\n\ndef test_state_is_clean(local_hub):\n    assert (local_hub.jobs(), local_hub.requests()) == ([], [])\n"
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *plugin()],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": PACKAGE, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "3 passed" in done.stdout, done.stdout + done.stderr


def plugin() -> list[str]:
    """Loaded by its entry point where the package is installed, else by name."""
    code = "import importlib.metadata as m; print([e.value for e in m.entry_points(group='pytest11')])"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    return [] if "hf_train.local_hub.pytest" in done.stdout else ["-p", "hf_train.local_hub.pytest"]


def test_it_costs_nothing_where_it_is_not_used() -> None:
    code = (
        "import sys, pytest; before = set(sys.modules); import hf_train.local_hub.pytest; "
        "print(*sorted({name.split('.')[0] for name in set(sys.modules) - before} - sys.stdlib_module_names))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": PACKAGE, "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["hf_train"]


def test_faults_of_the_docs_can_be_read_and_all_are_told() -> None:
    from hf_train.local_hub import faults

    for line in blocks("text")[0].splitlines():
        parse(line)
    text = DOCS.read_text("utf-8")
    options = {*faults._ROUTE_OPTIONS, *faults._LOG_OPTIONS, *faults._JOB_OPTIONS}
    assert {name for name in options if f"{name}" not in text} == set()
    assert all(f"{name}" in (faults.__doc__ or "") for name in options)
