"""The first process of a Job: private mounts at the very paths that the command names, then the command.

Run as a script by the process executor, standard library only: `python -I sandbox.py` with a JSON plan on stdin.
It unshares the mount and PID namespaces (in a user namespace when it is not root), builds a root on a tmpfs that holds
everything of the host's root bind-mounted plus the volumes, changes its root there and runs the command under a small
init, so that the end of the command ends everything that it started. Nothing is mounted on the host, and the kernel
takes the mounts down with the last process, even after a SIGKILL.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import stat
import sys
from typing import Any, NoReturn

CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWPID = 0x00020000, 0x10000000, 0x20000000
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18
KEPT_FLAGS = 2 | 4 | 8
"""nosuid, nodev, noexec: a remount in a user namespace may not drop them (mount_namespaces(7))."""
PR_SET_PDEATHSIG = 1
FAILED = 125
_libc = ctypes.CDLL(None, use_errno=True)


def main() -> NoReturn:
    """Read the plan, enter the sandbox, run."""
    plan = json.load(sys.stdin)
    die_with_parent()
    try:
        has_pids = enter(plan)
    except OSError as error:
        print(f"hf-train local Hub: no private mounts here ({error})", flush=True)
        os._exit(FAILED)
    child = os.fork()
    if child == 0:
        die_with_parent()
        init(plan, has_pids=has_pids)
    forward(child)
    os._exit(wait_for(child))


def enter(plan: dict[str, Any]) -> bool:
    """Make the private root. Returns whether there is a PID namespace as well.

    Raises:
        OSError: The kernel or a policy allows none.
    """
    if os.geteuid() == 0:
        unshare(CLONE_NEWNS | CLONE_NEWPID)
        has_pids = True
    else:
        has_pids = False
        uid, gid = os.geteuid(), os.getegid()
        unshare(CLONE_NEWUSER | CLONE_NEWNS)
        write("/proc/self/setgroups", "deny")
        write("/proc/self/uid_map", f"{uid} {uid} 1")
        write("/proc/self/gid_map", f"{gid} {gid} 1")
    mount(None, "/", None, MS_REC | MS_PRIVATE)
    root = plan["root"]
    mount("tmpfs", root, "tmpfs", 0)
    targets = {volume["target"]: volume for volume in plan["mounts"]}
    mirror("/", root, frozenset(targets), root)
    for target in sorted(targets):
        inside = root + target
        os.makedirs(inside, exist_ok=True)
        bind(targets[target]["source"], inside)
        if targets[target]["read_only"]:
            make_read_only(inside)
    return has_pids


def mirror(source: str, copy: str, targets: frozenset[str], root: str) -> None:
    """Bind everything of a folder into its copy; only the folders above a mount path are made anew."""
    for name in os.listdir(source):
        path, here = os.path.join(source, name), os.path.join(copy, name)
        mode = os.lstat(path).st_mode
        if path in targets or path == root:
            continue
        with contextlib.suppress(FileNotFoundError):
            if stat.S_ISLNK(mode):
                os.symlink(os.readlink(path), here)
            elif stat.S_ISDIR(mode):
                os.mkdir(here, stat.S_IMODE(mode))
                os.chmod(here, stat.S_IMODE(mode))
                if any(target.startswith(path + "/") for target in targets):
                    mirror(path, here, targets, root)
                else:
                    bind(path, here)
            elif stat.S_ISREG(mode):
                os.close(os.open(here, os.O_CREAT | os.O_WRONLY, stat.S_IMODE(mode)))
                bind(path, here)


def init(plan: dict[str, Any], *, has_pids: bool) -> NoReturn:
    """The Job's init: run the command, hand on SIGTERM, reap what it leaves, and end when it ends."""
    os.chroot(plan["root"])
    if has_pids:
        with contextlib.suppress(OSError):
            mount("proc", "/proc", "proc", 0)
    os.chdir(plan["cwd"])
    child = os.fork()
    if child == 0:
        os.setsid()
        run(plan)
    forward(child)
    os._exit(wait_for(child))


def run(plan: dict[str, Any]) -> NoReturn:
    """Become the command."""
    for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(signum, signal.SIG_DFL)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    command, env = plan["command"], plan["env"]
    try:
        os.execvpe(command[0], command, env)
    except FileNotFoundError:
        text, code = f"exec: {command[0]}: not found", 127
    except OSError as error:
        text, code = f"exec: {command[0]}: {error.strerror}", 126
    os.write(1, f"{text}\n".encode())
    os._exit(code)


def forward(child: int) -> None:
    """Hand SIGTERM on to the child; the executor escalates to SIGKILL by itself."""

    def hand_on(signum: int, _frame: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signum)

    signal.signal(signal.SIGTERM, hand_on)


def wait_for(child: int) -> int:
    """Reap everything until the child ends; its exit code as a shell counts."""
    while True:
        try:
            pid, status = os.wait()
        except InterruptedError:
            continue
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def die_with_parent() -> None:
    """SIGKILL for this process when its parent dies (prctl(2)), so that a killed Hub leaves nothing."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def unshare(flags: int) -> None:
    """Leave these namespaces of the parent (man 2 unshare)."""
    check(_libc.unshare(flags), "unshare")


def mount(source: str | None, target: str, kind: str | None, flags: int) -> None:
    """Mount (man 2 mount)."""
    check(_libc.mount(encoded(source), encoded(target), encoded(kind), ctypes.c_ulong(flags), None), f"mount {target}")


def bind(source: str, target: str) -> None:
    """A recursive bind mount."""
    mount(source, target, None, MS_BIND | MS_REC)


def make_read_only(target: str) -> None:
    """Remount a bind mount read-only, keeping the flags that it is locked to."""
    kept = os.statvfs(target).f_flag & KEPT_FLAGS
    mount(None, target, None, MS_REMOUNT | MS_BIND | MS_RDONLY | kept)


def encoded(text: str | None) -> bytes | None:
    """A C string."""
    return None if text is None else text.encode()


def check(result: int, what: str) -> None:
    """Raise what errno says."""
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def write(path: str, text: str) -> None:
    """Write a file of /proc."""
    with open(path, "w", encoding="ascii") as stream:
        stream.write(text)


if __name__ == "__main__":
    main()
