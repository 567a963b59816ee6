"""What the heavy libraries' trainings stand on: `make test-libraries` alone runs them, `make test` does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import training_env
from support.local_hub_process import Hub
from support.paths import ROOT
from support.training_runs import Trainings


@pytest.fixture
def axolotl(account: Hub, tmp_path: Path) -> Trainings:
    """Trainings with Axolotl (4.3 GB, once per machine)."""
    env = training_env.get(ROOT / "examples" / "axolotl-lora" / "requirements.txt", name="axolotl")
    return Trainings.make(account, env, tmp_path)


@pytest.fixture
def unsloth(account: Hub, tmp_path: Path) -> Trainings:
    """Trainings with Unsloth (2.9 GB, once per machine)."""
    # The index's torchvision fits its own build of torch only, and stops the import beside another one.
    requirements = ROOT / "examples" / "unsloth-sft" / "requirements.txt"
    env = training_env.get(requirements, name="unsloth", without=("torchvision",))
    return Trainings.make(account, env, tmp_path)
