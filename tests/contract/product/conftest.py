"""The product on the session's local Hub: a repository, an account, and `hf-train` in this process."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.local_hub_process import Hub
from support.product import TRAIN, Product, make_repo


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A user's repository."""
    return make_repo(tmp_path / "repo", {"train.py": TRAIN, "rate.txt": "1.5\n"})


@pytest.fixture
def product(account: Hub, repo: Path, tmp_path: Path) -> Product:
    """`hf-train` in that repository, with the account's token."""
    return Product(cwd=repo, environ=account.environ, scratch=tmp_path, fast=True)
