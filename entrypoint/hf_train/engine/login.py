"""A login that leaves nothing behind: a `DOCKER_CONFIG` of its own, the password on stdin."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hf_train.engine.command import Docker
from hf_train.images.model import Login
from hf_train.images.problems import PushDenied


@contextlib.contextmanager
def logged_in(login: Login | None) -> Iterator[dict[str, str]]:
    """Variables for `docker` under which it is logged in; the user's own logins when there is nobody to log in.

    Raises:
        PushDenied: The registry does not take the password.
    """
    if login is None:
        yield {}
        return
    with tempfile.TemporaryDirectory(prefix="hf-train-docker-") as folder:
        own = Path(os.environ.get("DOCKER_CONFIG") or Path.home() / ".docker")
        place = Path(folder)
        (place / "config.json").write_text(json.dumps(_kept(own, login.host)), encoding="utf-8")
        (place / "config.json").chmod(0o600)
        for name in ("cli-plugins", "contexts"):
            if (own / name).is_dir():
                (place / name).symlink_to((own / name).resolve())
        environ = {"DOCKER_CONFIG": folder}
        if not os.environ.get("BUILDX_CONFIG") and (own / "buildx").is_dir():
            environ["BUILDX_CONFIG"] = str((own / "buildx").resolve())
        words = ("login", "--username", login.user, "--password-stdin", login.host)
        done = Docker(environ=environ).ask(*words, stdin=login.password.reveal())
        if done.code != 0:
            title, text = "Login failed", f"{login.host} does not take the password of {login.user}: {done.words}"
            raise PushDenied(
                title, text, "Check build-user and build-token (GHCR: packages: write). No Job was started."
            )
        yield environ


def _kept(own: Path, host: str) -> dict[str, Any]:
    """The user's configuration without this registry's login and without the store that a login would be kept in."""
    try:
        loaded = json.loads((own / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        loaded = {}
    kept = {name: value for name, value in loaded.items() if name != "credsStore"} if isinstance(loaded, dict) else {}
    for name in ("auths", "credHelpers"):
        if isinstance(kept.get(name), dict):
            kept[name] = {key: value for key, value in kept[name].items() if host not in key}
    return kept
