"""The Job spec of a request: checked, completed, and turned into the answers' shape.

Source: huggingface_hub 2.4.0 `_jobs_api.py` (`_create_job_spec`, `JobInfo`).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from typing import Any

from hf_train.local_hub.calls import HubError
from hf_train.local_hub.jobs.hardware import HARDWARE

DEFAULT_TIMEOUT_S = 1800
_LABEL_KEY = re.compile(r"[A-Za-z0-9._-]{1,100}")
_LABEL_VALUE = re.compile(r"[A-Za-z0-9._-]{0,100}")
_GROUP = re.compile(r"[a-z0-9-]{1,46}")
_ALIAS = re.compile(r"[a-z0-9-]{1,34}")
_KERNELS = ("/proc", "/sys", "/dev")
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
        clean = all(key and "=" not in key and "\0" not in f"{key}{value}" for key, value in (values or {}).items())
        _require(clean, f"{name}: a name is empty or has '=', or a NUL stands somewhere")
    timeout = spec.get("timeoutSeconds", DEFAULT_TIMEOUT_S)
    _require(type(timeout) is int and timeout > 0, "timeoutSeconds: a number greater than 0 is expected")
    attempts = spec.get("attempts", 1)
    _require(type(attempts) is int and 1 <= attempts <= 100, "attempts: a number from 1 to 100 is expected")
    check_labels(spec.get("labels") or {})
    spec["volumes"] = _checked_volumes(spec.get("volumes") or [])
    _check_network(spec.get("network") or {})
    check_expose(spec.get("expose") or {})
    return spec


def check_labels(labels: object) -> Mapping[str, str]:
    """Labels, or a 400."""
    _require(isinstance(labels, dict), "labels: strings by name are expected")
    assert isinstance(labels, dict)  # noqa: S101  (told just above)
    for key, value in labels.items():
        ok = isinstance(value, str) and _LABEL_KEY.fullmatch(key) and _LABEL_VALUE.fullmatch(value)
        _require(bool(ok), f"labels: {key!r}: letters, digits, '.', '_', '-', at most 100 characters")
    return labels


def _checked_volumes(volumes: object) -> list[dict[str, Any]]:
    _require(isinstance(volumes, list), "volumes: a list is expected")
    assert isinstance(volumes, list)  # noqa: S101
    found: dict[str, dict[str, Any]] = {}
    for volume in volumes:
        ok = isinstance(volume, dict) and volume.get("type") in _VOLUME_KINDS
        ok = ok and isinstance(volume.get("source"), str) and isinstance(volume.get("mountPath"), str)
        _require(ok, "volumes: type, source and mountPath are expected")
        _require(volume["source"].count("/") == 1, f"volumes: {volume['source']!r} is not NAMESPACE/NAME")
        mount = mount_path(volume["mountPath"])
        _require(mount not in found, f"volumes: {mount} is mounted twice")
        found[mount] = {**volume, "mountPath": mount}
    return list(found.values())


def mount_path(text: str) -> str:
    """A mount path in its plain form, or a 400: absolute, not the root, not a folder of the kernel."""
    path = posixpath.normpath(text).replace("//", "/")
    good = text.startswith("/") and path != "/" and ".." not in text.split("/") and "\0" not in text
    _require(good, f"volumes: bad path {text!r}")
    taken = any(path == one or path.startswith(f"{one}/") for one in _KERNELS)
    _require(not taken, f"volumes: {text!r} is a folder of the system")
    return path


def _check_network(network: object) -> None:
    ok = isinstance(network, dict) and (not network or _GROUP.fullmatch(str(network.get("group", ""))))
    _require(ok, "network.group: 1 to 46 lowercase letters, digits and dashes")
    assert isinstance(network, dict)  # noqa: S101
    aliases = network.get("aliases") or []
    ok = isinstance(aliases, list) and all(isinstance(one, str) and _ALIAS.fullmatch(one) for one in aliases)
    _require(ok, "network.aliases: 1 to 34 lowercase letters, digits and dashes each")
    _require(len(set(aliases)) == len(aliases), "network.aliases: one stands there twice")


def check_expose(expose: object) -> Mapping[str, list[int]]:
    """Exposed ports, or a 400."""
    _require(isinstance(expose, dict), "expose: an object is expected")
    assert isinstance(expose, dict)  # noqa: S101
    for name in ("ports", "portsPublic"):
        ports = expose.get(name) or []
        ok = isinstance(ports, list) and all(type(port) is int and 0 < port < 65536 for port in ports)
        _require(ok, f"expose.{name}: a list of ports is expected")
    public = set(expose.get("portsPublic") or [])
    _require(public <= set(expose.get("ports") or []), "expose.portsPublic: not among expose.ports")
    return expose


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
