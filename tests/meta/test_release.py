"""The release: built with locked tools, apart from where it is signed, and never from a cache."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from support.paths import ROOT, WORKFLOWS, load_yaml

TEXT = (WORKFLOWS / "release.yml").read_text(encoding="utf-8")
JOBS = load_yaml(WORKFLOWS / "release.yml")["jobs"]


@pytest.mark.case(47, 50)
def test_what_can_sign_and_publish_installs_nothing_and_asks_a_maintainer() -> None:
    assert load_yaml(WORKFLOWS / "release.yml")["permissions"] == {}
    assert JOBS["build"]["permissions"] == {"contents": "read"}
    assert JOBS["publish"]["permissions"] == {"attestations": "write", "contents": "write", "id-token": "write"}
    assert JOBS["publish"]["environment"] == "release"
    used = [step["uses"].partition("@")[0] for step in JOBS["publish"]["steps"] if "uses" in step]
    assert used == ["actions/download-artifact", "actions/attest-build-provenance"]
    run = [step["run"].split()[0] for step in JOBS["publish"]["steps"] if "run" in step]
    assert run == ["sha256sum", "cp", "gh"]
    assert "cache" not in re.sub(r"#.*", "", TEXT)


@pytest.mark.case(44, 50)
def test_its_tools_are_locked_by_hash() -> None:
    script = (ROOT / "scripts" / "release.sh").read_text(encoding="utf-8")
    assert "--require-hashes" in script
    assert "--build-constraints requirements-build.txt" in script
    lock = (ROOT / "requirements-build.txt").read_text(encoding="utf-8")
    pins = re.findall(r"^[a-z0-9-]+==.*\n((?:    --hash=sha256:[0-9a-f]{64}.*\n)*)", lock, re.MULTILINE)
    assert "hatchling==" in lock
    assert pins
    assert all(pins), "a pin without a hash"


@pytest.mark.case(50)
@pytest.mark.parametrize(("tag", "why"), [("v9.9.9", "the tag is v9.9.9"), ("v0.1.0", "CHANGELOG.md has no '## 0.1.0")])
def test_a_tag_that_does_not_fit_is_refused(tag: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "entrypoint" / "hf_train").mkdir(parents=True)
    (tmp_path / "entrypoint" / "hf_train" / "__init__.py").write_text('__version__ = "0.1.0"\n', encoding="utf-8")
    (tmp_path / "CHANGELOG.md").write_text("# Changes\n\n## Unreleased\n", encoding="utf-8")
    script = shutil.copy(ROOT / "scripts" / "release.sh", tmp_path / "scripts")
    done = subprocess.run([script, tag], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert why in done.stderr
    assert not (tmp_path / "dist").exists()
