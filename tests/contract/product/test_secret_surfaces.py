"""A planted secret in every coat, printed by the Job, and every surface that we write on: it is on none of them."""

from __future__ import annotations

import base64
import html
import json
import os
import re
import shutil
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

import pytest

from support import events
from support.github_stub import GitHubStub, Token
from support.local_hub_process import Hub
from support.product import Done, Product, commit, on_github

SECRET = 'hf_local_T0p"Secret/+?&\\ é~ZZ9xyzQW'
RAW = SECRET.encode()
COATS: Mapping[str, str] = {
    "itself": SECRET,
    "JSON": json.dumps(SECRET)[1:-1],
    "JSON in UTF-8": json.dumps(SECRET, ensure_ascii=False)[1:-1],
    "base64": base64.b64encode(RAW).decode(),
    "base64 behind one byte": base64.b64encode(b"x" + RAW + b"y").decode(),
    "base64 behind two bytes": base64.b64encode(b"u:" + RAW).decode(),
    "base64url": base64.urlsafe_b64encode(RAW).decode().rstrip("="),
    "hex": RAW.hex(),
    "HEX": RAW.hex().upper(),
    "URL": quote(SECRET, safe=""),
    "lower case URL": re.sub("%..", lambda match: match[0].lower(), quote(SECRET, safe="")),
    "HTML": html.escape(SECRET),
    "repr": repr(SECRET)[1:-1],
    "backwards": SECRET[::-1],
}
GITHUB = "ghs_localworkflow1"
# What the Job does with it: all over the log, as names and values of metrics, in the error that is quoted.
JOB = """\
import json, os, sys, time

secret = os.environ["MY_KEY"]
for name, coat in json.load(open("coats.json")).items():
    coat = "".join(map(chr, coat))
    print(name, coat, flush=True)
    print("{'loss': 0.5, %r: 1.0, 'note': %r}" % (coat, coat))
    print("in the middle\\x1b[31m" + coat[:9] + "\\x1b[0m" + coat[9:] + "\\rand again " + coat)
    half = len(coat) // 2
    print("broken:", coat[:half], flush=True)
    print(coat[half:], flush=True)
    for at in range(0, len(coat), 16):
        print(coat[at : at + 16])
print("https://huggingface.co/alice/" + secret)
time.sleep(1)
print("Traceback (most recent call last):\\n  File \\"train.py\\", line 3, in <module>", file=sys.stderr)
sys.exit("ValueError: the key " + secret + " is not accepted" if "fail" in sys.argv else 0)
"""


@pytest.fixture
def github() -> Iterator[GitHubStub]:
    """GitHub with pull request 7."""
    with GitHubStub() as server:
        server.state.add_pull(7)
        server.state.tokens[GITHUB] = Token()
        yield server


@pytest.fixture
def step(product: Product, github: GitHubStub, repo: Path, tmp_path: Path) -> Product:
    """The product in a step of a pull request, with folders of its own and a git that keeps its arguments."""
    for name in ("tmp", "home", "bin"):
        (tmp_path / name).mkdir()
    wrapper = tmp_path / "bin" / "git"
    wrapper.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> {tmp_path}/argv\nexec {shutil.which("git")} "$@"\n')
    wrapper.chmod(0o755)
    event = events.load("pull_request_labeled")
    files = on_github(tmp_path)
    product.environ |= {
        **event.environ,
        **{name: files[name] for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "RUNNER_TEMP")},
        "GITHUB_EVENT_PATH": str(event.path),
        "GITHUB_API_URL": github.url,
        "HF_TRAIN_GITHUB_TOKEN": GITHUB,
        "HF_TRAIN_STATE_FILE": str(tmp_path / "state" / "job.json"),
        "MY_KEY": SECRET,
        "TMPDIR": str(tmp_path / "tmp"),
        "HOME": str(tmp_path / "home"),
        "PATH": f"{tmp_path}/bin:{os.environ['PATH']}",
    }
    return product


def _found(where: Mapping[str, str], *more: str) -> list[str]:
    """Surfaces with a piece of the secret: the ends of each coat, and pieces of the secret itself."""
    ends = {f"{name}, {part}": coat[cut] for name, coat in COATS.items()
            for part, cut in (("begin", slice(4, 20)), ("end", slice(-20, -4)))}  # fmt: skip
    ends |= {f"characters from {at}": SECRET[at : at + 10] for at in range(0, len(SECRET) - 10, 5)}
    ends |= {one: one for one in more}
    return [f"{surface}: {name}" for surface, text in where.items() for name, piece in ends.items() if piece in text]


def _all_files(folder: Path, but: Path) -> dict[str, str]:
    """Every file below a folder that is not the checkout, as text."""
    files = [path for path in folder.rglob("*") if path.is_file() and but not in path.parents]
    return {str(path.relative_to(folder)): path.read_bytes().decode("utf-8", "replace") for path in files}


def _arguments(pid: int, stop: threading.Event, seen: set[str]) -> None:
    """Command lines of every process below one, looked at again and again."""
    while not stop.is_set():
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                if pid in (parent, int(folder.name)):
                    seen.add((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
            except (OSError, ValueError, IndexError):
                continue
        time.sleep(0.02)


def _run(step: Product, *words: str) -> tuple[Done, str, str]:
    """A run by process: how it ended, the state file as it was on the way, the arguments of all processes."""
    live = step.start("--secrets", "MY_KEY", "--check", "--reuse", "never", "--", "python", "job.py", *words)
    stop, seen = threading.Event(), set[str]()
    watcher = threading.Thread(target=_arguments, args=(live.process.pid, stop, seen))
    watcher.start()
    try:
        live.wait_for("was submitted")
        state = Path(step.environ["HF_TRAIN_STATE_FILE"]).read_text()
        done = live.done(60)
    finally:
        stop.set()
        watcher.join()
    return done, state, "\n".join(seen)


def _bucket(account: Hub, folder: Path) -> dict[str, str]:
    """Every file of the account's buckets."""
    bucket = f"{account.user}/jobs-artifacts"
    paths = [item.path for item in account.api.list_bucket_tree(bucket, recursive=True) if item.type == "file"]
    targets = [(path, folder / str(number)) for number, path in enumerate(paths)]
    account.api.download_bucket_files(bucket, [*targets])
    return {path: target.read_bytes().decode("utf-8", "replace") for path, target in targets if target.is_file()}


@pytest.mark.case(3, 4, 5, 7)
@pytest.mark.parametrize("fails", [False, True], ids=["completed", "failed"])
def test_no_surface_shows_a_secret(
    fails: bool, step: Product, github: GitHubStub, account: Hub, repo: Path, tmp_path: Path
) -> None:
    # As numbers, for the content scan would (rightly) refuse to send the coats themselves.
    coats = json.dumps({name: [ord(sign) for sign in coat] for name, coat in COATS.items()})
    (repo / "job.py").write_text(JOB)
    (repo / "coats.json").write_text(coats)

    commit(repo)
    account.forget()
    done, state, arguments = _run(step, *(["fail"] if fails else []))
    assert done.code == int(fails), done.out
    assert done.out.count("***") > 50, "the Job did print it"
    asked = account.requests()  # before we download anything ourselves
    jobs = [one for one in asked if one["method"] == "POST" and one["path"] == f"/api/jobs/{account.user}"]
    assert [json.loads(one["body"])["secrets"]["MY_KEY"] for one in jobs] == ["***"], "the log of the Hub keeps it"
    bodies = [json.loads(one["body"]) for one in jobs]
    for body in bodies:
        del body["secrets"]
    surfaces = {
        "log": re.sub(r"(?m)^::add-mask::.*$", "", done.out),
        "state file": state,
        "arguments": arguments + (tmp_path / "argv").read_text(),
        "comments": "\n".join(comment.body for comment in github.comments()),
        "GitHub": "\n".join(json.dumps(one.body, ensure_ascii=False) for one in github.requests),
        "Job": json.dumps(bodies, ensure_ascii=False),
        "Hub": "\n".join(str(one["body"]) for one in asked if one not in jobs),
        **_bucket(account, tmp_path / "bucket"),
        **_all_files(tmp_path, repo),
    }
    for needed in ("runner-temp/output", "runner-temp/summary.md", "report-1/report.json", "report-1/job.log"):
        assert needed in surfaces
    assert "hf-train:" in surfaces["comments"]
    surfaces = {name: text for name, text in surfaces.items() if not name.endswith("report-1.out")}
    assert _found(surfaces, account.token, GITHUB) == []
    masks = [line for line in done.out.splitlines() if line.startswith("::add-mask::")]
    assert done.out.startswith("::add-mask::")
    assert len(masks) > len(COATS)


def test_the_search_finds_what_is_there() -> None:
    assert _found({"log": "x"}) == []
    for name, coat in COATS.items():
        assert _found({"log": f"a {coat} b"}), name
    assert _found({"log": "ghs_x"}, "ghs_x") == ["log: ghs_x"]
