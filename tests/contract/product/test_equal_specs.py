"""What `hf-train` submits is what the real `hf jobs run …` line that it prints submits.

Both go to the same local Hub; the bodies of the two `POST /api/jobs/…` are compared field by field. The line is the
one of `plan --format json`, run by `sh -c` with the same environment and the installed `hf`.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from support.local_hub_process import Hub
from support.product import Product, clean_environ, commit, on_github, sha_line, write

DETACH = ("--mode", "detach")
SECRETS = {
    "PLAIN": "hf-local-secret-1",
    "LINES": "-----BEGIN KEY-----\nab+/=\n\n  indented\n-----END KEY-----\n",
    "QUOTES": """it's "quoted" `and` $HOME \\n""",
    "HASH": "before # after #",
    "BLANKS": "  blanks at both ends \t",
    "WORDS": "Grüße ✓ 日本",
}
ENV = {
    "BLANKS": "two  words ",
    "QUOTED": """it's "so" """,
    "LINES": "first\nsecond=2\n",
    "UNICODE": "Grüße \u2028 ✓",
    "EQUALS": "a=b=c",
    "HASH": "x #y",
    "DOLLAR": "$HOME ${X} `id` \\",
    "EMPTY": "",
    "TOKENIZERS_PARALLELISM": "false",
}
PRINT_SHA = (
    "python",
    "-c",
    "import hashlib, os\nfor n, v in os.environ.items():\n print(n, hashlib.sha256(v.encode()).hexdigest(), sep='=')",
)
CLASHING = ("python", "train.py", "--flavor", "x", "--timeout", "5", "-e", "A=b", "--namespace", "n", "--", "-q", "-d")


@dataclass(frozen=True, kw_only=True)
class Line:
    """One launch line.

    Attributes:
        words: Words after `hf-train run`; `USER`, `URL` and `FILES` are filled in.
        env: The step's environment.
        expect: Fields of the body that are known beforehand.
    """

    words: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    expect: Mapping[str, Any] = field(default_factory=dict)
    github: bool = False
    config: str = ""


LINES = {
    "output-folder": Line(
        words=("--output", "bucket", "--metrics-file", "out/metrics.json", "--", "python", "train.py"),
        expect={
            "environment": {
                "PYTHONUNBUFFERED": "1",
                "HF_TRAIN_OUTPUT": "/output",
                "HF_TRAIN_METRICS_FILE": "out/metrics.json",
            }
        },
    ),
    "attached": Line(words=("--", "python", "train.py"), expect={"timeoutSeconds": 1800, "flavor": "cpu-basic"}),
    "uv-script": Line(
        words=(*DETACH, "--script", "train.py", "--args", "--lr 0.1 --note 'a b' --json '{\"x\": 1}'"),
        expect={"dockerImage": "ghcr.io/astral-sh/uv:python3.12-bookworm"},
    ),
    "url-script": Line(words=(*DETACH, "--timeout", "30m", "--script", "FILES/train.py?x=1", "--args", "-v")),
    "folder-with-pyproject": Line(
        words=(*DETACH, "--path", "pkg", "--mount", "/src", "--timeout", "1.5h", "--command", "uv run python main.py"),
        expect={"timeoutSeconds": 5400},
    ),
    "buckets": Line(
        words=(
            *DETACH,
            *("--volumes", "hf://buckets/USER/out:/out:rw"),
            *("--volumes", "hf://buckets/USER/out/sub:/sub"),
            *("--volumes", "hf://buckets/USER/out:/frozen:ro"),
            *("--timeout", "90s", "--", "ls", "/out"),
        ),
        expect={"timeoutSeconds": 90},
    ),
    "repos-with-revisions": Line(
        words=(
            *DETACH,
            *("--volumes", "hf://USER/model:/m1"),
            *("--volumes", "hf://models/USER/model@v1.0:/m2:ro"),
            *("--volumes", "hf://models/USER/model@feature%2Fx/sub:/m3"),
            *("--volumes", "hf://models/USER/model@refs/pr/1:/m4"),
            *("--volumes", "hf://datasets/USER/data@main:/d1"),
            *("--volumes", "hf://spaces/USER/app:/s1"),
            *("--timeout", "5400", "--", "ls", "/m1"),
        ),
        expect={"timeoutSeconds": 5400},
    ),
    "local-folders": Line(
        words=(*DETACH, "--volumes", "./data:/data", "--volumes", "./data:/mine:rw", "--timeout", "1h30m", "--", "ls"),
        expect={"timeoutSeconds": 5400},
    ),
    "secrets": Line(
        words=(*DETACH, *(word for name in SECRETS for word in ("--secrets", name)), "--", *PRINT_SHA),
        env=SECRETS,
        expect={"secrets": dict.fromkeys(SECRETS, "***")},
    ),
    "env": Line(
        words=(
            *DETACH,
            *(word for name, value in ENV.items() for word in ("--env", f"{name}={value}")),
            "--",
            *PRINT_SHA,
        ),
        expect={"environment": {"PYTHONUNBUFFERED": "1", **ENV}},
    ),
    "attempts-and-labels": Line(
        words=(*DETACH, "--attempts", "3", "--command", "true"), github=True, expect={"attempts": 3}
    ),
    "gpu-flavor": Line(
        words=(*DETACH, "--flavor", "a10g-largex2", "--image", "pytorch/pytorch:2.6.0-cuda12.4", "--", "true"),
        expect={"flavor": "a10g-largex2", "dockerImage": "pytorch/pytorch:2.6.0-cuda12.4"},
    ),
    "digest-image": Line(
        words=(
            *DETACH,
            "--flavor",
            "h200x8",
            "--image",
            f"ghcr.io/o/i@sha256:{'a' * 64}",
            "--path",
            "none",
            "--",
            "ls",
        ),
        expect={"command": ["ls"], "flavor": "h200x8"},
    ),
    "space-image": Line(
        words=(*DETACH, "--image", "hf.co/spaces/USER/app", "--path", "none", "--", "true"),
        expect={"spaceId": "USER/app"},
    ),
    "clashing-flags": Line(words=(*DETACH, "--", *CLASHING)),
    "shell-line": Line(words=(*DETACH, "--command", "echo \"$HOME\" && python train.py | tee 'a b.log'")),
    "options-in-command": Line(words=(*DETACH, "--path", "none", "--", "sh", "-c", 'echo $0 "$@"', "--help", "")),
    "config-file": Line(
        words=DETACH,
        config='command: [python, train.py, "a b"]\nenv: {LINES: "a\\nb", N: 3}\ntimeout: 2h\nflavor: t4-small\n',
        expect={"environment": {"PYTHONUNBUFFERED": "1", "LINES": "a\nb", "N": "3"}, "timeoutSeconds": 7200},
    ),
}


@pytest.fixture
def files(tmp_path: Path) -> Iterator[str]:
    """A web server on loopback with a script."""
    folder = tmp_path / "www"
    write(folder, {"train.py": "# /// script\n# dependencies = []\n# ///\nprint('from afar')\n"})
    handler = partial(_Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the base names it)
        """Say nothing."""


@pytest.fixture
def workspace(repo: Path) -> Path:
    """The repository with a project, a data folder and whatever the lines name."""
    write(
        repo,
        {
            "pkg/pyproject.toml": '[project]\nname = "p"\nversion = "0"\nrequires-python = ">=3.11"\n',
            "pkg/main.py": "print('main')\n",
            "data/train.csv": "a,b\n1,2\n",
        },
    )
    commit(repo, "More")
    return repo


def _prepare(hub: Hub, line: Line) -> None:
    """What the volumes of a line name must exist."""
    text = " ".join(line.words)
    api = hub.api
    if "buckets/USER" in text:
        api.create_bucket(f"{hub.user}/out", private=True)
        api.batch_bucket_files(f"{hub.user}/out", add=[(b"x", "sub/x.txt")])
    if "USER/model" in text:
        model = f"{hub.user}/model"
        api.create_repo(model)
        api.upload_file(path_or_fileobj=b"{}", path_in_repo="sub/config.json", repo_id=model)
        api.create_tag(model, tag="v1.0")
        api.create_branch(model, branch="feature/x")
        api.create_pull_request(model, title="One")
        api.create_repo(f"{hub.user}/data", repo_type="dataset")
    if "spaces/USER" in text:
        api.create_repo(f"{hub.user}/app", repo_type="space", space_sdk="docker")


@pytest.mark.case(15)
@pytest.mark.parametrize("name", LINES)
def test_the_printed_hf_line_submits_the_same_job(
    name: str, product: Product, account: Hub, workspace: Path, files: str, tmp_path: Path
) -> None:
    line = LINES[name]
    words = [word.replace("USER", account.user).replace("FILES", files) for word in line.words]
    if line.config:
        write(workspace, {".github/hf-train.yml": line.config})
    product.environ |= line.env
    if line.github:
        product.environ |= on_github(tmp_path)
    _prepare(account, line)

    ours = product.run(*words)
    assert ours.code == 0, ours.out + ours.err
    planned = product.call("plan", "--format", "json", *words)
    assert planned.code == 0, planned.out + planned.err
    hf_line = json.loads(planned.out)["hf-jobs-run"]
    assert not any(value in hf_line for value in line.env.values())
    environ = clean_environ({**product.environ, "HOME": str(tmp_path)})
    theirs = subprocess.run(
        ["sh", "-c", hf_line], cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=60, check=False
    )
    assert theirs.returncode == 0, f"{hf_line}\n{theirs.stdout}{theirs.stderr}"

    first, second = account.launches()
    if name == "local-folders":
        # A folder that the Job may write to is sent anew for each launch; `plan` names another one than `run`.
        own = [body["volumes"].pop()["path"] for body in (first, second)]
        assert own[0] != own[1]
    labels = [body.pop("labels") for body in (first, second)]
    assert first == second
    assert {**labels[0], "hft-nonce": ""} == {**labels[1], "hft-nonce": ""}
    for key, value in line.expect.items():
        wanted = value.replace("USER", account.user) if isinstance(value, str) else value
        assert first[key] == wanted, key
    if name == "clashing-flags":
        assert first["command"][-len(CLASHING) :] == list(CLASHING)
    _same_values(account, line.env or (ENV if name == "env" else {}))


def _same_values(hub: Hub, values: Mapping[str, str]) -> None:
    """Both Jobs got every value byte for byte: they print its hash."""
    if not values:
        return
    logs = [hub.log(job["id"]) for job in hub.jobs()]
    assert len(logs) == 2
    for name, value in values.items():
        expected = hashlib.sha256(value.encode()).hexdigest()
        assert [sha_line(log, name) for log in logs] == [expected, expected], name
