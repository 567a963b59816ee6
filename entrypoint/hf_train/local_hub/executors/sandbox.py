"""The first process of a Job: private mounts at the very paths that the command names, then the command.

Run as a script by the process executor, standard library only: `python -I sandbox.py` with a JSON plan on stdin.

With `private` it unshares the mount and PID namespaces (in a user namespace when it may not do so at once), builds a
root on a tmpfs that holds everything of the host's root bind-mounted plus the volumes, makes it its root and runs the
command under a small init: the end of the init is the end of everything that the command started, daemons that forked
twice included. Nothing is mounted on the host, and the kernel takes the mounts down with the last process, even after
a SIGKILL.

Without `private` it is a child subreaper (prctl(2)): orphans come to it, and it kills all its descendants at the end.

Signals: the first SIGTERM is handed on to the command, a second one kills everything. So does the end of the parent.
Sources: unshare(2), mount_namespaces(7), pid_namespaces(7), user_namespaces(7), pivot_root(2).
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import stat
import sys
import time
from typing import Any, NoReturn

CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWPID = 0x00020000, 0x10000000, 0x20000000
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18
MNT_DETACH = 2
KEPT_FLAGS = 2 | 4 | 8
"""nosuid, nodev, noexec: a remount in a user namespace may not drop them (mount_namespaces(7))."""
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
FAILED = 125
ERROR = ".error"
"""What is added to the root's path for the file that says why there are no mounts."""
_libc = ctypes.CDLL(None, use_errno=True)


def main() -> NoReturn:
    """Read the plan, enter the sandbox, run."""
    plan = json.load(sys.stdin)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if plan["private"]:
        die_with_parent(signal.SIGKILL)
        try:
            enter(plan)
        except OSError as error:
            write(plan["root"] + ERROR, str(error))
            os._exit(FAILED)
        child = os.fork()
        if child == 0:
            die_with_parent(signal.SIGKILL)
            init(plan)
        forward(child, lambda: os.kill(child, signal.SIGKILL))
        os._exit(wait_for(child))
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    os.chdir(plan["cwd"])
    child = os.fork()
    if child == 0:
        run(plan)
    forward(child, kill_descendants)
    die_with_parent(signal.SIGUSR1)
    code = wait_for(child)
    kill_descendants()
    os._exit(code)


def enter(plan: dict[str, Any]) -> None:
    """Make the private root.

    Raises:
        OSError: The kernel or a policy allows none.
    """
    is_shared = root_is_shared()
    try:
        unshare(CLONE_NEWNS | CLONE_NEWPID)
    except PermissionError:
        uid, gid = os.geteuid(), os.getegid()
        unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID)
        write("/proc/self/setgroups", "deny")
        write("/proc/self/uid_map", f"{uid} {uid} 1")
        write("/proc/self/gid_map", f"{gid} {gid} 1")
    try:
        mount(None, "/", None, MS_REC | MS_PRIVATE)
    except OSError:
        if is_shared:
            raise
    root = plan["root"]
    mount("tmpfs", root, "tmpfs", 0)
    targets = {volume["target"]: volume for volume in plan["mounts"]}
    mirror("/", root, frozenset(targets), root)
    mount(None, root, None, MS_REC | MS_PRIVATE)  # what was bound may have peers on the host, and /proc comes anew
    for name, target in plan["links"].items():
        with contextlib.suppress(FileExistsError):
            os.symlink(target, root + name)
    for target in sorted(targets):
        make_place(targets[target]["source"], root + target)
        bind(targets[target]["source"], root + target)
    for target, volume in targets.items():
        if volume["read_only"]:
            make_read_only(root + target)
    with contextlib.suppress(OSError):  # the new root shows up inside itself where its place was bound
        check(_libc.umount2(encoded(root + root), MNT_DETACH), "umount")


def make_place(source: str, target: str) -> None:
    """What a bind mount covers: a folder for a folder, a file for a file."""
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
        return
    os.makedirs(os.path.dirname(target), exist_ok=True)
    os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))


def root_is_shared() -> bool:
    """Whether a mount made below `/` would show on the host too; True when that cannot be told.

    In a chroot `/` is no mount point, so it cannot be made private: it must be so already (mount_namespaces(7)).
    """
    handle = os.open("/", os.O_PATH)
    try:
        with open(f"/proc/self/fdinfo/{handle}", encoding="ascii") as stream:
            mount_id = next((line.split()[1] for line in stream if line.startswith("mnt_id:")), "")
        with open("/proc/1/mountinfo", encoding="utf-8", errors="replace") as stream:
            fields = next((line.split() for line in stream if line.split()[0] == mount_id), None)
    except OSError:
        return True
    finally:
        os.close(handle)
    return fields is None or any(field.startswith("shared:") for field in fields[6 : fields.index("-")])


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
                os.mkdir(here)
                os.chmod(here, stat.S_IMODE(mode))
                if any(target.startswith(path + "/") for target in targets):
                    mirror(path, here, targets, root)
                else:
                    bind(path, here)
            elif stat.S_ISREG(mode):
                os.close(os.open(here, os.O_CREAT | os.O_WRONLY, stat.S_IMODE(mode)))
                bind(path, here)


def init(plan: dict[str, Any]) -> NoReturn:
    """The Job's init: run the command, hand on SIGTERM, reap what it leaves, and end when it ends."""
    change_root(plan["root"])
    with contextlib.suppress(OSError):  # a user namespace may not mount one where parts of the host's are hidden
        mount("proc", "/proc", "proc", 0)
    os.chdir(plan["cwd"])
    child = os.fork()
    if child == 0:
        run(plan)
    forward(child, lambda: os._exit(128 + signal.SIGKILL))
    os._exit(wait_for(child))


def change_root(root: str) -> None:
    """Make a folder the root; the old one is gone where the kernel allows it."""
    os.chdir(root)
    if _libc.pivot_root(b".", b".") == 0:
        check(_libc.umount2(b".", MNT_DETACH), "umount")
    else:
        os.chroot(".")
    os.chdir("/")


def run(plan: dict[str, Any]) -> NoReturn:
    """Become the command."""
    os.setsid()
    for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(signum, signal.SIG_DFL)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    command, env = plan["command"], plan["env"]
    try:
        os.execvpe(command[0], command, env)
    except FileNotFoundError:
        text, code = f'exec: "{command[0]}": executable file not found in $PATH', 127
    except OSError as error:
        text, code = f'exec: "{command[0]}": {error.strerror}', 126
    os.write(1, f"{text}\n".encode())
    os._exit(code)


def forward(child: int, kill: Any) -> None:
    """Hand the first SIGTERM on to the child; at the second, or when the parent is gone, `kill` everything."""
    seen = 0

    def hand_on(signum: int, _frame: object) -> None:
        nonlocal seen
        seen += 1
        with contextlib.suppress(ProcessLookupError):
            if signum == signal.SIGTERM and seen == 1:
                os.kill(child, signal.SIGTERM)
            else:
                kill()

    signal.signal(signal.SIGTERM, hand_on)
    signal.signal(signal.SIGUSR1, hand_on)


def wait_for(child: int) -> int:
    """Reap everything until the child ends; its exit code as a shell counts."""
    while True:
        pid, status = os.wait()
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def kill_descendants() -> None:
    """SIGKILL to all descendants until none is left; those that fork meanwhile come to us as orphans."""
    for _ in range(200):
        alive = descendants(os.getpid())
        if not alive:
            return
        for pid in alive:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def descendants(ancestor: int) -> list[int]:
    """Living processes below a process, from `/proc`."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as stream:
                state, parent = stream.read().rpartition(b")")[2].split()[:2]
                if state != b"Z":
                    parents[int(name)] = int(parent)
    found: list[int] = []
    level = {ancestor}
    while level:
        level = {pid for pid, parent in parents.items() if parent in level}
        found.extend(level)
    return found


def die_with_parent(signum: int) -> None:
    """A signal for this process when its parent dies (prctl(2)), so that a killed Hub leaves nothing."""
    _libc.prctl(PR_SET_PDEATHSIG, signum, 0, 0, 0)


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
    return None if text is None else os.fsencode(text)


def check(result: int, what: str) -> None:
    """Raise what errno says."""
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def write(path: str, text: str) -> None:
    """Write a small file."""
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(text)


if __name__ == "__main__":
    main()
