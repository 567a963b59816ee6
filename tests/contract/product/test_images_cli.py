"""`hf-train image pin` and `list`, and the weekly pull request, against a real docker-registry."""

from __future__ import annotations

import json
import os
import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from support.local_hub_process import Hub
from support.paths import ROOT
from support.product import Product, git
from support.registry import Registry

SCRIPT = ROOT / "scripts" / "pins-pull-request.sh"
GH = """\
#!/bin/sh
echo "$@" >> {log}
case "$1 $2" in
    "pr list") cat {prs} ;;
    "pr create") echo 1 > {prs} ;;
esac
"""


@pytest.fixture
def product(account: Hub, tmp_path: Path) -> Product:
    return Product(cwd=tmp_path, environ=account.environ, scratch=tmp_path)


@pytest.mark.case(45)
def test_a_name_follows_its_tag_when_it_is_told_to(product: Product, registry: Registry, tmp_path: Path) -> None:
    file, image = tmp_path / "pins.toml", f"{registry.host}/cli/mine"
    first = registry.image("cli/mine", "v1", env=("CUDA_VERSION=13.0.1",))
    done = product.call("image", "pin", f"mine={image}:v1", "--file", str(file))
    assert (done.code, done.out) == (0, f"mine {image}@{first}\n")
    text = file.read_text(encoding="utf-8")
    assert f'digest = "{first}"' in text
    assert 'cuda = "13.0.1"' in text
    assert f"date = {datetime.now(UTC).date().isoformat()}" in text
    again = product.call("image", "pin", "--update", "--file", str(file))
    assert again.out == f"mine {image}@{first} (as before)\n"
    assert file.read_text(encoding="utf-8") == text
    moved = registry.image("cli/mine", "v1", env=("CUDA_VERSION=13.1.0",))
    product.call("image", "pin", "--update", "--file", str(file))
    assert f'digest = "{moved}"' in file.read_text(encoding="utf-8")
    assert product.call("image", "pin", f"{image}:v1", "mine", "--file", str(file)).out == f"{image}@{moved}\n" * 2


def test_one_name_that_is_gone_does_not_stop_the_others(product: Product, registry: Registry, tmp_path: Path) -> None:
    file = tmp_path / "pins.toml"
    for name in ("one", "two"):
        registry.image(f"cli/{name}", "v1")
        product.call("image", "pin", f"{name}={registry.host}/cli/{name}:v1", "--file", str(file))
    before = file.read_text(encoding="utf-8")
    gone = before.replace("cli/one:v1", "cli/one:gone")
    file.write_text(gone, encoding="utf-8")
    moved = registry.image("cli/two", "v1", env=("A=1",))
    done = product.call("image", "pin", "--update", "--file", str(file))
    assert done.code == 3
    assert "one: No such image" in done.out
    after = file.read_text(encoding="utf-8")
    assert moved in after
    assert "cli/one:gone" in after, "it stays as it was"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("pin",), "name an image, or give --update"),
        (("pin", "Python"), "names are lower case"),
        (("pin", "A B=python:3"), "is not a name for an image"),
        (("verify", "a b"), "is not an image reference"),
        (("build", "--dockerfile", "no"), "there is no file 'no' in the repository"),
        (("build", "--dockerfile", "x", "--build-args", "HF_TOKEN=1"), "put its name under build-secrets"),
    ],
)
def test_what_is_wrong_is_said(product: Product, words: tuple[str, ...], why: str) -> None:
    done = product.call("image", *words)
    assert done.code == 2, done.out
    assert why in done.out


def test_the_list_knows_the_hubs_flavors(product: Product) -> None:
    rows = {row["name"]: row for row in json.loads(product.call("image", "list", "--format", "json").out)}
    assert "a10g-small" in rows["axolotl"]["flavors"]
    assert "cpu-basic" not in rows["axolotl"]["flavors"]
    assert "cpu-basic" in rows["uv"]["flavors"]
    for row in rows.values():
        assert re.fullmatch(r"[a-z0-9./-]+@sha256:[0-9a-f]{64}", row["image"])
    text = product.call("image", "list").out
    assert all(name in text for name in rows)


def test_the_weekly_pull_request(tmp_path: Path) -> None:
    server, checkout = tmp_path / "server" / "octo" / "proj.git", tmp_path / "checkout"
    server.mkdir(parents=True)
    git(server, "init", "--quiet", "--bare", "--initial-branch=main")
    checkout.mkdir()
    git(checkout, "init", "--quiet", "--initial-branch=main")
    (checkout / "images").mkdir()
    (checkout / "scripts").mkdir()
    (checkout / "scripts" / SCRIPT.name).write_bytes(SCRIPT.read_bytes())
    (checkout / "images" / "pins.toml").write_text("a\n", encoding="utf-8")
    git(checkout, "add", "--all")
    git(checkout, "commit", "--quiet", "--message", "x")
    tools, log, prs = tmp_path / "bin", tmp_path / "gh.log", tmp_path / "prs"
    tools.mkdir()
    prs.write_text("", encoding="utf-8")
    (tools / "gh").write_text(GH.format(log=log, prs=prs), encoding="utf-8")
    (tools / "gh").chmod(0o755)
    environ = {
        "PATH": f"{tools}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "GITHUB_SERVER_URL": f"file://{tmp_path}/server",
        "GITHUB_REPOSITORY": "octo/proj",
        "GITHUB_REF_NAME": "main",
    }

    def run() -> str:
        words = ["bash", str(checkout / "scripts" / SCRIPT.name)]
        done = subprocess.run(words, env=environ, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "the same bytes" in run()
    assert not log.exists()
    for text in ("b\n", "c\n"):
        (checkout / "images" / "pins.toml").write_text(text, encoding="utf-8")
        run()
        assert git(server, "show", "pins/weekly:images/pins.toml") == text.strip()
        assert git(server, "log", "-1", "--format=%an", "pins/weekly") == "github-actions[bot]"
        git(checkout, "switch", "--quiet", "main")
    assert log.read_text(encoding="utf-8").count("pr create --head pins/weekly --base main") == 1, (
        "renewed, not doubled"
    )
