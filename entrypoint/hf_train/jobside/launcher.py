"""Runs the training inside the Job and keeps what a killed Job would lose. Started by `start.sh`; see docs/jobside.md.

One file, standard library only, Python 3.8 or newer: it is sent beside the code and runs in whatever image was chosen.
`start.sh` has verified and copied the code by then; this process stays, as the command's parent.

* The command runs in a session of its own. Signals are passed on to it, orphans are reaped (this may be PID 1), its
  exit code is kept, and nothing of its process group is left behind.
* A lease (`HF_TRAIN_LEASE=SECONDS:FILE`) that is not renewed ends it with code 79.
* With an output folder (`HF_TRAIN_OUTPUT`) a thread writes results, packages and usage there as they appear. Whatever
  goes wrong there is one line in the log: neither a mount that hangs nor one that is full reaches the training.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import select
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any, NoReturn

LEASE_LOST = 79
GRACE_S = 10.0
"""Time to end after SIGTERM: when the lease is lost, after a second signal, for what a signalled command left."""
LEFTOVER_S = 1.0
"""The same for what a command left that ended by itself."""
FIRST_S, PERIOD_S, SHARE = 0.3, 5.0, 20
"""Pause between two rounds of the keeper: the first, doubled up to the longest, and at least SHARE times the round."""
USAGE_S = 60.0
"""How often the usage is written: each time is a request to the bucket."""
LAST_S = 15.0
"""How long the end of the Job waits for the last round."""
MAX_BYTES, MAX_ENTRIES, MAX_DEPTH, MAX_STEPS, MAX_GPUS = 1 << 20, 25_000, 4, 100, 64
ENDING = frozenset((signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT))
WATCHED = ENDING | {signal.SIGUSR1, signal.SIGUSR2, signal.SIGCHLD}
RESULTS = ("all_results.json", "eval_results.json", "train_results.json", "trainer_state.json")
SKIPPED = frozenset(("node_modules", "__pycache__", "venv", "site-packages"))
CHECKPOINT = re.compile(r"checkpoint-([0-9]{1,12})")
NVIDIA_SMI = ("--query-gpu=name,utilization.gpu,memory.used,memory.total", "--format=csv,noheader,nounits")
FREEZE = """
import sys
from importlib.metadata import distributions
print("#", sys.executable, sys.version.split()[0])
print("\\n".join(sorted({"%s==%s" % (one.metadata["Name"], one.version) for one in distributions()}, key=str.lower)))
"""
HELPERS: set[int] = set()
"""Processes that the keeper started and waits for by itself."""
SAID: set[str] = set()


def say(text: str) -> None:
    """One line for people."""
    with contextlib.suppress(OSError):
        os.write(2, f"hf-train: {text}\n".encode("utf-8", "replace"))


def say_once(text: str) -> None:
    """The same, unless it was said."""
    if text not in SAID:
        SAID.add(text)
        say(text)


def which(program: str, environ: dict[str, str]) -> str | None:
    """Where a program lies on the command's PATH (the module `shutil` would cost two megabytes)."""
    folders = [""] if "/" in program else os.get_exec_path(environ)
    paths = (os.path.join(folder, program) for folder in folders)
    return next((path for path in paths if os.path.isfile(path) and os.access(path, os.X_OK)), None)


def read_file(path: str) -> bytes | None:
    """A small regular file; None for a link, a FIFO, what is bigger than a megabyte, and what cannot be read."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as stream:
            content = stream.read(MAX_BYTES + 1) if stat.S_ISREG(os.fstat(stream.fileno()).st_mode) else None
    except OSError:
        return None
    return None if content is None or len(content) > MAX_BYTES else content


def loaded(content: bytes | None) -> Any:
    """JSON; None when it is none, or half of one."""
    try:
        return None if content is None else json.loads(content)
    except (ValueError, RecursionError):
        return None


def entries(folder: str) -> Iterator[os.DirEntry[str]]:
    """What lies in a folder; nothing when it cannot be read."""
    with contextlib.suppress(OSError), os.scandir(folder) as found:
        for one, _ in zip(found, range(MAX_ENTRIES)):  # noqa: B905  (`strict` came with Python 3.10)
            yield one


def subfolders(folder: str) -> list[str]:
    """Folders in a folder, without links, hidden ones and those of tools."""
    own = (one for one in entries(folder) if one.name[0] != "." and one.name not in SKIPPED)
    return [one.path for one in own if one.is_dir(follow_symlinks=False)]


def named(top: str, names: set[str]) -> list[tuple[str, tuple[int, int], str]]:
    """Regular files of these names in a folder and below: name, (time of change, size), path."""
    found: list[tuple[str, tuple[int, int], str]] = []
    level, left = [top], MAX_ENTRIES
    for _ in range(MAX_DEPTH):
        below = []
        for one in (one for folder in level for one in entries(folder)):
            left -= 1
            if left < 0:
                return found
            with contextlib.suppress(OSError):
                if one.name in names and one.is_file(follow_symlinks=False):
                    info = one.stat(follow_symlinks=False)
                    found.append((one.name, (info.st_mtime_ns, info.st_size), one.path))
                elif one.name[0] != "." and one.name not in SKIPPED and one.is_dir(follow_symlinks=False):
                    below.append(one.path)
        level = below
    return found


def capture(command: list[str], environ: dict[str, str], limit_s: float) -> str:
    """What a helper prints, at most a megabyte; its group is killed when that takes too long, and at its end.

    The pipe's end is not waited for: what the helper started may hold it open, also in a session of its own.
    """
    process = subprocess.Popen(
        command,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    HELPERS.add(process.pid)
    until, content = time.monotonic() + limit_s, b""
    while process.stdout and time.monotonic() < until and len(content) < MAX_BYTES:
        ended = process.poll() is not None  # what it printed is in the pipe by then
        if select.select([process.stdout], [], [], 0.0 if ended else 0.05)[0]:
            more = os.read(process.stdout.fileno(), MAX_BYTES - len(content))
            content += more
            ended = not more
        if ended:
            break
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    if process.stdout:
        process.stdout.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(LEFTOVER_S)  # a driver that hangs lets nobody be killed
    HELPERS.discard(process.pid)
    return content.decode("utf-8", "replace")


# ---- what is run ----


def resolved(command: list[str], environ: dict[str, str]) -> list[str]:
    """The command with a launcher or a Python that this image has, when the named one is not on its PATH."""
    python = which("python", environ) or which("python3", environ)
    if which(command[0], environ) or not python:
        return command
    if command[:2] == ["accelerate", "launch"]:
        start, rest = [python, "-m", "accelerate.commands.launch"], command[2:]
    elif command[0] == "torchrun":
        start, rest = [python, "-m", "torch.distributed.run"], command[1:]
    elif command[0] in ("python", "python3"):
        start, rest = [python], command[1:]
    else:
        return command
    say(f"{command[0]} is not on PATH; {' '.join(start)} is started instead")
    return [*start, *rest]


def comfort(environ: dict[str, str], beside: str) -> None:
    """Output that a killed process does not lose, a traceback when it crashes, and caches that can be written."""
    environ.setdefault("PYTHONUNBUFFERED", "1")
    environ.setdefault("PYTHONFAULTHANDLER", "1")
    cache = environ.get("XDG_CACHE_HOME") or os.path.join(environ.get("HOME") or "/dev/null", ".cache")
    with contextlib.suppress(OSError):
        os.makedirs(cache, exist_ok=True)
        if os.access(cache, os.W_OK | os.X_OK):
            return
    environ["XDG_CACHE_HOME"] = f"{beside}.cache"
    more = {"HF_HOME": "huggingface", "XDG_DATA_HOME": "data", "TRITON_CACHE_DIR": "triton", "MPLCONFIGDIR": "mpl"}
    for name, folder in more.items():
        environ.setdefault(name, f"{beside}.cache/{folder}")


def members(group: int) -> Iterator[tuple[int, str]]:
    """Living processes of a group, with the first word of each: a zombie may be another's to reap."""
    for one in entries("/proc"):
        if one.name.isdigit():
            fields = (read_file(f"{one.path}/stat") or b"").rpartition(b")")[2].split()
            if fields[2:3] == [b"%d" % group] and fields[0] != b"Z":
                yield int(one.name), os.fsdecode((read_file(f"{one.path}/cmdline") or b"").partition(b"\0")[0])


class Command:
    """The command as a child in a session of its own.

    Args:
        words: Its words.
        environ: Its environment.
        mask: The blocked signals that it inherits.
    """

    def __init__(self, words: list[str], environ: dict[str, str], mask: set[Any]) -> None:
        self._status: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            self._become(words, environ, mask)

    @staticmethod
    def _become(words: list[str], environ: dict[str, str], mask: set[Any]) -> NoReturn:
        code = 126
        try:
            os.setsid()
            for signum in (signal.SIGPIPE, signal.SIGXFSZ):  # which Python ignores for itself
                signal.signal(signum, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            try:
                os.execvpe(words[0], words, environ)
            except OSError as error:
                if error.errno == errno.ENOEXEC:  # no "#!": a shell runs it, as every shell would
                    os.execvpe("sh", ["sh", which(words[0], environ) or words[0], *words[1:]], environ)
                raise
        except OSError as error:
            code = 127 if isinstance(error, FileNotFoundError) else 126
            say(f"{words[0]}: {error.strerror}")
        finally:
            os._exit(code)

    @property
    def ended_by(self) -> int | None:
        """The signal that ended it; None when none did."""
        return os.WTERMSIG(self._status) if self._status is not None and os.WIFSIGNALED(self._status) else None

    @property
    def code(self) -> int | None:
        """Its exit code as a shell counts; None while it runs."""
        if self._status is None:
            return None
        return 128 + self.ended_by if self.ended_by else os.WEXITSTATUS(self._status)

    def send(self, signum: int) -> None:
        """A signal for the command alone: it may want its own children to live until it has saved."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(self.pid, signum)

    def send_all(self, signum: int) -> bool:
        """A signal for its process group. Returns whether there is anybody."""
        try:
            os.killpg(self.pid, signum)
        except OSError as error:
            return error.errno == errno.EPERM
        return True

    def reap(self) -> None:
        """Take the end of the command, and of every orphan that came to us."""
        with contextlib.suppress(ChildProcessError):
            if self._status is None:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                self._status = status if pid else None
            while True:
                seen = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                if seen is None or seen.si_pid == self.pid or seen.si_pid in HELPERS:
                    return
                os.waitpid(seen.si_pid, 0)


class Lease(threading.Thread):
    """A file that the step which follows this Job writes to now and then. Reading it may hang, so a thread does.

    Args:
        text: `SECONDS:FILE`.
    """

    def __init__(self, text: str) -> None:
        super().__init__(daemon=True)
        seconds, _, self._path = text.partition(":")
        self.seconds = int(seconds)
        self.pause = min(1.0, self.seconds / 10)
        self._renewed = threading.Event()
        self._idle = 0.0

    def run(self) -> None:
        """Look for changes."""
        seen = self._read()
        while True:
            time.sleep(self.seconds / 10)
            now = self._read()
            if now is not None and now != seen:
                self._renewed.set()
                seen = now

    def _read(self) -> bytes | None:
        with contextlib.suppress(OSError), open(self._path, "rb") as stream:
            return stream.read(MAX_BYTES)
        return None

    def lost(self, waited: float) -> bool:
        """Whether nobody was heard of for too long. Waits are added up: a clock jumps."""
        self._idle = 0.0 if self._renewed.is_set() else self._idle + waited
        self._renewed.clear()
        return self._idle >= self.seconds


def watch(command: Command, lease: Lease | None, keeper: Keeper | None) -> int:
    """Pass signals on until the command and what it started have ended. Returns the exit code of the Job."""
    asked, deadline, lost = 0, float("inf"), False
    pause = lease.pause if lease else 1.0
    while command.code is None:
        began = time.monotonic()
        got = signal.sigtimedwait(WATCHED, pause)
        signum = got.si_signo if got else signal.SIGCHLD
        if signum != signal.SIGCHLD:
            command.send(signum)
        if signum in ENDING:
            asked += 1
            deadline = time.monotonic() + GRACE_S if asked == 2 else deadline
            if keeper:
                keeper.hurry()
        command.reap()
        if lease and not lost and lease.lost(min(time.monotonic() - began, pause)):
            lost, deadline = True, time.monotonic() + GRACE_S
            say(f"the step that follows this Job was not heard of for {lease.seconds} s (lease): stopping the training")
            command.send(signal.SIGTERM)
        if time.monotonic() >= deadline:
            command.send_all(signal.SIGKILL)
    end_group(command, GRACE_S if asked or lost else LEFTOVER_S)
    return LEASE_LOST if lost else command.code


def end_group(command: Command, grace_s: float) -> None:
    """End what the command left in its group; a signal to this process ends the grace."""
    for signum, patience in ((signal.SIGTERM, grace_s), (signal.SIGKILL, LEFTOVER_S)):
        until = time.monotonic() + patience
        command.reap()
        if not command.send_all(signum):
            return
        while time.monotonic() < until and any(members(command.pid)):
            got = signal.sigtimedwait(WATCHED, 0.05)
            if got and got.si_signo in ENDING:
                break
            command.reap()


# ---- the output folder ----


def checkpoints(output: str) -> list[tuple[int, str]]:
    """Folders `checkpoint-STEP` in the output folder, and one level below; the newest first."""
    found = []
    for folder in [output, *subfolders(output)]:
        for path in subfolders(folder):
            match = CHECKPOINT.fullmatch(os.path.basename(path))
            found += [(int(match[1]), path)] if match else []
    return sorted(found, reverse=True)


def is_whole(step: int, path: str) -> bool:
    """Whether a library has finished this checkpoint: it shows by the file that is written last.

    transformers 5.24.0 `Trainer._save_checkpoint` ends with `trainer_state.json`, accelerate 1.15.0
    `save_accelerator_state` with `random_states_0.pkl`. A mount may lose the end, so no file of weights may be empty.
    """
    files = [one for one in entries(path) if one.is_file(follow_symlinks=False)]
    names = {one.name for one in files}
    weights = (".safetensors", ".bin", ".pt", ".pth", ".pkl")
    if any(one.name.endswith(weights) and one.stat(follow_symlinks=False).st_size == 0 for one in files):
        return False
    if "trainer_state.json" in names:
        content = read_file(os.path.join(path, "trainer_state.json"))
        state = loaded(content)
        return content is None or (isinstance(state, dict) and state.get("global_step") == step)
    return "random_states_0.pkl" in names


def records(output: str) -> Iterator[dict[str, Any]]:
    """The ends of the runs of this folder, each with texts where times belong."""
    for house in entries(os.path.join(output, ".hf-train")):
        end = loaded(read_file(os.path.join(house.path, "end.json")))
        if isinstance(end, dict) and isinstance(end.get("started"), str):
            ended = end.get("ended")
            yield {**end, "ended": ended if isinstance(ended, str) else end["started"]}


def stale_until(output: str) -> str:
    """Until when a checkpoint was left by a run that ended well; empty when none has, `~` when none began after it.

    It is the start of the first run after it, not its own end: a mount may write later than the training did. Nodes
    of one launch agree, for the record of the first one is such a start.
    """
    ends = list(records(output))
    done = max((end["ended"] for end in ends if end.get("exit_code") == 0), default="")
    after = (end["started"] for end in ends if end["started"] >= done and end.get("exit_code") != 0)
    return min(after, default="~") if done else ""


def changed(path: str) -> str:
    """When the newest file of a checkpoint was written."""
    files = [one for folder in (path, *subfolders(path)) for one in entries(folder) if one.is_file()]
    return _time(max([one.stat().st_mtime for one in files] or [os.stat(path).st_mtime]))


def resumable(output: str, *, by_library: bool) -> tuple[int, str] | None:
    """The checkpoint to go on from: the newest whole one that no finished run left.

    Args:
        output: The output folder.
        by_library: Whether a library will load it. Then a folder that may be half of one is not taken, for every
            further run would fail at it; own code gets the newest that is not empty, and can look for itself.
    """
    stale = stale_until(output)
    found = [one for one in checkpoints(output) if not stale or changed(one[1]) > stale]
    whole = next((one for one in found if is_whole(*one)), None)
    return whole or (None if by_library else next((one for one in found if any(entries(one[1]))), None))


class Usage:
    """Host memory, and what `nvidia-smi` says of the GPUs."""

    def __init__(self, environ: dict[str, str]) -> None:
        self._environ = environ
        self._smi = which("nvidia-smi", environ)
        self._samples, self._memory, self._total = 0, 0, 0
        self._gpus: dict[int, dict[str, Any]] = {}

    def sample(self, last: bool) -> None:
        """Look once; at the end, when the GPUs rest, only if there was no time before."""
        if last and self._samples:
            return
        used, self._total = self._host()
        self._memory = max(self._memory, used)
        self._samples += 1
        lines = capture([self._smi, *NVIDIA_SMI], self._environ, 10.0).splitlines() if self._smi else []
        if self._smi and not lines:
            self._smi = None  # a tool without a GPU
        for number, line in enumerate(lines[:MAX_GPUS]):
            name, *values = (word.strip() for word in line.rsplit(",", 3))
            if len(values) == 3 and all(value.isdigit() for value in values):
                one = self._gpus.setdefault(number, {"name": name[:100], "sum": 0, "n": 0, "max": 0, "memory": 0})
                busy, memory, one["total"] = (int(value) for value in values)
                one.update(sum=one["sum"] + busy, n=one["n"] + 1)
                one.update(max=max(one["max"], busy), memory=max(one["memory"], memory))

    @staticmethod
    def _host() -> tuple[int, int]:
        """Bytes in use (without what the kernel can drop) and in all: of the container, else of the machine."""
        rows = (row.split() for row in (read_file("/proc/meminfo") or b"").decode().splitlines())
        info = {row[0]: int(row[1]) << 10 for row in rows if len(row) > 1}
        machine = info.get("MemTotal:", 0)
        for folder, now, most, cache in (
            ("/sys/fs/cgroup", "memory.current", "memory.max", b"inactive_file"),
            ("/sys/fs/cgroup/memory", "memory.usage_in_bytes", "memory.limit_in_bytes", b"total_inactive_file"),
        ):
            used, limit = (read_file(f"{folder}/{name}") for name in (now, most))
            if used is not None and used.strip().isdigit():
                stats = (line.split() for line in (read_file(f"{folder}/memory.stat") or b"").splitlines())
                dropped = next((int(row[1]) for row in stats if row[:1] == [cache]), 0)
                total = int(limit) if limit is not None and limit.strip().isdigit() else machine
                return max(0, int(used) - dropped), min(total, machine)
        return machine - info.get("MemAvailable:", machine), machine

    def as_json(self) -> dict[str, Any]:
        """Everything so far."""
        gpus = [
            {
                "name": one["name"],
                "utilization_mean_pct": round(one["sum"] / one["n"], 1),
                "utilization_max_pct": one["max"],
                "memory_max_bytes": one["memory"] << 20,
                "memory_total_bytes": one["total"] << 20,
            }
            for _, one in sorted(self._gpus.items())
        ]
        memory = {"host_memory_max_bytes": self._memory, "host_memory_total_bytes": self._total}
        return {"samples": self._samples, "gpu": gpus, **memory}


class House:
    """The folder `.hf-train/JOB` in the output folder: small files, each whole or not there."""

    def __init__(self, output: str, job: str) -> None:
        self._output = output
        self._folder = os.path.join(
            output, ".hf-train", re.sub(r"[^A-Za-z0-9._-]", "-", job)[:100].lstrip(".") or "job"
        )
        self._kept: dict[str, int] = {}

    def started(self) -> str | None:
        """When this Job began, if this is a further attempt of it; what an attempt before wrote is not stale."""
        end = loaded(read_file(os.path.join(self._folder, "end.json")))
        began = end.get("started") if isinstance(end, dict) and end.get("exit_code") != 0 else None
        return began if isinstance(began, str) else None

    def put(self, name: str, content: bytes) -> bool:
        """Write a file if it has changed. Returns whether it is there; if not, that is said once."""
        if self._kept.get(name) == hash(content):
            return True
        path = os.path.join(self._folder, name)
        try:
            if not os.path.isdir(self._output):  # not made anew: it would be a folder of the container's own
                raise FileNotFoundError(errno.ENOENT, "it is not there")
            os.makedirs(os.path.dirname(path), exist_ok=True)
            self._write(path, content)
        except OSError as error:
            say_once(f"{self._output} cannot be written to ({error.strerror}): results are not kept there")
            return False
        self._kept[name] = hash(content)
        return True

    def put_json(self, name: str, value: Any) -> None:
        """Write a value."""
        self.put(name, json.dumps(value).encode() + b"\n")

    @staticmethod
    def _write(path: str, content: bytes) -> None:
        part = f"{path}.part"
        try:
            with open(part, "wb") as stream:
                stream.write(content)
            os.replace(part, path)
        except OSError:  # a mount of an object store may know no rename
            with open(path, "wb") as stream:
                stream.write(content)
            with contextlib.suppress(OSError):
                os.unlink(part)


class Keeper(threading.Thread):
    """Writes to the output folder what a killed Job would lose.

    Args:
        output: The folder.
        metrics_file: A further file to keep, as the training names it.
        words: The command.
        environ: Its environment.
        resumed: The step that it goes on from.
    """

    def __init__(
        self, output: str, metrics_file: str, words: list[str], environ: dict[str, str], resumed: int | None
    ) -> None:
        super().__init__(daemon=True)
        self._output, self._words, self._environ = output, words, environ
        self._metrics = os.path.normpath(metrics_file).lstrip("/") if metrics_file else ""
        self._house = House(output, environ.get("JOB_ID", ""))
        self._usage, self._usage_at = Usage(environ), time.monotonic()
        self._python, self._frozen = "", False
        self._pid, self._done, self._wake = 0, False, threading.Event()
        self._work = os.getcwd()
        self._seen: dict[str, tuple[tuple[int, int], str]] = {}
        self._old = {path: mark for _, mark, path in self._results()}  # of the repository, or of an earlier run
        self._end: dict[str, Any] = {
            "version": 1,
            "job": environ.get("JOB_ID", ""),
            "exit_code": None,
            "signal": None,
            "started": self._house.started() or _time(),
            "ended": None,
            "resumed_from_step": resumed,
            "checkpoints": [],
            "launcher": " ".join(words[:3] if words[1:2] == ["-m"] else words[:1])[:200],
        }

    def follow(self, command: Command) -> None:
        """Begin."""
        self._pid = command.pid
        self.start()

    def hurry(self) -> None:
        """Look now: the end may be near."""
        self._wake.set()

    def finish(self, command: Command, code: int) -> None:
        """Write the end, and wait for it; but not for a mount that hangs."""
        self._end.update(exit_code=code, signal=command.ended_by, ended=_time())
        self._done = True
        self._wake.set()
        for patience in (LAST_S / 5, LAST_S):
            self.join(patience)
            for pid in list(HELPERS):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def run(self) -> None:
        """One round after the other, and a last one."""
        pause = FIRST_S
        self._house.put_json("end.json", {**self._end, "exit_code": None})
        last = False
        while not last:
            self._wake.wait(pause)
            self._wake.clear()
            began, last = time.monotonic(), self._done
            self._round(last)
            pause = max(min(PERIOD_S, pause * 2), SHARE * (time.monotonic() - began))

    def _round(self, last: bool) -> None:
        for step in (self._usage.sample, self._gather, self._traceback, self._freeze, self._record):
            try:
                step(last)
            except Exception as error:  # noqa: BLE001  (whatever it is, it is not the training's)
                say_once(f"{step.__name__.strip('_')}: {type(error).__name__}: {error}")

    def _results(self) -> list[tuple[str, tuple[int, int], str]]:
        names = {*RESULTS, os.path.basename(self._metrics)} - {""}
        found = [*named(self._work, names), *named(self._output, names)]
        return [one for one in found if one[0] in RESULTS or one[2].endswith(f"/{self._metrics}")]

    def _gather(self, _last: bool) -> None:
        newest: dict[str, tuple[tuple[int, int], str]] = {}
        for name, mark, path in self._results():
            if self._old.get(path) != mark:
                newest[name] = max(newest.get(name, (mark, path)), (mark, path))
        for name, found in newest.items():
            if self._seen.get(name) == found:
                continue
            if found[0][1] > MAX_BYTES:
                say_once(f"{found[1]} has more than a megabyte: it is not kept with the results")
            content = read_file(found[1])
            if name.endswith(".json") and loaded(content) is None:
                continue  # half of one: the next round sees it whole
            if content is not None and self._house.put(f"results/{name}", content):
                self._seen[name] = found

    def _traceback(self, _last: bool) -> None:
        """What torchrun keeps of the rank that failed first (torch 2.13 `elastic/multiprocessing/errors`)."""
        error = loaded(read_file(self._environ.get("TORCHELASTIC_ERROR_FILE", "")))
        message = error.get("message") if isinstance(error, dict) else None
        if isinstance(message, dict):
            extra = message.get("extraInfo")
            message = (extra.get("py_callstack") if isinstance(extra, dict) else None) or message.get("message")
        if isinstance(message, str) and message:
            self._house.put("traceback.txt", message.encode("utf-8", "replace"))

    def _freeze(self, last: bool) -> None:
        """The packages of the Python that trains, which with `uv run` is none of the image."""
        if self._frozen:
            return
        before, self._python = self._python, self._trains_with() or self._python
        if not self._python and last and os.path.basename(self._words[0]).startswith("python"):
            self._python = which(self._words[0], self._environ) or ""
        if self._python and (last or self._python == before):  # seen twice: uv looks into several
            self._frozen = True
            if packages := capture([self._python, "-I", "-c", FREEZE], self._environ, 5.0):
                self._house.put("freeze.txt", packages.encode())

    def _trains_with(self) -> str | None:
        """The newest Python in the command's group."""
        pythons = [one for one in members(self._pid) if os.path.basename(one[1]).startswith("python")]
        return which(max(pythons)[1], self._environ) if pythons else None

    def _record(self, last: bool) -> None:
        if last or time.monotonic() - self._usage_at > USAGE_S:
            self._usage_at = time.monotonic()
            self._house.put_json("usage.json", self._usage.as_json())
        self._end["checkpoints"] = sorted({step for step, _ in checkpoints(self._output)})[-MAX_STEPS:]
        self._house.put_json("end.json", self._end if last else {**self._end, "exit_code": None})


def _time(seconds: float | None = None) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def plain(word: str) -> str:
    """An option as argparse of the libraries reads it: `--a-b=c` is `--a_b`."""
    return word.partition("=")[0].replace("-", "_")


def resumed(words: list[str], environ: dict[str, str], output: str, flag: str) -> tuple[list[str], int | None]:
    """The command that goes on from a checkpoint if there is one, and from which step it does."""
    environ["HF_TRAIN_OUTPUT_DIR"] = output
    found = resumable(output, by_library=bool(flag))
    if found is None:
        return words, None
    step, environ["HF_TRAIN_CHECKPOINT"] = found
    if not flag:
        say(f"there is a checkpoint of step {step} (HF_TRAIN_CHECKPOINT={found[1]})")
        return words, None
    if plain(flag) in map(plain, words):
        return words, None
    say(f"resumed from step {step} ({found[1]})")
    return [*words, flag, found[1]], step


def main(words: list[str]) -> NoReturn:
    """Run the command to its end."""
    environ = dict(os.environ)
    lease_text, output, flag, metrics_file = (
        environ.pop(f"HF_TRAIN_{name}", "") for name in ("LEASE", "OUTPUT", "RESUME_FLAG", "METRICS_FILE")
    )
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    comfort(environ, os.getcwd())
    words = resolved(words, environ)
    keeper = lease = None
    if output:
        environ.setdefault("TORCHELASTIC_ERROR_FILE", f"{os.getcwd()}.error.json")
        step = None
        try:
            words, step = resumed(words, environ, output, flag)
        except OSError as error:
            say_once(f"{output} cannot be read ({error.strerror}): no checkpoint was looked for")
        keeper = Keeper(output, metrics_file, words, environ, step)
    if lease_text:
        lease = Lease(lease_text)
    command = Command(words, environ, mask)  # before there are threads: it forks
    if keeper:
        keeper.follow(command)
    if lease:
        lease.start()
    code = watch(command, lease, keeper)
    if keeper:
        keeper.finish(command, code)
    os._exit(code)  # a thread that a mount keeps waiting must not


if __name__ == "__main__":
    main(sys.argv[1:])
