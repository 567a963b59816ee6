"""The plan: what would be submitted, what it may cost, and what makes two trainings the same."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hf_train.context import Context
from hf_train.errors import ExitCode
from hf_train.inputs import Layers, parse
from hf_train.plan import COMMAND_IMAGE, UV_IMAGE, Facts, Plan, equal_line, family, label, make_plan
from hf_train.ports import Survey
from hf_train.preflight import NotReady, money_findings, refusal
from hf_train.values import Flavor, JobSpec, LocalVolume, Volume
from unit.makers import FACTS, ON_GITHUB, SURVEY, plan

NO_CODE = replace(FACTS, code=None)
START = ("sh", "/code/.hf-train/start.sh")


def _of(facts: Facts = FACTS, words: tuple[str, ...] = (), context: Context = ON_GITHUB, **flags: Any) -> Plan:
    given = {name.replace("_", "-"): value for name, value in flags.items()}
    return make_plan(parse(Layers(flags=given, words=words)), context, facts)


def _checked(made: Plan, facts: Facts = FACTS) -> Plan:
    """The plan, when nothing stands against it."""
    if (error := refusal(money_findings(made, facts.flavors))) is not None:
        raise error
    return made


# ---- what is submitted ----


@pytest.mark.parametrize(
    ("flags", "command", "image"),
    [
        ({"command": "python train.py"}, ("python", "train.py"), COMMAND_IMAGE),
        ({"command": "a && b"}, ("sh", "-ec", "a && b"), COMMAND_IMAGE),
        ({"command": "uv run train.py"}, ("uv", "run", "train.py"), UV_IMAGE),
        ({"script": "train.py"}, ("uv", "run", "train.py"), UV_IMAGE),
        ({"script": "t.py", "args": "--x 'a b'"}, ("uv", "run", "t.py", "--x", "a b"), UV_IMAGE),
        ({"script": "t.py", "config": "c.yml"}, ("uv", "run", "t.py", "--config", "c.yml"), UV_IMAGE),
        ({"script": "t.py", "image": "my/image:1"}, ("uv", "run", "t.py"), "my/image:1"),
    ],
)
def test_the_command_runs_in_a_writable_copy_of_the_code(
    flags: dict[str, Any], command: tuple[str, ...], image: str
) -> None:
    job = _of(**flags).job
    assert job.command == (*START, *command)
    assert job.image == image
    assert job.volumes == (
        Volume(
            kind="bucket", source="alice/jobs-artifacts", mount="/code", read_only=True, path=f"snapshots/{'5' * 64}"
        ),
    )


def test_without_code_the_command_is_bare() -> None:
    job = _of(NO_CODE, command="python -V", path="none").job
    assert (job.command, job.volumes) == (("python", "-V"), ())


@pytest.mark.case(23)
@pytest.mark.parametrize(("where", "noted"), [("main", True), ("v1.0", True), ("a" * 40, False), ("a" * 41, True)])
def test_a_script_by_an_address_that_moves_is_told(where: str, noted: bool) -> None:
    facts = replace(FACTS, script_path=PurePosixPath(".hf-train/scripts/t.py"))
    for url in (
        f"https://huggingface.co/alice/s/resolve/{where}/t.py",
        f"https://raw.githubusercontent.com/o/p/{where}/t.py",
    ):
        made = _of(facts, script=url)
        assert any("names no commit" in note for note in made.notes) is noted


def test_a_script_by_url_runs_from_the_snapshot() -> None:
    facts = replace(FACTS, script_path=PurePosixPath(".hf-train/scripts/t.py"))
    job = _of(facts, script="https://x.test/t.py", mount="/src").job
    assert job.command == ("sh", "/src/.hf-train/start.sh", "uv", "run", "/src/.hf-train/scripts/t.py")


def test_words_after_the_dashes_are_the_end_of_the_command() -> None:
    words = ("sh", "-c", "echo 'a  b' --flavor; exit 3")
    assert _of(words=words).job.command == (*START, *words)


def test_a_local_volume_becomes_a_folder_of_the_bucket() -> None:
    key = LocalVolume(folder="./d", mount="/data", read_only=False).key
    facts = replace(FACTS, folders=((key, Survey(digest="7" * 64, files=1, size=1)),))
    job = _of(facts, command="x", volumes="./d:/data:rw\nhf://datasets/a/b@v1:/in").job
    path = f"snapshots/{'7' * 64}"
    assert job.volumes[1:] == (
        Volume(kind="bucket", source="alice/jobs-artifacts", mount="/data", read_only=False, path=path),
        Volume(kind="dataset", source="a/b", mount="/in", revision="v1"),
    )


def test_what_is_always_sent() -> None:
    job = _of(command="x").job
    assert (job.timeout_s, job.attempts, job.flavor, job.namespace) == (1800, None, "cpu-basic", "alice")
    assert job.env == {"PYTHONUNBUFFERED": "1"}
    assert _of(command="x", env="PYTHONUNBUFFERED=0\nA=1").job.env == {"PYTHONUNBUFFERED": "0", "A": "1"}


def test_secrets_are_names() -> None:
    assert _of(command="x", secrets="B\nA\nB").job.secrets == ("B", "A")
    made = _of(command="x", secrets="A", job_token="hf_local_jobtoken")
    assert made.job.secrets == ("A", "HF_TOKEN")
    assert "hf_local_jobtoken" not in repr(made)


def test_the_namespace_of_the_inputs_pays() -> None:
    assert _of(command="x", namespace="acme").job.volumes[0].source == "acme/jobs-artifacts"
    assert _of(replace(FACTS, account=None), command="x").job.namespace == "YOUR-NAMESPACE"


def test_a_flavor_that_the_hub_does_not_have_is_refused_with_those_that_it_has() -> None:
    with pytest.raises(NotReady, match="flavor: the Hub has no 'h900'; it has cpu-basic, t4-small"):
        _checked(_of(command="x", flavor="h900"))


# ---- labels ----


def test_labels_say_where_a_job_comes_from() -> None:
    made = plan()
    assert made.job.labels == {
        "hf-train": "1",
        "name": f"hf-train-proj-{made.key[:8]}",
        "hft-repo": "octo-proj",
        "hft-sha": "b" * 40,
        "hft-pr": "7",
        "hft-run": "1658821493",
        "hft-attempt": "1",
        "hft-key": made.key,
        "hft-family": family(ON_GITHUB, ON_GITHUB.comment_key),
        "hft-minutes": "45",
        "hft-nonce": "nonce1",
    }


def test_on_a_laptop_a_job_has_the_labels_that_are_known() -> None:
    made = plan(context=Context())
    assert set(made.job.labels) == {"hf-train", "name", "hft-sha", "hft-key", "hft-minutes", "hft-nonce"}
    assert made.job.labels["name"].startswith("hf-train-python-3.12-".replace(".", "-"))


@given(st.text())
def test_a_label_is_what_labels_allow(text: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9._-]{0,100}", label(text))


@pytest.mark.case(15)
@given(st.text(), st.text(min_size=1), st.text(min_size=1, max_size=300))
def test_labels_of_hostile_names(workflow: str, repository: str, sha: str) -> None:
    context = replace(ON_GITHUB, workflow=workflow, repository=repository, sha=sha, pull=None)
    for name, value in plan(context=context).job.labels.items():
        assert re.fullmatch(r"[A-Za-z0-9._-]{1,100}", value), name


# ---- the key ----

BASE: dict[str, Any] = {
    "env": "LR=1", "secrets": "WANDB_API_KEY", "image": "python:3.12", "volumes": "hf://datasets/a/b:/in",
    "namespace": "acme",
}  # fmt: skip


@pytest.mark.case(69)
@pytest.mark.parametrize(
    "change",
    [
        {"env": "LR=2"},
        {"env": "LR=1\nSEED=1"},
        {"env": "LS=1"},
        {"secrets": "OTHER_KEY"},
        {"secrets": "WANDB_API_KEY\nOTHER_KEY"},
        {"image": "python:3.13"},
        {"flavor": "cpu-basic"},
        {"command": "python train.py --lr 3e-5"},
        {"command": "python train.py --lr 2e-5 --x"},
        {"volumes": "hf://datasets/a/b@v2:/in"},
        {"volumes": "hf://datasets/a/b:/in2"},
        {"namespace": "other"},
        {"mount": "/src"},
        {"path": "none"},
    ],
    ids=str,
)  # fmt: skip
def test_another_training_has_another_key(change: dict[str, Any]) -> None:
    facts = NO_CODE if "path" in change else FACTS
    assert plan(facts=facts, **{**BASE, **change}).key != plan(**BASE).key


@pytest.mark.case(72)
@pytest.mark.parametrize(
    "context",
    [
        replace(ON_GITHUB, repository="octo/other"),
        replace(ON_GITHUB, workflow="nightly"),
        replace(ON_GITHUB, job="dpo"),
        replace(ON_GITHUB, matrix="seed=1"),
    ],
)
def test_another_place_in_the_workflow_has_another_key(context: Context) -> None:
    assert plan(context=context).key != plan().key


@pytest.mark.case(69, 105)
def test_other_code_has_another_key() -> None:
    assert plan(facts=replace(FACTS, code=replace(SURVEY, digest="6" * 64))).key != plan().key


_ENV_NAME = st.from_regex(r"[A-Z][A-Z0-9_]{0,6}", fullmatch=True).filter(lambda name: name != "PYTHONUNBUFFERED")


@given(st.dictionaries(_ENV_NAME.map(lambda name: "V" + name), st.text(max_size=5)), st.data())
def test_each_value_of_the_environment_counts(env: dict[str, str], data: st.DataObject) -> None:
    lines = tuple(f"{name}={value}" for name, value in env.items())
    other = dict(env)
    other[data.draw(st.sampled_from([*env, "VNEW"]))] = "changed!"
    changed = plan(env=tuple(f"{name}={value}" for name, value in other.items()))
    assert (changed.key == plan(env=lines).key) == (other == env)
    assert plan(env=tuple(reversed(lines))).key == plan(env=lines).key


@given(st.text(max_size=20), st.integers(1, 50), st.text(min_size=1), st.text(min_size=1).map("x".__add__))
def test_the_same_training_has_the_same_key_at_any_time(nonce: str, attempt: int, run_id: str, secret: str) -> None:
    base = plan(secrets="WANDB_API_KEY", job_token="hf_local_0")
    context = replace(ON_GITHUB, run_id=run_id, run_attempt=attempt, run_number=attempt, actor=run_id, sha=run_id)
    facts = replace(FACTS, nonce=nonce, code=replace(SURVEY, sha=run_id, dirty=attempt, notes=(secret,)))
    other = plan(
        context=context,
        facts=facts,
        secrets="WANDB_API_KEY",
        job_token=secret,
        timeout="3h",
        comment_key="k",
        max_cost="9",
    )
    assert other.key == base.key
    assert re.fullmatch(r"[0-9a-f]{32}", base.key)


# ---- the equal line ----


def _spec(**changes: object) -> JobSpec:
    spec = JobSpec(namespace="alice", image="python:3.12", command=("x",), flavor="cpu-basic", timeout_s=60)
    return replace(spec, **changes)  # type: ignore[arg-type]


def test_the_equal_line_of_a_plan() -> None:
    made = plan(facts=NO_CODE, path="none", attempts="2", secrets="A_KEY", env="LR=1e-3", mode="detach")
    assert made.equal_line == (
        "hf jobs run --namespace alice --flavor t4-small --timeout 2700s --attempts 2 --env PYTHONUNBUFFERED=1 "
        "--env LR=1e-3 --secrets A_KEY "
        + " ".join(f"--label {name}={value}" for name, value in made.job.labels.items())
        + " --detach -- python:3.12 python train.py --lr 2e-5"
    )


_WORD = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12) | st.sampled_from(
    ["a b", "'", '"', "\n", "$HOME", "`id`", "#", "--flavor", "", "\\", "!", "*", "é", "%0A", "{}"]
)


@given(st.lists(_WORD, min_size=1, max_size=4), st.dictionaries(_ENV_NAME, _WORD, max_size=3))
@example(["x"], {"A": "a b", "B": 'say "hi" # no', "C": "two\nlines", "D": "", "E": "it's"})
def test_a_shell_reads_the_equal_line_as_the_spec(command: list[str], env: dict[str, str]) -> None:
    line = equal_line(_spec(command=tuple(command), env=env, secrets=("S",), labels={"a": "b"}))
    words = shlex.split(line)
    at = words.index("hf")
    handed_over = dict(word.split("=", 1) for word in words[:at])
    options, tail = words[at : words.index("--")], words[words.index("--") + 1 :]
    assert tail == ["python:3.12", *command]
    given_env = [options[i + 1] for i, word in enumerate(options) if word == "--env"]
    assert [word.partition("=")[0] for word in given_env] == list(env)
    seen = {word.partition("=")[0]: word.partition("=")[2] if "=" in word else handed_over[word] for word in given_env}
    assert seen == env
    # hf reads `KEY=VALUE` as dotenv; what it would cut or unquote goes by name.
    assert all(re.fullmatch(r"[A-Za-z0-9_./:@%+,=-]*", word.partition("=")[2]) for word in given_env)


def test_a_value_that_dotenv_would_change_goes_by_name() -> None:
    line = equal_line(_spec(env={"A": "a b", "B": "plain", "C": "x#y"}))
    assert line.startswith("A='a b' C='x#y' hf jobs run ")
    assert "--env A --env B=plain --env C " in line


# ---- the budget ----


@pytest.mark.case(22, 65)
@given(
    price=st.none() | st.floats(0, 100, allow_subnormal=False),
    timeout=st.integers(1, 30 * 86400),
    attempts=st.none() | st.integers(1, 100),
    cap=st.integers(0, 100_000_00).map(lambda cents: f"{cents / 100:.2f}"),
)
def test_no_plan_can_cost_more_than_the_cap(price: float | None, timeout: int, attempts: int | None, cap: str) -> None:
    facts = replace(FACTS, flavors=(Flavor(name="t4-small", usd_per_minute=price),))
    flags: dict[str, Any] = {"timeout": f"{timeout}s", "max_cost": cap}
    if attempts:
        flags["attempts"] = str(attempts)
    dearest = None if price is None else price * -(-timeout // 60) * (attempts or 1)
    try:
        made = _checked(plan(facts=facts, **flags), facts)
    except NotReady:
        assert dearest is None or dearest > float(cap)
        return
    assert dearest is not None
    assert dearest <= float(cap)
    assert made.budget.worst_case_usd == dearest


def test_what_does_not_fit_is_refused_with_the_sum() -> None:
    with pytest.raises(NotReady) as caught:
        _checked(plan(max_cost="0.50", attempts="2"))
    assert caught.value.title == "Over max-cost"
    assert caught.value.exit_code is ExitCode.BAD_INPUT
    assert caught.value.message == "t4-small for 2700 s, 2 attempt(s), can cost $0.60; max-cost is $0.50."
    assert plan(max_cost="0.61", attempts="2").budget.worst_case_usd == pytest.approx(0.603)


@pytest.mark.parametrize("facts", [replace(FACTS, flavors=None), FACTS])
def test_an_unknown_price_and_a_cap_do_not_go_together(facts: Facts) -> None:
    with pytest.raises(NotReady, match="Price not known"):
        _checked(plan(facts=facts, flavor="mystery", max_cost="1000"), facts)
    assert plan(facts=facts, flavor="mystery").budget.worst_case_usd is None


@pytest.mark.case(22)
def test_an_unknown_price_is_refused_unless_the_workflow_allows_it() -> None:
    with pytest.raises(NotReady, match="The Hub gives no price for mystery"):
        _checked(plan(flavor="mystery"))
    (said,) = money_findings(plan(flavor="mystery", allow_unknown_price="true", max_cost="1"), FACTS.flavors)
    assert (said.level, said.what.count("limits of cost are not kept")) == ("warning", 1)
    (said,) = money_findings(plan(flavor="mystery", allow_unknown_price="true"), FACTS.flavors)
    assert "limits" not in said.what
    assert money_findings(plan(facts=replace(FACTS, flavors=None)), None) == [], "plan on a laptop, the Hub not reached"


# ---- the watch ----


def test_how_long_the_step_follows() -> None:
    assert plan().watch_s == 19_800
    assert plan(watch_timeout="2h").watch_s == 7200
    assert plan(context=Context()).watch_s is None
    assert plan(mode="detach").watch_s is None
    assert plan(mode="detach").detach


# ---- notes ----


@pytest.mark.parametrize(
    ("flags", "word"),
    [
        ({"secrets": "HF_TOKEN"}, "handed to the Job too (secrets: HF_TOKEN)"),
        ({"job_token": "hf_local_a", "hf_token": "hf_local_a"}, "handed to the Job too (job-token)"),
        ({"timeout": "8h", "on_watch_timeout": "fail"}, "stops watching after 19800 s"),
    ],
)
def test_what_is_worth_knowing_is_said_once(flags: dict[str, Any], word: str) -> None:
    made = _of(**flags) if "script" in flags else plan(**flags)
    assert [word in note for note in made.notes] == [True]


@pytest.mark.parametrize(
    "flags",
    [
        {},
        {"timeout": "8h", "mode": "detach"},
        {"timeout": "8h", "on_watch_timeout": "detach"},
        {"job_token": "hf_local_a", "hf_token": "hf_local_b"},
    ],
)
def test_no_note_where_nothing_is_odd(flags: dict[str, Any]) -> None:
    assert plan(**flags).notes == ()


def test_notes_of_the_surveys_are_passed_on() -> None:
    folder = (LocalVolume(folder="d", mount="/d").key, Survey(digest="7" * 64, files=1, size=1, notes=("second",)))
    facts = replace(FACTS, code=replace(SURVEY, notes=("first",)), folders=(folder,), flavors=None)
    notes = plan(facts=facts, volumes="d:/d").notes
    assert notes[:2] == ("first", "second")
    assert "price is not known" in notes[2]
