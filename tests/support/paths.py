"""Where things are in the repository."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
ACTION = ROOT / "action.yml"
DOCKERFILE = ROOT / "Dockerfile"
ENTRYPOINT = ROOT / "entrypoint"
WORKFLOWS = ROOT / ".github" / "workflows"
LOCKS = (ENTRYPOINT / "requirements.txt", ENTRYPOINT / "requirements-local.txt", ROOT / "requirements-dev.txt")


def load_yaml(path: Path) -> dict[str, Any]:
    """A YAML file that holds a mapping. YAML 1.1 reads the key `on` as true; it is given back as `on`."""
    loaded = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert isinstance(loaded, dict), path
    return {("on" if key is True else key): value for key, value in loaded.items()}


def tracked() -> list[Path]:
    """Every file under version control, or about to be."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    ).stdout
    return [path for name in listed.decode().split("\0") if name and (path := ROOT / name).is_file()]
