"""What the examples of own code launch is what the real `hf` launches from the documented command.

Both go to the same local Hub, and the bodies of the two `POST /api/jobs/...` are compared field by field. What differs
on purpose is put right before: our start script in front, and the place of the code, which is a snapshot for us and an
upload of the moment for `hf`. The Jobs find no program (PATH), so they install nothing.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.local_hub_process import Hub
from support.paths import ROOT
from support.product import Product, clean_environ, commit

AROUND = "--namespace {user} --timeout 600s --flavor cpu-basic -e PYTHONUNBUFFERED=1 -e PATH=/nowhere -d"
UV = "ghcr.io/astral-sh/uv:python3.12-bookworm"
IMAGE = f"ghcr.io/octo/pumps@sha256:{'a' * 64}"


@dataclass(frozen=True, kw_only=True)
class Way:
    """One way to train by own code.

    Attributes:
        example: Its folder.
        ours: Options of `hf-train run`.
        theirs: The documented line; `{around}`, `{user}` are filled in.
        sends: Whether code is sent.
    """

    example: str
    ours: str
    theirs: str
    sends: bool = True


WAYS = {
    "file": Way(
        example="own-file",
        ours="--script train.py --args --hub_model_id\\ {user}/moons --secrets HF_TOKEN",
        theirs="hf jobs uv run {around} -s HF_TOKEN train.py --hub_model_id {user}/moons",
    ),
    "folder": Way(
        example="own-folder",
        ours="--secrets HF_TOKEN -- uv run python -m houses --hub_model_id {user}/houses",
        theirs=f"hf jobs run {{around}} -s HF_TOKEN -v .:/code {UV}"
        " -- uv run python -m houses --hub_model_id {user}/houses",
    ),
    "image": Way(
        example="own-image",
        ours=f"--image {IMAGE} --path none --volumes hf://buckets/{{user}}/pumps:/out:rw"
        " -- python3 /app/train.py --output_dir /out/model",
        theirs=f"hf jobs run {{around}} -v hf://buckets/{{user}}/pumps:/out:rw {IMAGE}"
        " -- python3 /app/train.py --output_dir /out/model",
        sends=False,
    ),
}


@pytest.mark.parametrize("name", WAYS)
def test_the_documented_line_submits_the_same_job(
    name: str, product: Product, account: Hub, repo: Path, tmp_path: Path
) -> None:
    way = WAYS[name]
    folder = repo / "code"
    shutil.copytree(ROOT / "examples" / way.example, folder, ignore=shutil.ignore_patterns("__pycache__"))
    commit(repo)
    if name == "image":
        account.api.create_bucket(f"{account.user}/pumps", private=True)
    environ = {"HF_TOKEN": account.token, "HOME": str(tmp_path)}

    options, _, command = way.ours.partition(" -- ")
    sent = "" if "--path" in options else "--path code"
    line = f"{options} {sent} --flavor cpu-basic --timeout 10m --mode detach --env PATH=/nowhere"
    line += f" -- {command}" if command else ""
    ours_run = product.run(*shlex.split(line.format(user=account.user)), env=environ)
    assert ours_run.code == 0, ours_run.out + ours_run.err
    documented = way.theirs.format(around=AROUND.format(user=account.user), user=account.user)
    done = subprocess.run(
        ["sh", "-c", documented],
        cwd=folder,
        env=clean_environ({**product.environ, **environ}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr

    ours, theirs = account.launches()
    for body in (ours, theirs):
        body.pop("labels", None)
    if way.sends:
        _same_code(ours, theirs, account)
    assert ours == theirs
    assert ours["flavor"] == "cpu-basic"


def _same_code(ours: dict[str, Any], theirs: dict[str, Any], account: Hub) -> None:
    """Both mount the code from a bucket of the account; ours read-only, verified and copied by our start script."""
    (code,), (copy,) = (body.pop("volumes") for body in (ours, theirs))
    assert (code["type"], code["source"], code["mountPath"]) == ("bucket", copy["source"], "/code")
    assert code["readOnly"] is True
    command = ours["command"]
    assert command[:2] == ["sh", "/code/.hf-train/start.sh"]
    ours["command"] = command[2:]
    assert copy["source"] == f"{account.user}/jobs-artifacts"
    theirs["command"] = [word.replace(copy["mountPath"] + "/", "") for word in theirs["command"]]
