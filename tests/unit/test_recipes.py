"""Recipes: the table, what each becomes, and that what the user says wins."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_train.errors import BadInput
from hf_train.inputs import Layers, parse, with_words
from hf_train.plan import UV_IMAGE, Facts, Plan, default_image, make_plan
from hf_train.preflight import command_findings
from hf_train.recipes import BY_NAME, LIBRARIES, RECIPES, Recipe, recipe_of
from hf_train.script import HOSTS
from hf_train.show import rows
from hf_train.smoke import smoke_inputs
from support.paths import ROOT
from unit.makers import FACTS, FLAVORS, ON_GITHUB

ONE, FOUR = "t4-small", "a10g-largex4"
FETCHED = replace(FACTS, script_path=PurePosixPath(".hf-train", "scripts", "x.py"))
START = ["sh", "/code/.hf-train/start.sh"]
by_recipe = pytest.mark.parametrize("recipe", RECIPES, ids=lambda one: one.name)


def _made(name: str, facts: Facts | None = None, config_text: str | None = None, **flags: Any) -> Plan:
    given: dict[str, Any] = {"recipe": name, "flavor": ONE, **{k.replace("_", "-"): v for k, v in flags.items()}}
    if BY_NAME[name].needs_config:
        given.setdefault("config", "c.yml")
    facts = facts or (FETCHED if BY_NAME[name].script else FACTS)
    return make_plan(parse(Layers(flags=given)), ON_GITHUB, facts, config_text=config_text)


def _command(name: str, **more: Any) -> list[str]:
    words = list(_made(name, **more).job.command)
    assert words[:2] == START
    return words[2:]


def _tail(name: str, **more: Any) -> list[str]:
    """The command from the program on."""
    words, recipe = _command(name, image="own/image:1", **more), BY_NAME[name]
    first = "/code/.hf-train/scripts/x.py" if recipe.script else recipe.program[-1]
    return words[words.index(first) + 1 :]


# ---- the table ----


@by_recipe
def test_a_script_is_pinned_to_a_commit_and_a_package_to_a_release(recipe: Recipe) -> None:
    assert bool(recipe.script) != bool(recipe.program)
    if recipe.script:
        assert re.fullmatch(r"[0-9a-f]{40}", recipe.commit)
        assert recipe.url.startswith("https://")
        assert recipe.url.split("/")[2] in HOSTS
    assert bool(recipe.packages) != bool(recipe.image)
    assert all(re.fullmatch(r"[A-Za-z0-9-]+==[0-9][0-9.]*", one) for one in recipe.packages)
    assert recipe.what


def test_trl_is_what_the_tests_train_with() -> None:
    """Every package that both name has one version, so the pins move together."""
    lines = (ROOT / "examples" / "requirements-training.txt").read_text(encoding="utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if "==" in line)
    ours = dict(one.split("==") for one in BY_NAME["trl/sft"].packages)
    assert {name: pinned[name] for name in ours if name in pinned} == {
        name: version for name, version in ours.items() if name in pinned
    }
    assert {"trl", "transformers", "accelerate", "datasets", "peft", "torch"} <= ours.keys() & pinned.keys()


def test_docs_have_a_row_for_each_recipe_with_its_pin() -> None:
    text = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
    for recipe in RECIPES:
        assert f"| `{recipe.name}` |" in text
        assert (recipe.commit or recipe.image or recipe.packages[0]) in text
        assert recipe.script in text


@pytest.mark.parametrize(
    ("library", "form"),
    [
        ("transformers", "transformers/glue"),
        ("trl", "trl/sft"),
        ("unsloth", "unsloth"),
        ("axolotl", "axolotl"),
        ("diffusers", "diffusers/lora"),
    ],
)
def test_a_bare_library_is_its_first_form(library: str, form: str) -> None:
    assert recipe_of(library) == BY_NAME[form]
    assert set(LIBRARIES) == {"transformers", "trl", "unsloth", "axolotl", "diffusers"}


# ---- what it becomes ----


@by_recipe
def test_one_gpu_is_one_process_in_an_environment_of_pinned_packages(recipe: Recipe) -> None:
    words = _command(recipe.name)
    if recipe.image:
        assert words[:2] == list(recipe.program)
        return
    install = ["uv", "run", "--no-project", *(word for one in recipe.packages for word in ("--with", one))]
    program = ["/code/.hf-train/scripts/x.py"] if recipe.script else list(recipe.program)
    assert words[: len(install) + 1 + len(program)] == [*install, "python", *program]


@by_recipe
@pytest.mark.parametrize("image", [None, "own/image:1"])
def test_several_gpus_are_several_processes(recipe: Recipe, image: str | None) -> None:
    words = _command(recipe.name, flavor=FOUR, **({"image": image} if image else {}))
    wanted = {
        "accelerate": ["accelerate", "launch", "--num_processes", "4"],
        "torchrun": ["torchrun", "--nproc_per_node", "4"],
        "own": ["axolotl", "train"],
    }[recipe.launcher]
    at = words.index(wanted[0])
    assert words[at : at + len(wanted)] == wanted
    assert "python" not in words
    assert (words[0] == "uv") == (image is None and not recipe.image)


@by_recipe
def test_an_idle_gpu_is_no_warning_for_a_recipe(recipe: Recipe) -> None:
    flags = {"recipe": recipe.name, "flavor": FOUR} | ({"config": "c.yml"} if recipe.needs_config else {})
    inputs = parse(Layers(flags=flags))
    assert [one.title for one in command_findings(make_plan(inputs, ON_GITHUB, FETCHED), inputs)] == []
    plain = parse(Layers(flags={"command": "python train.py", "flavor": FOUR}))
    assert [one.title for one in command_findings(make_plan(plain, ON_GITHUB, FACTS), plain)] == ["Idle GPUs"]


@by_recipe
def test_an_image_of_the_users_holds_the_packages(recipe: Recipe) -> None:
    made = _made(recipe.name, image="own/image:1")
    assert made.job.image == "own/image:1"
    assert made.job.command[2] == ("axolotl" if recipe.image else "python")


def test_the_image_is_uvs_or_the_recipes() -> None:
    assert default_image(parse(Layers(flags={"recipe": "trl/dpo"}))) == UV_IMAGE
    assert default_image(parse(Layers(flags={"recipe": "axolotl", "config": "c.yml"}))) == "axolotl"


# ---- the model's repo ----


@by_recipe
def test_a_model_repo_makes_it_publish(recipe: Recipe) -> None:
    without = shlex.join(_tail(recipe.name))
    assert recipe.repo not in without
    assert not any(word in without for word in recipe.push)
    words = _tail(recipe.name, model_repo="alice/chat")
    at = words.index(recipe.repo)
    assert words[at : at + 2 + len(recipe.push)] == [recipe.repo, "alice/chat", *recipe.push]
    if recipe.launcher != "own":
        assert words[words.index(recipe.output) + 1] == "chat", "a push without a name takes the folder's"


@by_recipe
def test_arguments_win(recipe: Recipe) -> None:
    mine = f"{recipe.repo.replace('_', '-')}=bob/other --x 1 {recipe.output} mine {' '.join(recipe.push)}"
    words = _tail(recipe.name, model_repo="alice/chat", args=mine)
    config = ["c.yml"] if recipe.needs_config else []
    assert words == [*config, *shlex.split(mine)], "nothing is added to what is there"


def test_a_flag_that_is_set_to_false_stays_so() -> None:
    words = _tail("trl/sft", model_repo="alice/chat", args="--push_to_hub false")
    assert words.count("--push_to_hub") == 1


@pytest.mark.parametrize("name", ["trl/sft", "axolotl"])
def test_the_configuration_wins_too(name: str) -> None:
    yaml = "hub_model_id: bob/other\noutput_dir: mine\npush_to_hub: true\n"
    flags = {"model_repo": "alice/chat", "config": "c.yml", "args": "--x 1"}
    option = ["--config"] if name == "trl/sft" else []
    assert _tail(name, config_text=yaml, **flags) == [*option, "c.yml", "--x", "1"]
    empty = _tail(name, config_text="hub_model_id:\n", **flags)
    assert "alice/chat" in empty, "a key without a value says nothing"


@pytest.mark.parametrize("text", ["a: [", "- a\n- b\n", "just text", "a: &a [*a]\n", "x" * 300_000, "? [a]\n: b\n"])
def test_a_configuration_that_cannot_be_read_says_nothing(text: str) -> None:
    assert "alice/chat" in _tail("axolotl", config_text=text, model_repo="alice/chat")


def test_a_configuration_of_no_sane_size_is_not_read() -> None:
    text = f"hub_model_id: bob/other\n# {'x' * (1 << 18)}\n"
    assert "alice/chat" in _tail("axolotl", config_text=text, model_repo="alice/chat")


@given(st.text(max_size=80))
def test_no_configuration_breaks_the_plan(text: str) -> None:
    assert "alice/chat" in _tail("axolotl", config_text=text, model_repo="alice/chat") or "hub" in text


def test_what_this_step_publishes_the_job_does_not_push() -> None:
    out = {"publish": "/out", "volumes": "hf://buckets/alice/out:/out:rw"}
    words = _tail("trl/sft", model_repo="alice/chat", args="--output_dir /out", **out)
    assert words == ["--output_dir", "/out"]


def test_a_push_without_a_token_is_found_before_the_launch() -> None:
    for recipe in RECIPES:
        flags = {"recipe": recipe.name, "model-repo": "alice/chat"}
        inputs = parse(Layers(flags=flags | ({"config": "c.yml"} if recipe.needs_config else {})))
        findings = command_findings(make_plan(inputs, ON_GITHUB, FETCHED), inputs)
        assert [(one.title, one.level) for one in findings] == [("No token in the Job", "error")], recipe.name


# ---- with the rest ----


def test_a_smoke_run_gets_the_recipe_with_its_arguments_and_publishes_nothing() -> None:
    inputs = parse(
        Layers(flags={"recipe": "trl/sft", "model-repo": "a/b", "args": "--lr 1", "smoke": "args: --max_steps 2"})
    )
    short = smoke_inputs(inputs)
    command = make_plan(short, ON_GITHUB, FACTS).job.command
    assert command[-6:] == ("--output_dir", "output", "--lr", "1", "--max_steps", "2")
    assert "--push_to_hub" not in command


def test_words_of_a_train_comment_are_arguments_of_the_recipe() -> None:
    inputs, problems = with_words(parse(Layers(flags={"recipe": "trl/sft"})), ("--lr=1",))
    assert problems == ()
    assert inputs.args == ("--lr=1",)


def test_the_plan_says_line_by_line_what_it_became() -> None:
    table = dict(rows(_made("diffusers/lora", flavor=FOUR, model_repo="alice/style")))
    commit = BY_NAME["diffusers/lora"].commit
    assert table["recipe"].startswith("diffusers/lora: LoRA")
    assert table["program"] == (
        f"https://raw.githubusercontent.com/huggingface/diffusers/{commit}/examples/text_to_image/"
        "train_text_to_image_lora.py"
    )
    assert table["packages"].startswith("diffusers==0.40.0, ")
    assert table["launcher"] == "accelerate launch --num_processes 4 (4 GPUs)"
    assert table["added"] == "--hub_model_id alice/style --push_to_hub --output_dir style"
    assert table["its options"] == (
        "output --output_dir, repo --hub_model_id, push --push_to_hub, resume --resume_from_checkpoint"
    )
    table = dict(rows(_made("axolotl", image="own/image:1")))
    assert (table["packages"], table["launcher"]) == ("those of the image", "its own, on all GPUs (1)")
    assert table["added"] == "nothing: args and config stand as they are"
    assert "recipe" not in dict(rows(make_plan(parse(Layers(flags={"command": "true"})), ON_GITHUB, FACTS)))


def test_two_gpus_are_two_processes() -> None:
    two = replace(FACTS, flavors=(replace(FLAVORS[2], name="l4x2", gpus=2),))
    words = _made("trl/sft", two, flavor="l4x2").job.command
    assert words[words.index("accelerate") :][:4] == ("accelerate", "launch", "--num_processes", "2")


def test_the_flavor_need_not_be_known() -> None:
    made = _made("trl/sft", replace(FACTS, flavors=None), flavor=FOUR)
    assert "python" in made.job.command
    assert {one.name for one in FLAVORS} >= {ONE, FOUR}


# ---- bad input ----


@pytest.mark.parametrize(
    ("flags", "words", "message"),
    [
        (
            {"recipe": "trl/stf"},
            (),
            "recipe: 'trl/stf' is no recipe; did you mean trl/sft? (there are transformers/glue, ",
        ),
        ({"recipe": "torch"}, (), "recipe: 'torch' is no recipe"),
        ({"recipe": "trl", "script": "t.py"}, (), "recipe and script: a recipe brings its own program; keep one"),
        ({"recipe": "trl", "command": "true"}, (), "recipe and command: a recipe brings its own program; keep one"),
        ({"recipe": "trl"}, ("true",), "recipe and command: a recipe brings its own program; keep one"),
        (
            {"recipe": "trl", "script": "t.py", "command": "true"},
            (),
            "recipe and script and command: a recipe brings its own program; keep one",
        ),
        ({"recipe": "axolotl"}, (), "config: axolotl runs what a YAML file says; name it"),
        ({"recipe": "unsloth", "config": "c.yml"}, (), "config: unsloth takes none; put its options into args"),
    ],
)
def test_bad_input_is_one_message(flags: dict[str, str], words: tuple[str, ...], message: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse(Layers(flags=flags, words=words))
    (problem,) = caught.value.problems
    assert problem.startswith(message)


def test_an_unknown_recipe_hides_no_other_problem() -> None:
    with pytest.raises(BadInput) as caught:
        parse(Layers(flags={"recipe": "nope", "args": "--x", "timeout": "soon"}))
    assert [problem.split(":")[0] for problem in caught.value.problems] == ["recipe", "timeout"]
    assert all(name in caught.value.problems[0] for name in BY_NAME)
