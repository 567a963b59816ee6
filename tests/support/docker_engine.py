"""The container engine of the tests, and the images that they make themselves, for no image registry can be reached.

Fixtures: `engine` (an engine runs), `base_image` (Debian with Python and git, to build our Dockerfile on) and
`runner_image` (the same with a user like a hosted runner's, to run act's jobs in).
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from support import cache, dockerd

SUITE = "bookworm"
PACKAGES = ("ca-certificates", "git", "python3", "python3-venv")
BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")
# What makes a package index reachable on this machine; its certificates are copied into the images.
NETWORK = (
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "PIP_TRUSTED_HOST",
    "PIP_DEFAULT_TIMEOUT",
    "UV_INDEX_URL",
    "UV_DEFAULT_INDEX",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
)


class Engine:
    """The engine, by its command line."""

    def run(self, *arguments: str, check: bool = True, timeout_s: float = 600) -> subprocess.CompletedProcess[str]:
        """Run `docker ARGUMENTS…`.

        Raises:
            AssertionError: It failed, and `check` is on; the text is docker's own.
        """
        done = subprocess.run(
            ["docker", *arguments],
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "DOCKER_BUILDKIT": "0"},
        )
        if check and done.returncode != 0:
            message = f"docker {' '.join(arguments)} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
            raise AssertionError(message)
        return done

    def has_image(self, name: str) -> bool:
        """Whether an image of this name is there."""
        return self.run("image", "inspect", name, check=False).returncode == 0

    def build(self, context: Path, tag: str, *, build_args: Mapping[str, str], options: Sequence[str] = ()) -> str:
        """Build an image with the classic builder; returns what it printed."""
        arguments = [word for name, value in build_args.items() for word in ("--build-arg", f"{name}={value}")]
        # The builder's own bridge has no name server on some machines; the host's network has.
        done = self.run("build", "--network=host", "--tag", tag, *options, *arguments, str(context))
        return done.stdout


def network_environ() -> dict[str, str]:
    """Variables under which pip and uv reach the package index, on this machine and in our images."""
    found = {name: os.environ[name] for name in NETWORK if os.environ.get(name)}
    if BUNDLE.exists():
        found |= {"PIP_CERT": str(BUNDLE), "SSL_CERT_FILE": str(BUNDLE), "REQUESTS_CA_BUNDLE": str(BUNDLE)}
    return found


def _mirror() -> str | None:
    """The Debian mirror of this machine; None for debootstrap's own choice."""
    files = [*Path("/etc/apt/sources.list.d").glob("*.sources"), *Path("/etc/apt/sources.list.d").glob("*.list")]
    line = re.compile(r"^(?:deb\s+(?:\[[^]]*\]\s+)?|URIs:\s*)(https?://\S+/debian/?)(?=\s|$)", re.MULTILINE)
    for file in [Path("/etc/apt/sources.list"), *sorted(files)]:
        found = line.search(file.read_text(encoding="utf-8", errors="replace")) if file.exists() else None
        if found:
            return found[1]
    return None


def _certificates() -> bytes:
    return BUNDLE.read_bytes() if BUNDLE.exists() else b""


def _rootfs() -> Path:
    """A tar of a small Debian, made once and kept."""
    recipe = "\0".join((SUITE, *PACKAGES)).encode() + _certificates()
    path = cache.folder() / f"rootfs-{hashlib.sha256(recipe).hexdigest()[:12]}.tar"
    if path.exists():
        return path
    debootstrap = shutil.which("debootstrap") or shutil.which("debootstrap", path="/usr/sbin:/sbin")
    if debootstrap is None:
        pytest.fail("debootstrap is not installed (Debian, Ubuntu: apt-get install debootstrap)")
    with tempfile.TemporaryDirectory(dir=cache.folder()) as folder:
        root = Path(folder, "root")
        mirror = _mirror()
        made = subprocess.run(
            [
                debootstrap,
                "--variant=minbase",
                f"--include={','.join(PACKAGES)}",
                SUITE,
                str(root),
                *([mirror] if mirror else []),
            ],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"},
        )
        if made.returncode != 0:
            pytest.fail(f"debootstrap ended with {made.returncode}:\n{made.stdout[-2000:]}\n{made.stderr[-2000:]}")
        for pattern in ("var/cache/apt/archives/*.deb", "var/cache/apt/*.bin", "var/lib/apt/lists/*_*"):
            for file in root.glob(pattern):
                file.unlink()
        if _certificates():
            (root / BUNDLE.relative_to("/")).write_bytes(_certificates())
        half = Path(folder, "half.tar")
        subprocess.run(["tar", "-C", str(root), "-cf", str(half), "."], check=True)
        half.rename(path)
    return path


def _image(engine: Engine, name: str, *changes: str) -> str:
    """An image of the small Debian with changes of `docker import`; its tag is a digest of all that went in."""
    recipe = "\0".join((SUITE, *PACKAGES, *changes)).encode() + _certificates()
    tag = f"hf-train-test/{name}:{hashlib.sha256(recipe).hexdigest()[:12]}"
    with cache.only_one("images"):
        if not engine.has_image(tag):
            words = [word for change in changes for word in ("--change", change)]
            engine.run("import", *words, str(_rootfs()), tag)
    return tag


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    """A running container engine. A test that wants one fails where there is none."""
    try:
        with dockerd.running():
            yield Engine()
    except dockerd.NoEngineError as error:
        pytest.fail(f"no container engine: {error}")


@pytest.fixture(scope="session")
def base_image(engine: Engine) -> str:
    """Name of an image to build our Dockerfile on."""
    return _image(engine, "base", "ENV LANG=C.UTF-8")


@pytest.fixture(scope="session")
def runner_image(engine: Engine) -> str:
    """Name of an image to run act's jobs in. It has no node: our action must not need one."""
    return _image(engine, "runner", "ENV LANG=C.UTF-8", "ENV DEBIAN_FRONTEND=noninteractive")
