"""Network groups: the names under which their Jobs reach each other.

Source: huggingface_hub 2.4.0 `hf_api.py` `run_job`: `HF_NETWORK_GROUP_HOSTNAME` resolves to every member, a member with
an alias is `${HF_NETWORK_GROUP_PREFIX}<alias>`, and several Jobs may claim the same alias. What the prefix looks like
is not said; here it is short enough that the longest alias (34 characters) is still a host name, and never empty, so
that a command which forgets it fails here too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping


def hostname(namespace: str, group: str) -> str:
    """The name that resolves to every member of a group; another namespace's group of this name is another one."""
    return f"group-{hashlib.sha256(f'{namespace}/{group}'.encode()).hexdigest()[:12]}"


def environment(namespace: str, network: Mapping[str, object]) -> dict[str, str]:
    """What the Hub sets in a member of a group; nothing for a Job in none."""
    if not network:
        return {}
    name = hostname(namespace, str(network["group"]))
    return {"HF_NETWORK_GROUP_HOSTNAME": name, "HF_NETWORK_GROUP_PREFIX": f"{name}-"}


def names(namespace: str, network: Mapping[str, object]) -> tuple[str, ...]:
    """All names of one member."""
    name = hostname(namespace, str(network["group"]))
    aliases = network.get("aliases")
    return (name, *(f"{name}-{alias}" for alias in (aliases if isinstance(aliases, list) else ())))
