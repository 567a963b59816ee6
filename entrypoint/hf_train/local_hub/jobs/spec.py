"""The Job spec of a request: checked, completed, and turned into the answers' shape.

Source: huggingface_hub 2.4.0 `_jobs_api.py` (`_create_job_spec`, `JobInfo`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from hf_train.local_hub.calls import HubError
from hf_train.local_hub.jobs.hardware import HARDWARE

DEFAULT_TIMEOUT_S = 1800
_LABEL_KEY = re.compile(r"[A-Za-z0-9._-]{1,100}")
_LABEL_VALUE = re.compile(r"[A-Za-z0-9._-]{0,100}")
_VOLUME_KINDS = frozenset({"bucket", "model", "dataset", "space"})


def checked(body: Mapping[str, Any]) -> dict[str, Any]:
    """The spec, or an error in the Hub's manner.

    Raises:
        HubError: 400 with what is wrong.
    """
    spec = dict(body)
    _require(isinstance(spec.get("command"), list) and spec["command"], "command: a non-empty list is expected")
    for name in ("command", "arguments"):
        _require(all(isinstance(word, str) for word in spec.get(name) or []), f"{name}: a list of strings is expected")
    _require(bool(spec.get("dockerImage")) != bool(spec.get("spaceId")), "either dockerImage or spaceId is expected")
    flavor = spec.setdefault("flavor", "cpu-basic")
    _require(flavor in HARDWARE, f"flavor: invalid value {flavor!r}, expected one of {', '.join(HARDWARE)}")
    for name in ("environment", "secrets"):
        values = spec.get(name) or {}
        ok = isinstance(values, dict) and all(isinstance(v, str) for v in values.values())
        _require(ok, f"{name}: strings by name are expected")
    timeout = spec.get("timeoutSeconds", DEFAULT_TIMEOUT_S)
    _require(isinstance(timeout, int) and timeout > 0, "timeoutSeconds: a number greater than 0 is expected")
    attempts = spec.get("attempts", 1)
    _require(isinstance(attempts, int) and 1 <= attempts <= 100, "attempts: a number from 1 to 100 is expected")
    check_labels(spec.get("labels") or {})
    _check_volumes(spec.get("volumes") or [])
    return spec


def check_labels(labels: object) -> Mapping[str, str]:
    """Labels, or a 400."""
    _require(isinstance(labels, dict), "labels: strings by name are expected")
    assert isinstance(labels, dict)  # noqa: S101  (told just above)
    for key, value in labels.items():
        ok = isinstance(value, str) and _LABEL_KEY.fullmatch(key) and _LABEL_VALUE.fullmatch(value)
        _require(bool(ok), f"labels: {key!r}: letters, digits, '.', '_', '-', at most 100 characters")
    return labels


def _check_volumes(volumes: object) -> None:
    _require(isinstance(volumes, list), "volumes: a list is expected")
    assert isinstance(volumes, list)  # noqa: S101
    mounts: set[str] = set()
    for volume in volumes:
        ok = isinstance(volume, dict) and volume.get("type") in _VOLUME_KINDS
        ok = ok and isinstance(volume.get("source"), str) and isinstance(volume.get("mountPath"), str)
        _require(ok, "volumes: type, source and mountPath are expected")
        mount = volume["mountPath"]
        _require(
            mount.startswith("/") and mount != "/" and ".." not in mount.split("/"), f"volumes: bad path {mount!r}"
        )
        _require(mount not in mounts, f"volumes: {mount} is mounted twice")
        mounts.add(mount)


def _require(ok: object, message: str) -> None:
    if not ok:
        raise HubError(400, message)


def answer(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The part of JobInfo that repeats the spec. Values of secrets never come back."""
    info: dict[str, Any] = {
        "command": spec["command"],
        "arguments": spec.get("arguments") or [],
        "environment": spec.get("environment") or {},
        "secrets": sorted(spec.get("secrets") or {}),
        "flavor": spec["flavor"],
        "timeout": spec.get("timeoutSeconds", DEFAULT_TIMEOUT_S),
        "attempts": spec.get("attempts", 1),
        "retry": spec.get("attempts", 1) - 1,
        "arch": "amd64",
    }
    optional: dict[str, Callable[[Any], Any]] = {
        "dockerImage": str,
        "spaceId": str,
        "labels": dict,
        "volumes": list,
        "expose": dict,
        "network": dict,
        "resourceGroupId": str,
    }
    for name, shape in optional.items():
        if spec.get(name):
            info[name] = shape(spec[name])
    return info
