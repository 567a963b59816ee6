"""Network groups of the executor `process`: its Jobs share this machine's loopback, so all their names lead there.

Each group has a hosts file of its own, which its Jobs have at `/etc/hosts`; a member that comes later writes its names
into the same file. One port is one port: two members cannot listen on the same.
"""

from __future__ import annotations

import threading
from pathlib import Path

from hf_train.local_hub.executors.base import Mount, Task
from hf_train.local_hub.network import hostname, names

NO_NAMES_NOTICE = (
    "hf-train local Hub: this Job is in a network group, but this system allows no private mounts, so the names of the "
    "group do not resolve: HF_NETWORK_GROUP_HOSTNAME is localhost, and aliases lead nowhere. Use --executor docker.\n"
)
ALONE = {"HF_NETWORK_GROUP_HOSTNAME": "localhost", "HF_NETWORK_GROUP_PREFIX": ""}
"""The environment of a member where names cannot be given."""
_HOSTS = Path("/etc/hosts")


class Hosts:
    """The hosts files of all groups.

    Args:
        folder: Where they lie, made when needed.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()

    def mounts(self, task: Task) -> tuple[Mount, ...]:
        """The hosts file of the Job's group, with the Job's names in it; none for a Job in no group."""
        if not task.network:
            return ()
        path = self._folder / hostname(task.namespace, str(task.network["group"]))
        with self._lock:
            if not path.exists():
                self._folder.mkdir(parents=True, exist_ok=True)
                path.write_bytes(_HOSTS.read_bytes() if _HOSTS.exists() else b"127.0.0.1 localhost\n")
            with path.open("a", encoding="ascii") as stream:  # the same file: those who run already see it too
                stream.write(f"\n127.0.0.1 {' '.join(names(task.namespace, task.network))}\n")
        return (Mount(source=path, target=str(_HOSTS), read_only=True),)
