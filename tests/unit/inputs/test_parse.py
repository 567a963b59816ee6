"""Three layers of raw values, one `Inputs` or one message: the list of bad input, and what a file may not say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_train.errors import BadInput, ExitCode
from hf_train.inputs import FIELDS, Inputs, Layers, parse
from hf_train.inputs.fields import BY_NAME
from hf_train.values import LocalVolume, Secret, Volume
from unit.words import examples, flag_problems, from_file, from_flags, problems


def test_what_holds_when_only_a_command_is_given() -> None:
    inputs = from_flags()
    assert inputs == Inputs(command=("python", "train.py"))
    assert (inputs.flavor, inputs.timeout, inputs.mount, inputs.path) == ("cpu-basic", 1800, "/code", ".")


def test_a_later_layer_wins() -> None:
    file, environ = {"timeout": "10m", "flavor": "t4-small", "mode": "detach"}, {"HF_TRAIN_TIMEOUT": "20m"}
    layers = Layers(file={"command": "x", **file}, environ=environ, flags={"timeout": "30m", "mode": "wait"})
    inputs = parse(layers)
    assert (inputs.timeout, inputs.flavor, inputs.mode) == (1800, "t4-small", "wait")
    assert parse(Layers(file={"command": "x", **file}, environ=environ)).timeout == 1200


def test_an_empty_variable_is_not_given() -> None:
    # action.yml hands over every input, and what the user left out is empty.
    empty = {field.variable: "" for field in FIELDS}
    assert from_file({"timeout": "10m"}, **empty).timeout == 600


@pytest.mark.case(21, 22)
@pytest.mark.parametrize("field", [field for field in FIELDS if not field.from_file], ids=lambda field: field.name)
def test_what_spends_or_speaks_for_somebody_is_never_read_from_the_file(field: object) -> None:
    name = getattr(field, "name", "")
    (problem,) = problems(Layers(file={"command": "x", name: "5"}))
    assert name in problem
    assert "pull request" in problem


def test_the_fields_that_a_file_may_not_set() -> None:
    assert {field.name for field in FIELDS if not field.from_file} == {
        "namespace", "max-cost", "max-cost-per-pr", "max-cost-per-day", "allow-unknown-price", "retry", "hf-token",
        "job-token", "github-token", "required", "local", "build-repository", "build-user", "build-token",
        "approve-label", "train-keys", "lineage", "release",
    }  # fmt: skip


def test_tokens_are_no_flags() -> None:
    assert {field.name for field in FIELDS if not field.flag} == {
        "hf-token", "job-token", "github-token", "build-token",
    }  # fmt: skip


def test_each_input_has_one_row_one_variable_and_one_place() -> None:
    assert len(BY_NAME) == len(FIELDS)
    marks = {"directions", "given"}  # read out of the lines of metrics and gate; which layers set what
    assert {field.key for field in FIELDS} | marks == set(Inputs.__dataclass_fields__)
    assert BY_NAME["hf-token"].variable == "HF_TRAIN_HF_TOKEN"


# ---- the list ----


def test_an_unknown_key_is_refused_with_a_suggestion() -> None:
    (problem,) = problems(Layers(file={"command": "x", "flavour": "t4"}))
    assert problem == ".github/hf-train.yml: flavour: not an input; did you mean flavor?"


@pytest.mark.parametrize("key", [True, None, 3, 1.5])
def test_a_key_that_is_no_text_is_an_unknown_key(key: object) -> None:
    # YAML reads `on: push` as {True: "push"}.
    (problem,) = problems(Layers(file={"command": "x", key: "push"}))  # type: ignore[dict-item]
    assert f"{key}: not an input" in problem


def test_a_misspelt_variable_is_refused_with_a_suggestion() -> None:
    (problem,) = problems(Layers(flags={"command": "x"}, environ={"HF_TRAIN_TIMOUT": "3h"}))
    assert problem == "HF_TRAIN_TIMOUT: not an input; did you mean HF_TRAIN_TIMEOUT?"


def test_an_hour_and_a_half_is_meant_as_such() -> None:
    assert from_flags(timeout="1h30m").timeout == 5400


def test_a_lost_option_is_no_image() -> None:
    (problem,) = flag_problems(image="--flavor")
    assert problem == "image: '--flavor' is not an image reference"


@pytest.mark.parametrize(
    "layers",
    [
        Layers(flags={"command": ""}),
        Layers(flags={"command": "  "}),
        Layers(environ={"HF_TRAIN_COMMAND": "\n"}),
        Layers(file={"command": []}),
        Layers(file={"command": ["", "x"]}),
        Layers(words=("", "x")),
        Layers(words=(" ",)),
    ],
)
def test_an_empty_command_is_refused(layers: Layers) -> None:
    (problem,) = problems(layers)
    assert problem.startswith("command: ")
    assert "empty" in problem


def test_nothing_to_run_is_refused() -> None:
    (problem,) = problems(Layers())
    assert problem == "nothing to run: give recipe, script, or command, or words after '--'"


def test_a_mount_is_taken_once() -> None:
    volumes = "hf://datasets/a/b:/data\nhf://buckets/a/c:/data:rw"
    (problem,) = flag_problems(volumes=volumes)
    assert problem == "volumes: /data is mounted twice (by a/b too)"


def test_a_volume_may_not_hide_the_code() -> None:
    (problem,) = flag_problems(volumes="hf://datasets/a/b:/code/")
    assert problem == "volumes: /code is mounted twice (by the code too)"
    assert from_flags(volumes="hf://datasets/a/b:/code", path="none").volumes


@pytest.mark.parametrize(
    "layers",
    [
        Layers(flags={"script": "train.py", "command": "x"}),
        Layers(flags={"script": "train.py"}, words=("x",)),
        Layers(file={"script": "train.py", "command": ["x"]}),
    ],
)
def test_a_script_and_a_command_are_one_too_many(layers: Layers) -> None:
    assert problems(layers) == ("script and command: both are given; keep one",)


def test_a_command_twice_is_refused() -> None:
    (problem,) = problems(Layers(flags={"command": "x"}, words=("y",)))
    assert "both as --command and after '--'" in problem


@pytest.mark.case(16)
def test_all_problems_come_in_one_message() -> None:
    layers = Layers(
        file={"flavour": "t4", "hf-token": "x"},
        flags={"timeout": "2w", "image": "--flavor", "attempts": "0", "max-cost": "much", "env": "A", "mode": "watch"},
    )
    found = problems(layers)
    starts = (".github/hf-train.yml: flavour", ".github/hf-train.yml: hf-token", "image", "timeout", "attempts", "env")
    for start in (*starts, "mode", "max-cost", "nothing to run"):
        assert sum(problem.startswith(start) for problem in found) == 1, start
    error = BadInput(found)
    assert error.exit_code is ExitCode.BAD_INPUT
    assert error.title == "9 bad inputs"
    assert error.message.splitlines() == list(found)


def test_no_problem_shows_a_token() -> None:
    layers = Layers(environ={"HF_TRAIN_HF_TOKEN": "hf_local_abcdef", "HF_TRAIN_TIMEOUT": "x"})
    assert "hf_local_abcdef" not in "\n".join(problems(layers))


@pytest.mark.parametrize(
    ("flags", "word"),
    [
        ({"args": "--lr 1"}, "args: they belong to script"),
        ({"secrets": "A", "env": "A=1"}, "A: it is under both env and secrets"),
        ({"secrets": "HF TOKEN"}, "secrets: 'HF TOKEN' is not a name"),
        ({"secrets": '{\n"github_token": "x"\n}'}, "secrets: '{' is not a name"),
        ({"job-token": "hf_local_1", "secrets": "HF_TOKEN"}, "job-token and secrets: both set HF_TOKEN"),
        ({"require-model": "yes"}, "require-model: 'yes' is neither true nor false"),
        ({"comment": "sometimes"}, "comment: 'sometimes' is not one of always, on-change"),
        ({"env": "WANDB_API_KEY=x"}, "env: WANDB_API_KEY looks like a secret"),
    ],
)
def test_what_does_not_go_together(flags: dict[str, str], word: str) -> None:
    assert any(word in problem for problem in problems(Layers(flags={"command": "x", **flags})))


@pytest.mark.case(15)
@pytest.mark.parametrize("text", ["-c", "--help"])
def test_a_script_is_no_option(text: str) -> None:
    assert any("starts with '-'" in problem for problem in problems(Layers(flags={"script": text})))


def test_a_script_of_the_repository_needs_the_code() -> None:
    (problem,) = problems(Layers(flags={"script": "train.py", "path": "none"}))
    assert problem.startswith("path: none")
    assert parse(Layers(flags={"script": "https://x.test/t.py", "path": "none"})).path == "none"


# ---- the forms of a value ----


@pytest.mark.parametrize(
    ("layers", "argv"),
    [
        (Layers(flags={"command": "python train.py --lr '1 e'"}), ("python", "train.py", "--lr", "1 e")),
        (Layers(flags={"command": "cd x && python t.py"}), ("sh", "-ec", "cd x && python t.py")),
        (Layers(flags={"command": "echo $HOME"}), ("sh", "-ec", "echo $HOME")),
        (Layers(flags={"command": "a\nb"}), ("sh", "-ec", "a\nb")),
        (Layers(file={"command": ["echo", "$HOME", 3, True, "a b"]}), ("echo", "$HOME", "3", "true", "a b")),
        (Layers(words=("sh", "-c", "echo $HOME; --", "--flavor", "")), ("sh", "-c", "echo $HOME; --", "--flavor", "")),
        (Layers(file={"command": ["a"]}, environ={"HF_TRAIN_COMMAND": "b"}), ("b",)),
        (Layers(file={"command": ["a"]}, flags={"command": "c"}), ("c",)),
        (Layers(file={"command": ["a"]}, words=("d",)), ("d",)),
    ],
)
def test_a_command_is_read_as_it_was_given(layers: Layers, argv: tuple[str, ...]) -> None:
    assert parse(layers).command == argv


def test_an_open_quote_is_refused() -> None:
    (problem,) = flag_problems(command="python 'train.py")
    assert "cannot be split" in problem


@given(st.lists(st.text(alphabet=st.characters(codec="utf-8")), min_size=1))
def test_words_after_the_dashes_are_untouched(words: list[str]) -> None:
    if words[0].strip():
        assert parse(Layers(words=tuple(words))).command == tuple(words)


def test_lists_and_lines_and_mappings_mean_the_same() -> None:
    wanted = {"A": "1", "B": "x=y ", "C": "true", "D": ""}
    assert from_flags(env=("A=1", "B=x=y ", "C=true", "D=")).env == wanted
    assert from_flags(env="# a remark\nA=1\n\nB=x=y \nC=true\nD=\n").env == wanted
    assert from_file({"env": {"A": 1, "B": "x=y ", "C": True, "D": None}}).env == wanted
    assert from_file({"env": ["A=1", "B=x=y ", "C=true", "D="]}).env == wanted


@pytest.mark.parametrize("value", ["a\nb", "a\u2028b", "a\x0cb", "-----BEGIN\nx\n-----END\n"])
def test_a_value_of_several_lines_stays_one_value(value: str) -> None:
    assert from_file({"env": {"A": value}}).env == {"A": value}
    assert from_flags(env=(f"A={value}",)).env == {"A": value}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("env", {"A": [1]}),
        ("env", {"A": {"B": 1}}),
        ("timeout", [1]),
        ("flavor", {"a": 1}),
        ("secrets", [["A"]]),
    ],
)
def test_a_yaml_value_of_the_wrong_shape_is_refused(name: str, value: object) -> None:
    (problem,) = problems(Layers(file={"command": "x", name: value}))
    assert problem.startswith(f".github/hf-train.yml: {name}: ")


def test_a_word_of_a_command_is_no_list() -> None:
    assert problems(Layers(file={"command": ["x", ["y"]]}))[0].startswith(".github/hf-train.yml: command: ")


def test_yaml_scalars_are_read_as_they_stand() -> None:
    inputs = from_file({"timeout": 90, "attempts": 2, "check": True, "require-model": False, "metrics": ["a", 1]})
    assert (inputs.timeout, inputs.attempts, inputs.check, inputs.require_model) == (90, 2, True, False)
    assert inputs.metrics == ("a", "1")


def test_a_null_in_the_file_is_not_given() -> None:
    assert from_file({"timeout": None, "env": None}) == from_file({})


def test_all_fields_at_once() -> None:
    inputs = from_flags(
        image="python:3.12", flavor="a10g-small", timeout="2h", namespace="acme", attempts="3", queue_timeout="5m",
        path="sub", mount="/src", exclude="*.ckpt\ndata", volumes="hf://buckets/a/b:/out:rw\n./d:/d", env="LR=1",
        secrets="WANDB_API_KEY\nWANDB_API_KEY", model_repo="a/m", metrics_file="m.json", metrics="x\ny", mode="detach",
        on_cancel="keep", reuse="never", max_cost="2.5", watch_timeout="1h", on_watch_timeout="cancel",
        comment="on-change", comment_key="k", check="true", report_dir="r", hf_token=" hf_local_a\n",
        job_token="hf_local_b", github_token="ghp_local", required="true", local="false",
    )  # fmt: skip
    assert inputs == Inputs(
        command=("python", "train.py"), image="python:3.12", flavor="a10g-small", timeout=7200, namespace="acme",
        attempts=3, queue_timeout=300, path="sub", mount="/src", exclude=("*.ckpt", "data"),
        volumes=(
            Volume(kind="bucket", source="a/b", mount="/out", read_only=False), LocalVolume(folder="./d", mount="/d")
        ),
        env={"LR": "1"}, secrets=("WANDB_API_KEY",), model_repo="a/m", metrics_file="m.json", metrics=("x", "y"),
        require_model=True, mode="detach", on_cancel="keep", reuse="never", max_cost=2.5, watch_timeout=3600,
        on_watch_timeout="cancel", comment="on-change", comment_key="k", check=True, report_dir="r",
        hf_token=Secret("hf_local_a"), job_token=Secret("hf_local_b"), github_token=Secret("ghp_local"), required=True,
    )  # fmt: skip
    assert "hf_local" not in repr(inputs)


def test_a_named_model_is_required_unless_told() -> None:
    assert from_flags(model_repo="a/m").require_model
    assert not from_flags(model_repo="a/m", require_model="false").require_model
    assert not from_flags().require_model


# ---- nothing crashes ----

_TEXT = st.text(max_size=40) | st.sampled_from(
    ["\0", "--", "\u0663", "9" * 5000, "\ud800", "a=b", "hf://", "''", '"', "\\", "#"]
)
_YAML = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _TEXT | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT | st.integers(), inner, max_size=3),
    max_leaves=4,
)


@examples(300)
@given(
    name=st.sampled_from([field.name for field in FIELDS]),
    text=_TEXT | st.lists(_TEXT, max_size=3).map(tuple),
    value=_YAML,
)
def test_no_value_of_any_input_is_a_bug_of_ours(name: str, text: str | tuple[str, ...], value: object) -> None:
    environ = {BY_NAME[name].variable: text} if isinstance(text, str) else {}
    for layers in (
        Layers(flags={"command": "x", name: text}),
        Layers(file={"command": "x", name: value}),
        Layers(environ=environ, words=("x",)),
    ):
        try:
            parsed = parse(layers)
        except BadInput as error:
            told = error.problems
        else:
            told = (repr(parsed),)
        assert all(told)


def test_directions_are_read_from_metrics_and_gate() -> None:
    inputs = from_flags(metrics="my_score:lower\neval_loss", gate="other:higher >= 1\nmy_score <= 0.5\nmy_score <= 0.5")
    assert inputs.metrics == ("my_score", "eval_loss")
    assert inputs.directions == {"my_score": "lower", "other": "higher"}
    assert [one.text for one in inputs.gate] == ["other:higher >= 1", "my_score <= 0.5"]


@pytest.mark.parametrize(
    ("metrics", "gate", "problem"),
    [
        ("", "eval_loss >= baseline", "gate: 'eval_loss >= baseline' would pass the worse the run is"),
        ("score:lower", "score >= 0.5", "lower is better for score"),
        ("score:lower", "score:higher >= 0.5", "score is marked both higher and lower"),
        (":lower", "", "metrics: ':lower' has no name"),
    ],
)
def test_a_gate_that_means_the_opposite_is_refused(metrics: str, gate: str, problem: str) -> None:
    assert problem in " ".join(flag_problems(metrics=metrics, gate=gate))


# ---- smoke and retry ----


def test_smoke_is_a_block_of_lines() -> None:
    made = parse(
        Layers(flags={"command": "x", "smoke": "# short\nflavor: t4-small\nargs: --a 'b c'\n\ntimeout: 5m"})
    ).smoke
    assert made is not None
    assert (made.flavor, made.args, made.timeout_s) == ("t4-small", ("--a", "b c"), 300)
    assert parse(Layers(flags={"command": "x", "smoke": ("timeout: 90s", "args: -n 1")})).smoke is not None
    mapping: dict[str, object] = {"command": "x", "smoke": {"timeout": "5m", "args": "--max_steps 20"}}
    made = parse(Layers(file=mapping)).smoke
    assert made is not None
    assert (made.flavor, made.args, made.timeout_s) == (None, ("--max_steps", "20"), 300)


@pytest.mark.parametrize(
    ("block", "says"),
    [
        ("flavour: x", "did you mean flavor?"),
        ("steps: 20", "is not one of the lines flavor: NAME, args: WORDS, timeout: DURATION"),
        ("true", "is not one of the lines"),
        ("timeout: soon", "'soon' is not a duration"),
        ("flavor: T4 small", "is not a flavor name"),
        ("args: 'x", "check its quotes"),
        ("timeout: 5m\ntimeout: 6m", "timeout is given twice"),
    ],
)
def test_smoke_with_something_else_in_it(block: str, says: str) -> None:
    with pytest.raises(BadInput, match="smoke: ") as caught:
        parse(Layers(flags={"command": "x", "smoke": block}))
    assert says in str(caught.value)


def test_smoke_words_cannot_be_added_to_a_shell_line() -> None:
    with pytest.raises(BadInput, match="smoke: args cannot be added"):
        parse(Layers(flags={"command": "a && b", "smoke": "args: --x"}))
    assert parse(Layers(flags={"command": "a && b", "smoke": "timeout: 5m"})).smoke is not None


@pytest.mark.parametrize("text", ["lots", "-1", "11", "1.5", "true"])
def test_retry_is_a_small_number(text: str) -> None:
    with pytest.raises(BadInput, match=r"retry: .* is not a whole number from 0 to 10"):
        parse(Layers(flags={"command": "x", "retry": text}))
    assert parse(Layers(flags={"command": "x", "retry": "2"})).retry == 2
