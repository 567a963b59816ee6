"""What a recipe launches is what the real `hf` launches from the library's documented command.

Both go to the same local Hub, and the bodies of the two `POST /api/jobs/...` are compared field by field. Three things
differ on purpose, and are put right before: our start script in front; the script's place, which is in the snapshot for
us and `/data` for `hf`; and `--no-project`, because the repository may be a project and the script is no part of it. A
server on loopback stands in for the host of the scripts. The Jobs find no program (PATH), so they install nothing.
"""

from __future__ import annotations

import shlex
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path, PurePosixPath

import pytest

from hf_train import recipes
from hf_train.recipes import LIBRARIES, RECIPES, Recipe
from hf_train.wiring import known_images
from support.local_hub_process import Hub
from support.product import Product, clean_environ, commit, write

ARGS = "--model_name_or_path org/base --seed 7"
# As the Hub's documentation of Jobs, the libraries' own pages and their scripts' headers have them; versions are ours.
UV = "hf jobs uv run --flavor {flavor} {with}"
PUSH = "--hub_model_id {repo} --push_to_hub --output_dir tuned"
DOCUMENTED = {
    "transformers": f"{UV} -- {{script}} {PUSH} {{args}}",
    "diffusers": f"{UV} -- {{script}} {PUSH} {{args}}",
    "unsloth": f"{UV} -- {{script}} --hub_path {{repo}} --save_model --push_model --output_dir tuned {{args}}",
    "trl": f"{UV} -- python {{program}} {PUSH} {{args}}",
    "axolotl": "hf jobs run --flavor {flavor} -- {image} axolotl train config.yml --hub-model-id {repo}",
}
SEVERAL = {
    "accelerate": f"{UV} -- accelerate launch --num_processes 4 {{program}} --output_dir output {{args}}",
    "torchrun": f"{UV} -- torchrun --nproc_per_node 4 {{program}} --output_dir output {{args}}",
    "own": "hf jobs run --flavor {flavor} -- {image} axolotl train config.yml",
}


class _Raw(SimpleHTTPRequestHandler):
    """Any path that ends in .py is a script."""

    def do_GET(self) -> None:
        body = b"print('a script')\n" if self.path.endswith(".py") else b""
        self.send_response(200 if body else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the base names it)
        """Say nothing."""


@pytest.fixture
def raw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Where recipes fetch from, on loopback."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Raw, directory=str(tmp_path))) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        monkeypatch.setattr(recipes, "RAW", url)
        yield url
        server.shutdown()


@pytest.fixture
def checkout(repo: Path) -> Path:
    """The repository with Axolotl's file, and a project that is not to be installed."""
    write(
        repo,
        {
            "config.yml": "base_model: org/base\n",
            "pyproject.toml": '[project]\nname = "p"\nversion = "0"\nrequires-python = ">=3.11"\n',
        },
    )
    commit(repo, "More")
    return repo


def _theirs(line: str, recipe: Recipe, account: Hub, product: Product, image: str, *, flavor: str) -> None:
    """Run the documented line, with the place, the time and the token of our own run."""
    words = line.format(
        **{
            "flavor": flavor,
            "with": shlex.join(word for one in recipe.packages for word in ("--with", one)),
            "script": recipe.url,
            "program": recipe.url or shlex.join(recipe.program),
            "args": ARGS,
            "repo": f"{account.user}/tuned",
            "image": image,
        }
    ).split(" --flavor ", 1)
    around = f"--namespace {account.user} --timeout 1800s --env PYTHONUNBUFFERED=1 --env PATH=/nowhere -s HF_TOKEN -d"
    done = subprocess.run(
        ["sh", "-c", f"{words[0]} {around} --flavor {words[1]}"],
        cwd=product.scratch,
        env=clean_environ({**product.environ, "HF_TOKEN": account.token, "HOME": str(product.scratch)}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _ours(recipe: Recipe, account: Hub, product: Product, *more: str, flavor: str) -> None:
    """The same by a recipe."""
    what = ("--config", "config.yml") if recipe.needs_config else ("--args", ARGS)
    done = product.run(
        *("--mode", "detach", "--recipe", recipe.name, *what, *more, "--flavor", flavor, "--reuse", "never"),
        *("--env", "PATH=/nowhere", "--secrets", "HF_TOKEN"),
        env={"HF_TOKEN": account.token},
    )
    assert done.code == 0, done.out + done.err


def _same(recipe: Recipe, account: Hub, *, flavor: str) -> None:
    ours, theirs = account.launches()
    code, *_ = ours.pop("volumes")
    assert code["readOnly"] is True
    theirs.pop("volumes", None)
    for body in (ours, theirs):
        body.pop("labels")
        assert body.pop("flavor") == flavor
    command = ours.pop("command")
    assert command[:2] == ["sh", "/code/.hf-train/start.sh"]
    documented = theirs.pop("command")
    name = PurePosixPath(recipe.script).name
    place = {f"/data/{name}": f"/code/.hf-train/scripts/{name}", recipe.url: f"/code/.hf-train/scripts/{name}"}
    documented = [place.get(word, word) for word in documented] if recipe.script else documented
    ran = [word for word in command[2:] if word != "--no-project"]
    if recipe.script and "python" in ran and "python" not in documented:
        ran.remove("python")  # `uv run x.py` and `uv run python x.py` are the same for a script without a header
    assert ran == documented
    assert ours == theirs


@pytest.fixture
def images() -> dict[str, str]:
    """The known images, each by its digest."""
    return {pin.name: pin.image for pin in known_images()}


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda one: one.name)
def test_one_process_that_publishes(
    recipe: Recipe, product: Product, account: Hub, checkout: Path, raw: str, images: dict[str, str]
) -> None:
    _ours(recipe, account, product, "--model-repo", f"{account.user}/tuned", flavor="cpu-basic")
    line = DOCUMENTED[recipe.name.partition("/")[0]]
    _theirs(line, recipe, account, product, images.get(recipe.image, ""), flavor="cpu-basic")
    _same(recipe, account, flavor="cpu-basic")


@pytest.mark.parametrize("recipe", LIBRARIES.values(), ids=LIBRARIES)
def test_one_process_per_gpu(
    recipe: Recipe, product: Product, account: Hub, checkout: Path, raw: str, images: dict[str, str]
) -> None:
    _ours(recipe, account, product, flavor="a10g-largex4")
    line = SEVERAL[recipe.launcher]
    _theirs(line, recipe, account, product, images.get(recipe.image, ""), flavor="a10g-largex4")
    _same(recipe, account, flavor="a10g-largex4")
