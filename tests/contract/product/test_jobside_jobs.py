"""The job side through the product, on the local Hub: real mounts, real signals; and the bare command without it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.hf_cli import eventually
from support.job_side import lives, wait_until
from support.local_hub_process import LIVE, Hub
from support.product import Product, commit, write

READ_ONLY = """\
import os, pathlib
for path in ("/code/train.py", "/code/new", "/code/.hf-train/start.sh"):
    try:
        open(path, "a").write("x")
        print(path, "was written")
    except OSError as error:
        print(path, error.strerror)
pathlib.Path("train.py").write_text("mine")
print(pathlib.Path("train.py").read_text(), os.getcwd().startswith("/code"))
"""


@pytest.fixture(autouse=True)
def ended(product: Product) -> Iterator[None]:
    """Leave no step behind."""
    yield
    product.end_all()


def test_the_code_is_mounted_read_only_and_the_copy_is_not(product: Product) -> None:
    """Also for root, whom no mode stops."""
    done = product.run("--", "python", "-c", READ_ONLY)
    assert (done.code, done.job_lines) == (0, [
        "/code/train.py Read-only file system",
        "/code/new Read-only file system",
        "/code/.hf-train/start.sh Read-only file system",
        "mine False",
    ]), done.out  # fmt: skip


def test_a_home_on_a_read_only_place(product: Product) -> None:
    """As in an image whose user has no folder of its own: the caches go beside the copy."""
    text = "import os, pathlib; p = pathlib.Path(os.environ['HF_HOME'], 'hub'); p.mkdir(parents=True); print(p)"
    done = product.run("--env", "HOME=/code", "--", "python", "-c", text)
    assert done.code == 0, done.out
    (line,) = done.job_lines
    assert line.endswith(".cache/huggingface/hub")


def test_a_daemon_that_the_command_forked_does_not_outlive_it(product: Product) -> None:
    """One in the command's group, and one that left it: that one ends with the container."""
    script = "sleep 30117 & setsid sleep 30217 & sleep 0.3; echo forked; exit 3"
    began = time.monotonic()
    done = product.run("--", "sh", "-c", script)
    assert (done.code, done.report["headline"]) == (1, "Training failed with exit code 3"), done.out
    assert done.job_lines == ["forked"]
    assert time.monotonic() - began < 20
    assert not running("sleep", "30117")
    assert not running("sleep", "30217")


def running(*words: str) -> list[int]:
    """Processes of this machine with this command line (ids in the Job are of its own namespace)."""
    line = b"\0".join(word.encode() for word in words) + b"\0"
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += [int(path.parent.name)] if path.read_bytes() == line and lives(int(path.parent.name)) else []
        except OSError:
            continue
    return found


STUBBORN = ("--", "sh", "-c", "trap '' TERM; echo run$((1 + 1)); while :; do sleep 0.2; done; : stubborn")


def test_a_command_that_ignores_sigterm_is_ended_by_its_timeout(product: Product, account: Hub) -> None:
    done = product.run("--timeout", "2s", *STUBBORN)
    assert (done.code, done.report["stage"]) == (5, "ERROR"), done.out
    assert done.job_lines == ["run2"]
    wait_until(lambda: not running(*STUBBORN[1:]), 20)


def test_a_command_that_ignores_sigterm_is_ended_by_a_cancel(product: Product, account: Hub) -> None:
    live = product.start("--timeout", "1h", *STUBBORN)
    live.wait_for("run2")
    (job,) = account.jobs()
    assert running(*STUBBORN[1:])
    account.api.cancel_job(job_id=job["id"], namespace=account.user)
    done = live.done(40)
    assert (done.code, done.report["stage"]) == (4, "CANCELED"), done.out
    eventually(lambda: all(one["status"]["stage"] not in LIVE for one in account.jobs()))
    wait_until(lambda: not running(*STUBBORN[1:]), 20)


# ---- off ----


def test_without_the_job_side_the_command_is_bare(product: Product, account: Hub, repo: Path) -> None:
    """In the image's folder, its own signals and environment; the code lies in the mount as the bucket has it."""
    write(repo, {"look.py": READ_ONLY.split("pathlib.Path(")[0] + "print(os.getcwd() == '/code', os.getppid())"})
    commit(repo)
    done = product.run("--jobside", "off", "--", "python", "/code/look.py")
    assert done.code == 0, done.out
    *lines, last = done.job_lines
    assert [line.rpartition(" file ")[2] for line in lines] == ["system"] * 3
    assert last.startswith("False ")
    assert account.jobs()[0]["command"] == ["python", "/code/look.py"]
    assert "jobside is off" in product.call("plan", "--jobside", "off", "--", "python", "/code/look.py").out
