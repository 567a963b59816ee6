"""Makes this folder tree the root of a fresh mount namespace, then runs a program there.

A process in a chroot has a root of its own, but its mount namespace has still the old one, and whoever enters the
namespace (as `docker exec` does) lands there. So the way is: a view of `/` as a mount, out to the namespace's own root,
and `pivot_root` to the view (man 2 pivot_root, "pivot_root(".", ".")").

As a command, in a fresh mount namespace: `python -m support.own_root FOLDER PROGRAM ARGUMENT...`.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from collections.abc import Sequence

MS_BIND, MS_REC, MS_PRIVATE, MNT_DETACH = 0x1000, 0x4000, 0x40000, 2
CLONE_NEWNS = 0x20000
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def take(view: str) -> None:
    """Make `/` as it is seen now the root of this mount namespace.

    Args:
        view: An empty folder to mount it at.

    Raises:
        OSError: The kernel refuses.
    """
    where = os.fsencode(view)
    _checked(_libc.mount(b"/", where, None, MS_BIND | MS_REC, None), "bind /")
    _checked(_libc.mount(None, where, None, MS_PRIVATE | MS_REC, None), "make it private")
    folder = os.open(view, os.O_PATH | os.O_DIRECTORY)
    namespace = os.open("/proc/self/ns/mnt", os.O_RDONLY)
    _checked(_libc.setns(namespace, CLONE_NEWNS), "go to the namespace's root")
    os.fchdir(folder)
    _checked(_libc.syscall(PIVOT_ROOT[platform.machine()], b".", b"."), "pivot_root")
    _checked(_libc.umount2(b".", MNT_DETACH), "let the old root go")
    os.chdir("/")


def main(arguments: Sequence[str]) -> None:
    """Take the root, then become the program."""
    view, *command = arguments
    take(view)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
