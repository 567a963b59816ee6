"""The engine adapter: the words that BuildKit's command line gets, and what a full disk, a secret or a denial says.

No engine of this kind can be had where no registry serves BuildKit, so a stand-in `docker` on the PATH answers as
buildx does (docs.docker.com, `docker buildx build`) and keeps what it was given. The classic builder is in tests/e2e.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from hf_train.engine import DockerBuilder
from hf_train.images.content import ContextFile, Recipe
from hf_train.images.model import Login
from hf_train.images.ports import Order
from hf_train.images.problems import BuildFailed, PushDenied
from hf_train.images.reference import parse_reference
from hf_train.values import Secret

DIGEST = f"sha256:{'d' * 64}"
TARGET = parse_reference("ghcr.io/octo/train:hft-1")
LOGIN = Login(host="ghcr.io", user="mona", password=Secret("ghs_localpassword"))
STAND_IN = """\
#!{python} -I
import json, os, pathlib, sys

here = pathlib.Path({folder!r})
state = json.loads((here / "state.json").read_text())
words = sys.argv[1:]
row = {{"argv": words, "environ": dict(os.environ)}}
if words[:1] == ["login"]:
    row["stdin"] = sys.stdin.read()
    config = pathlib.Path(os.environ["DOCKER_CONFIG"])
    row["config"] = json.loads((config / "config.json").read_text())
    row["mode"] = oct((config / "config.json").stat().st_mode & 0o777)
if words[:2] == ["buildx", "build"]:
    context, dockerfile = pathlib.Path(words[-1]), pathlib.Path(words[words.index("--file") + 1])
    row["dockerfile"] = dockerfile.read_text()
    files = [path for path in sorted(context.rglob("*")) if path.is_symlink() or path.is_file()]
    row["files"] = {{
        str(path.relative_to(context)): [
            oct(path.lstat().st_mode & 0o777),
            path.lstat().st_mtime,
            os.readlink(path) if path.is_symlink() else path.read_text(),
        ]
        for path in files
    }}
    if not state["code"]:
        metadata = pathlib.Path(words[words.index("--metadata-file") + 1])
        metadata.write_text(json.dumps({{"containerimage.digest": state["digest"]}}))
with (here / "calls.jsonl").open("a") as stream:
    stream.write(json.dumps(row) + "\\n")
answers = {{
    "version": "28.0.0 linux",
    "info": state["root"],
    "buildx version": "github.com/docker/buildx v0.29.0",
    "buildx inspect": "Name: builder\\nDriver:          " + state["driver"] + "\\n",
    "image inspect": "",
}}
if words[:2] == ["buildx", "build"]:
    print(state["says"])
    sys.exit(state["code"])
if words[:1] == ["login"]:
    sys.exit(state["login"])
if words[:2] == ["image", "inspect"]:
    sys.exit(1)
print(answers.get(" ".join(words[:2])) or answers.get(words[0], ""))
"""


@dataclass
class StandIn:
    """A `docker` that answers as it is told."""

    folder: Path

    def says(self, **state: Any) -> None:
        before = json.loads((self.folder / "state.json").read_text(encoding="utf-8"))
        (self.folder / "state.json").write_text(json.dumps({**before, **state}), encoding="utf-8")

    def calls(self, *words: str) -> list[dict[str, Any]]:
        path = self.folder / "calls.jsonl"
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
        return [row for row in rows if row["argv"][: len(words)] == list(words)]


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    folder = tmp_path / "stand-in"
    folder.mkdir()
    state = {"driver": "docker-container", "digest": DIGEST, "says": "#1 done", "code": 0, "login": 0, "root": "/"}
    (folder / "state.json").write_text(json.dumps(state), encoding="utf-8")
    program = folder / "docker"
    program.write_text(STAND_IN.format(python=sys.executable, folder=str(folder)), encoding="utf-8")
    program.chmod(0o755)
    own = tmp_path / "own"
    (own / "cli-plugins").mkdir(parents=True)
    (own / "buildx").mkdir()
    auths = {"ghcr.io": {"auth": "b2xk"}, "other.example": {"auth": "a2VwdA=="}}
    kept = {"auths": auths, "credsStore": "desktop", "proxies": {"default": {}}}
    (own / "config.json").write_text(json.dumps(kept), encoding="utf-8")
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("DOCKER_CONFIG", str(own))
    for name in ("HF_TOKEN", "GITHUB_TOKEN", "HF_TRAIN_BUILD_TOKEN", "ACTIONS_RUNTIME_TOKEN"):
        monkeypatch.setenv(name, "hf_localsecret")
    return StandIn(folder)


@pytest.fixture
def recipe(tmp_path: Path) -> Recipe:
    source = tmp_path / "source.py"
    source.write_text("print(1)\n", encoding="utf-8")
    source.chmod(0o600)
    return Recipe(
        dockerfile="docker/Dockerfile",
        text=f"FROM debian@{DIGEST}\n",
        files=(
            ContextFile(path="src/a.py", sha256="a" * 64, size=9, source=source, executable=True),
            ContextFile(path="src/link", sha256="b" * 64, target="a.py"),
        ),
        target="train",
        args={"PYTHON": "3.12"},
        secrets=("NPM",),
        bases=(("debian:12", DIGEST),),
        base_size=1000,
        hash="1" * 64,
    )


def build(recipe: Recipe, login: Login | None = LOGIN, secrets: Mapping[str, str] | None = None, **order: Any) -> str:
    lines: list[str] = []
    given = Order(emit=lines.extend, labels={"org.opencontainers.image.revision": "c" * 40}, **order)
    values = {"NPM": "npm_localvalue"} if secrets is None else secrets
    return DockerBuilder(["hf_localsecret"]).build(
        recipe, TARGET, login, {name: Secret(value) for name, value in values.items()}, given
    )


def test_buildkit_gets_these_words_and_no_secret(docker: StandIn, recipe: Recipe) -> None:
    assert build(recipe, cache_to="hft-cache-pr-7", cache_from=("hft-cache-pr-7", "hft-cache-main")) == DIGEST
    (call,) = docker.calls("buildx", "build")
    words = call["argv"]
    place = words[-1].removesuffix("/context")
    assert words == [
        *("buildx", "build", "--platform", "linux/amd64", "--file", f"{place}/Dockerfile"),
        *("--tag", "ghcr.io/octo/train:hft-1", "--target", "train", "--build-arg", "PYTHON=3.12"),
        *("--label", f"org.opencontainers.image.revision={'c' * 40}", "--progress", "plain"),
        *("--metadata-file", f"{place}/metadata.json", "--push", "--secret", "id=NPM,env=NPM"),
        *("--sbom", "true", "--provenance", "mode=min"),
        *("--cache-from", "type=registry,ref=ghcr.io/octo/train:hft-cache-pr-7"),
        *("--cache-from", "type=registry,ref=ghcr.io/octo/train:hft-cache-main"),
        *("--cache-to", "type=registry,ref=ghcr.io/octo/train:hft-cache-pr-7,mode=max,ignore-error=true"),
        f"{place}/context",
    ]
    assert call["environ"]["NPM"] == "npm_localvalue"
    assert call["dockerfile"] == recipe.text
    assert call["files"] == {
        "src/a.py": ["0o755", 1577836800.0, "print(1)\n"],
        "src/link": ["0o777", 1577836800.0, "a.py"],
    }
    assert not Path(place).exists(), "nothing is left on disk"


@pytest.mark.case(46)
def test_no_token_of_ours_is_in_the_environment_of_a_build(docker: StandIn, recipe: Recipe) -> None:
    build(recipe)
    for call in docker.calls():
        assert "hf_localsecret" not in json.dumps(call)
        assert "ghs_localpassword" not in json.dumps({**call, "stdin": ""})
        if call["argv"][:2] != ["buildx", "build"]:
            assert "npm_localvalue" not in json.dumps(call)


def test_the_password_is_on_stdin_and_the_login_leaves_nothing(docker: StandIn, recipe: Recipe) -> None:
    build(recipe)
    (login,) = docker.calls("login")
    assert login["argv"] == ["login", "--username", "mona", "--password-stdin", "ghcr.io"]
    assert login["stdin"] == "ghs_localpassword"
    assert login["config"] == {"auths": {"other.example": {"auth": "a2VwdA=="}}, "proxies": {"default": {}}}
    assert login["mode"] == "0o600"
    own = login["environ"]["DOCKER_CONFIG"]
    (call,) = docker.calls("buildx", "build")
    assert call["environ"]["DOCKER_CONFIG"] == own
    assert call["environ"]["BUILDX_CONFIG"].endswith("/own/buildx")
    assert not Path(own).exists()


def test_without_a_login_the_users_own_is_used(docker: StandIn, recipe: Recipe) -> None:
    build(recipe, login=None)
    assert docker.calls("login") == []
    (call,) = docker.calls("buildx", "build")
    assert call["environ"]["DOCKER_CONFIG"].endswith("/own")


def test_the_driver_docker_has_no_cache_and_no_attestation(docker: StandIn, recipe: Recipe) -> None:
    docker.says(driver="docker")
    assert build(recipe, cache_to="hft-cache-x", cache_from=("hft-cache-x",)) == DIGEST
    (call,) = docker.calls("buildx", "build")
    text = " ".join(call["argv"])
    assert "--provenance false" in text
    assert "cache" not in text
    assert "--sbom" not in text


@pytest.mark.case(116, 117)
@pytest.mark.parametrize(
    ("says", "kind", "title", "code"),
    [
        ("#9 ERROR: process did not complete successfully: exit code: 1", BuildFailed, "Build failed", 2),
        ("write /x: no space left on device", BuildFailed, "Disk full", 2),
        ("#12 exporting to image\n#12 pushing layers\nERROR: denied: permission_denied", PushDenied, "Push denied", 3),
        ("#12 exporting to image\nERROR: failed to push ghcr.io/x: 500", PushDenied, "Push failed", 3),
        ("#3 RUN ./configure\n#3 permission denied", BuildFailed, "Build failed", 2),
    ],
)
def test_one_message_for_each_way_to_fail(
    docker: StandIn, recipe: Recipe, says: str, kind: type[BuildFailed], title: str, code: int
) -> None:
    docker.says(code=1, says=says)
    with pytest.raises(BuildFailed) as caught:
        build(recipe)
    assert (type(caught.value), caught.value.title, int(caught.value.exit_code)) == (kind, title, code)
    assert caught.value.lines[-1] == says.splitlines()[-1]
    assert "No Job was started." in caught.value.hint


def test_a_password_that_is_not_taken(docker: StandIn, recipe: Recipe) -> None:
    docker.says(login=1)
    with pytest.raises(PushDenied, match="does not take the password of mona"):
        build(recipe)
    assert docker.calls("buildx", "build") == []


@pytest.mark.case(46)
@pytest.mark.parametrize("where", ["file", "dockerfile", "argument", "edge"])
def test_a_secret_in_what_is_built_stops_it(docker: StandIn, recipe: Recipe, tmp_path: Path, where: str) -> None:
    leak = tmp_path / "leak"
    leak.write_text(("x" * ((1 << 20) - 7) if where == "edge" else "") + "hf_localsecret", encoding="utf-8")
    file = ContextFile(path="leak.txt", sha256="c" * 64, source=leak)
    bad = {
        "file": replace(recipe, files=(*recipe.files, file)),
        "edge": replace(recipe, files=(*recipe.files, file)),
        "dockerfile": replace(recipe, text=recipe.text + "ENV A=hf_localsecret\n"),
        "argument": replace(recipe, args={"A": "hf_localsecret"}),
    }[where]
    with pytest.raises(BuildFailed, match="A secret of this step stands in") as caught:
        build(bad)
    assert "hf_localsecret" not in str(caught.value)
    assert docker.calls("buildx", "build") == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 16 MB, loop-mounted."""
    picture, place = tmp_path / "disk.img", tmp_path / "disk"
    place.mkdir()
    with picture.open("wb") as stream:
        stream.truncate(16 << 20)
    subprocess.run(["mkfs.ext4", "-q", str(picture)], check=True, capture_output=True)
    subprocess.run(["mount", "-o", "loop", str(picture), str(place)], check=True, capture_output=True)
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.case(117)
def test_a_disk_that_is_too_small_is_seen_before_the_build(docker: StandIn, recipe: Recipe, small_disk: Path) -> None:
    docker.says(root=str(small_disk))
    assert build(recipe) == DIGEST
    with pytest.raises(BuildFailed) as caught:
        build(replace(recipe, base_size=8_000_000))
    assert caught.value.title == "Not enough disk"
    assert "0.01 GB packed, about 0.02 GB" in caught.value.message
    assert "image: trl" in caught.value.hint
    assert len(docker.calls("buildx", "build")) == 1


@pytest.mark.case(121)
def test_a_machine_without_docker(docker: StandIn, recipe: Recipe, monkeypatch: pytest.MonkeyPatch) -> None:
    (docker.folder / "docker").unlink()
    monkeypatch.setenv("PATH", str(docker.folder))
    with pytest.raises(BuildFailed, match="there is no docker on this machine") as caught:
        build(recipe)
    assert "hf.co/spaces/OWNER/NAME" in caught.value.hint
