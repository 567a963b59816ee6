"""Images for real: an engine, a registry, a local Hub that runs Jobs in containers; build, push, pin, launch."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from huggingface_hub import HfApi

from hf_train.local_hub.pytest import LocalHubHandle, running
from support import registry as registries
from support.docker_engine import Engine
from support.product import Done, Product, commit, make_repo, write
from support.registry import Registry

pytestmark = pytest.mark.docker
DOCKERFILE = """\
ARG BASE
FROM ${BASE}
COPY requirements.txt /opt/requirements.txt
RUN wc -l < /opt/requirements.txt > /opt/lines
COPY src /opt/src
"""
FILES = {
    "docker/train.Dockerfile": DOCKERFILE,
    "requirements.txt": "torch==2.13.0\n",
    "src/train.py": "print({'loss': 0.5, 'epoch': 1.0})\nprint('first')\n",
    ".dockerignore": "notes\n*.md\n",
    ".gitignore": "*.tmp\n",
    "README.md": "Hello\n",
}
PUSHES = ("PUT", "POST", "PATCH")


@dataclass(frozen=True, kw_only=True)
class Base:
    """The tests' Debian in the registry."""

    name: str
    digest: str


@pytest.fixture(scope="module")
def base(engine: Engine, base_image: str, registry: Registry) -> Iterator[Base]:
    name = f"{registry.host}/base/debian"
    engine.run("tag", base_image, f"{name}:12")
    engine.run("push", f"{name}:12")
    (found,) = json.loads(engine.run("image", "inspect", "--format", "{{json .RepoDigests}}", f"{name}:12").stdout)
    yield Base(name=f"{name}:12", digest=found.partition("@")[2])
    mine = engine.run("images", "--format", "{{.Repository}}:{{.Tag}}", "--filter", "reference=127.0.0.1:*/*/*").stdout
    engine.run("image", "rm", *mine.split(), check=False)


@pytest.fixture(scope="module")
def hub(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalHubHandle]:
    """A Hub that runs Jobs in containers."""
    with running(tmp_path_factory.mktemp("image-hub"), "--executor", "docker") as handle:
        yield handle


@pytest.fixture
def product(hub: LocalHubHandle, tmp_path: Path) -> Product:
    repo = make_repo(tmp_path / "repo", FILES)
    environ = {"HF_ENDPOINT": hub.endpoint, "HF_TOKEN": hub.token, "DOCKER_CONFIG": str(tmp_path / "docker")}
    return Product(cwd=repo, environ=environ, scratch=tmp_path)


def jobs(hub: LocalHubHandle) -> int:
    return len(list(HfApi(endpoint=hub.endpoint, token=hub.token).list_jobs(namespace=hub.user)))


def train(product: Product, base: Base, host: str, name: str, *more: str) -> Done:
    where = ("--build-repository", f"{host}/{name}", "--build-args", f"BASE={base.name}")
    words = ("--dockerfile", "docker/train.Dockerfile", *where, "--timeout", "5m", *more)
    return product.start(*words, "--", "python3", "/opt/src/train.py").done(120)


def builds(product: Product, base: Base, registry: Registry, name: str) -> Done:
    where = ("--build-repository", f"{registry.host}/{name}", "--build-args", f"BASE={base.name}")
    return product.call("image", "build", "--dockerfile", "docker/train.Dockerfile", *where)


@pytest.mark.case(45)
def test_build_push_pin_and_the_job_runs_on_these_bytes(
    product: Product, base: Base, registry: Registry, hub: LocalHubHandle
) -> None:
    done = train(product, base, registry.host, "e2e/train")
    assert done.code == 0, done.out
    image = done.report["image"]
    assert re.fullmatch(rf"{registry.host}/e2e/train@sha256:[0-9a-f]{{64}}", image)
    job = hub.job(done.report["job-id"])
    assert job["dockerImage"] == image
    assert job["labels"]["hft-image"] == image.partition("@")[2].replace(":", "-")
    assert "first" in done.job_lines
    assert re.search(r"Step 2/\d+ : FROM", done.out)
    assert base.digest in done.out, "the base by digest"
    before = {method: len(registry.requests(method)) for method in PUSHES}
    again = train(product, base, registry.host, "e2e/train", "--reuse", "never")
    assert again.code == 0, again.out
    assert again.report["image"] == image
    assert "nothing is built" in again.out
    assert "Step " not in again.out
    assert {method: len(registry.requests(method)) for method in PUSHES} == before


def test_nothing_changed_is_quick_and_one_line_is_one_layer(product: Product, base: Base, registry: Registry) -> None:
    first = builds(product, base, registry, "e2e/layers")
    assert first.code == 0, first.out
    before = {method: len(registry.requests(method)) for method in PUSHES}
    (product.cwd / "scratch.tmp").write_text("git ignores it", encoding="utf-8")
    write(
        product.cwd, {"README.md": "the build ignores it\n", "notes/a.txt": "and this\n", "elsewhere.py": "no COPY\n"}
    )
    commit(product.cwd)
    same = builds(product, base, registry, "e2e/layers")
    assert same.seconds < 2.0
    assert same.out.splitlines()[-1] == first.out.splitlines()[-1]
    assert {method: len(registry.requests(method)) for method in PUSHES} == before, "0 bytes are pushed"
    write(product.cwd, {"src/train.py": "print('second')\n"})
    commit(product.cwd)
    other = builds(product, base, registry, "e2e/layers")
    assert other.code == 0, other.out
    assert other.out.splitlines()[-1] != first.out.splitlines()[-1]
    assert other.out.count("Using cache") >= 2, "what stands before the changed line"
    stored = [line for line in registry.requests("PUT") if "/blobs/uploads/" in line][before["PUT"] :]
    assert other.out.count(": Pushed") == 1
    assert other.out.count("Layer already exists") >= 3
    assert len(stored) <= 2, "one layer and one config"


@pytest.mark.case(116)
def test_a_build_that_fails_shows_its_last_lines_and_starts_no_job(
    product: Product, base: Base, registry: Registry, hub: LocalHubHandle
) -> None:
    before = jobs(hub)
    loud = "RUN seq 1 60 && echo '::error::gotcha' && false\n"
    write(product.cwd, {"docker/train.Dockerfile": DOCKERFILE + loud})
    commit(product.cwd)
    done = train(product, base, registry.host, "e2e/fails")
    assert done.code == 2, done.out
    tail = done.out.partition("The last 40 lines of the build:")[2]
    assert "| 60" in tail
    assert "| 20\n" not in tail
    assert not [line for line in done.out.splitlines() if line.startswith("::")]
    assert "error: Build failed: docker ended with 1 while building docker/train.Dockerfile." in done.out
    assert jobs(hub) == before


@pytest.mark.case(116)
def test_a_push_that_is_denied_starts_no_job(product: Product, base: Base, hub: LocalHubHandle, tmp_path: Path) -> None:
    before = jobs(hub)
    with registries.stub() as closed:
        closed.always("/v2/", 200)
        # Not 403: Docker tries that five times, for a minute.
        errors = b'{"errors": [{"code": "UNAUTHORIZED", "message": "requested access to the resource is denied"}]}'
        closed.always("POST /v2/e2e/train/blobs/uploads/*", 401, errors, Content_Type="application/json")
        denied = train(product, base, closed.host, "e2e/train")
    assert denied.code == 3, denied.out
    assert f"Push denied: {closed.host} does not take {closed.host}/e2e/train:hft-" in denied.out
    assert jobs(hub) == before


@pytest.mark.case(119)
def test_a_registry_that_wants_a_password(product: Product, base: Base, hub: LocalHubHandle, tmp_path: Path) -> None:
    passwords = tmp_path / "htpasswd"
    passwords.write_text("mona:$2y$05$nobodyknowsthispasswordnobodyknowsthispasswordnobodykn\n", encoding="utf-8")
    before = jobs(hub)
    auth = f"auth: {{htpasswd: {{realm: tests, path: {passwords}}}}}"
    with registries.running(tmp_path / "closed", auth) as closed:
        private = train(product, base, closed.host, "e2e/train")
        token = {"HF_TRAIN_BUILD_TOKEN": "ghs_localwrong"}
        wrong = train(replace(product, environ={**product.environ, **token}), base, closed.host, "e2e/train")
    assert private.code == 3, private.out
    assert "without a password (401): it is private, or it does not exist" in private.out
    assert wrong.code == 3, wrong.out
    assert f"{closed.host} does not take the password of hf-train" in wrong.out
    assert "ghs_localwrong" not in wrong.out
    assert jobs(hub) == before


# ---- verify ----


def imported(engine: Engine, tmp_path: Path, name: str, files: dict[str, bytes]) -> str:
    """An image of nothing but these files."""
    root = tmp_path / name
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
        (root / path).chmod(0o755)
    archive = tmp_path / f"{name}.tar"
    subprocess.run(["tar", "-C", str(root), "-cf", str(archive), "."], check=True)
    engine.run("import", str(archive), f"127.0.0.1:9/e2e/{name}:v1")
    return f"127.0.0.1:9/e2e/{name}:v1"


def test_an_image_that_a_training_could_start_in(product: Product, base_image: str) -> None:
    done = product.call("image", "verify", base_image)
    assert done.code == 0, done.out
    assert "✓ platform: linux/amd64" in done.out
    assert re.search(r"✓ python3: 3\.\d+\.\d+", done.out)
    assert "! writable HOME as user 12345" in done.out, "a note: it runs as root"


@pytest.mark.case(120)
def test_what_is_missing_is_named(product: Product, base_image: str, tmp_path: Path) -> None:
    smoke = tmp_path / "smoke.py"
    smoke.write_text("print('::error::hello')\nraise SystemExit('this GPU is too small')\n", encoding="utf-8")
    words = ("--library", "trl", "--multi-gpu", "--uv", "--smoke", str(smoke))
    done = product.call("image", "verify", base_image, *words)
    assert done.code == 2
    assert "✗ trl: ModuleNotFoundError: No module named 'trl'" in done.out
    assert "✗ smoke.py: this GPU is too small" in done.out
    assert done.out.rstrip().endswith("trl, accelerate or torchrun, uv, smoke.py")
    assert not [line for line in done.out.splitlines() if line.startswith("::")]


@pytest.mark.case(118, 120)
def test_an_image_without_a_shell_or_for_another_machine(product: Product, engine: Engine, tmp_path: Path) -> None:
    # An ELF header for arm64 (e_machine 0xb7) behind a manifest that says amd64.
    arm = b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00\xb7\x00" + bytes(44)
    bare = product.call("image", "verify", imported(engine, tmp_path, "bare", {"readme": b"x"}))
    lying = product.call("image", "verify", imported(engine, tmp_path, "lying", {"bin/sh": arm}))
    assert (bare.code, lying.code) == (2, 2)
    assert "✗ shell: there is no /bin/sh" in bare.out
    assert "✗ platform: its programs are for another machine than linux/amd64" in lying.out
