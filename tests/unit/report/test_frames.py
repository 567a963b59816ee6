"""Where a traceback left the repository."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_train.failure import title_of
from hf_train.judge.gate import Judged, parse_condition
from hf_train.report import Frame, Frames, check_annotations
from hf_train.report.check import NOWHERE
from hf_train.values import Findings, Reason
from unit.makers import report
from unit.report.hostile import TEXT

OWN = """\
Traceback (most recent call last):
  File "/code/train.py", line 9, in <module>
    main()
    ~~~~^^
  File "/code/src/loop.py", line 42, in main
    trainer.train()
  File "/usr/lib/python3/dist-packages/transformers/trainer.py", line 2325, in train
    return inner_training_loop(
           ^^^^^^^^^^^^^^^^^^^^
IndexError: Target 5 is out of bounds."""
CAUSE = "IndexError: Target 5 is out of bounds."
LOOP, TOP = Frame(path="src/loop.py", line=42), Frame(path="train.py", line=9)


def frames(text: str, folder: str = ".", mount: str = "/code") -> Frames:
    """A log, read."""
    read = Frames(mount, folder)
    read.feed(text.split("\n"))
    return read


def test_the_innermost_frame_of_the_repository_comes_first() -> None:
    assert frames(OWN).of(CAUSE) == (LOOP, TOP)


@pytest.mark.parametrize(
    "prefix", ["[rank1]: ", "[rank0]:", "2026-12-02 06:05:00 ", "[INFO|trainer.py:1] ", "\x1b[31m", "(main pid=12) "]
)
def test_prefixes_of_ranks_clocks_and_colors(prefix: str) -> None:
    assert frames("\n".join(prefix + line for line in OWN.split("\n"))).of(CAUSE) == (LOOP, TOP)


@pytest.mark.parametrize(("mount", "folder", "path"), [("/code", "ml/a", "ml/a/t.py"), ("/", ".", "t.py")])
def test_the_folder_that_was_sent_is_put_back(mount: str, folder: str, path: str) -> None:
    text = OWN.replace("/code/train.py", f"{mount.rstrip('/')}/t.py").replace("/code/src", "/elsewhere")
    found = frames(text, folder, mount).of(CAUSE)
    assert found[-1 if mount == "/" else 0] == Frame(path=path, line=9)


@pytest.mark.parametrize("folder", ["/tmp/hf-train.a1B2c3", "/scratch/jobs/x/tmp/hf-train.Zz09aA", "/hf-train.000000"])
def test_the_command_runs_in_a_copy_of_the_mount(folder: str) -> None:
    assert frames(OWN.replace("/code/", f"{folder}/")).of(CAUSE) == (LOOP, TOP)
    for other in ("/tmp/hf-train.a1B2", "/tmp/hf-trainXa1B2c3", "/tmp/.hf-train", "/tmp/hf-train.a1B2c3/.."):
        assert frames(OWN.replace("/code/", f"{other}/")).of(CAUSE) == ()


def test_a_relative_path_is_one_of_the_folder() -> None:
    assert frames(OWN.replace("/code/", "")).of(CAUSE) == (LOOP, TOP)


@pytest.mark.parametrize("name", ["/code/../etc/passwd", "../x.py", "<string>", "/opt/x.py", "/code2/x.py", "x" * 300])
def test_what_is_not_in_the_repository_is_no_place(name: str) -> None:
    assert frames(OWN.replace("/code/src/loop.py", name)).of(CAUSE) == (TOP,)


def test_of_several_tracebacks_that_of_the_cause_counts() -> None:
    other = OWN.replace("line 42", "line 7").replace(CAUSE, "KeyError: 'x'")
    read = frames(f"{OWN}\n\nDuring handling of the above exception, another exception occurred:\n\n{other}\nbye")
    assert read.of("KeyError: 'x'")[0].line == 7
    assert read.of(f"[rank0]: {CAUSE}")[0].line == 42
    assert read.of("ValueError: y") == ()
    assert read.of("") == (), "what is not known is not pointed at"


def test_a_traceback_without_an_end_is_none() -> None:
    assert frames("\n".join(OWN.split("\n")[:-1])).of(CAUSE) == ()


def test_a_frame_outside_of_a_traceback_is_none() -> None:
    assert frames('  File "/code/train.py", line 9\n' + CAUSE).of(CAUSE) == ()


def test_memory_is_bounded() -> None:
    read = Frames("/code")
    for number in range(2000):
        read.feed(OWN.replace(CAUSE, f"E{number}: " + "x" * 5000).split("\n"))
        read.feed([f'  File "/code/f{number}.py", line 1'] * 50)
    assert len(read._seen) <= 32
    assert len(read._here) <= 8


@given(st.lists(TEXT | st.sampled_from(OWN.split("\n")), max_size=12))
def test_any_log_gives_paths_inside_or_none(lines: list[str]) -> None:
    read = Frames("/code")
    read.feed(lines)
    for frame in read.of(CAUSE):
        assert not frame.path.startswith("/")
        assert ".." not in frame.path.split("/")
        assert len(frame.path) <= 200
        assert "\n" not in frame.path


# ---- what a review sees ----


def test_the_check_points_at_the_line_and_at_the_gate() -> None:
    judged = [
        Judged(condition=parse_condition("a >= 1"), judgement="pass", value=2.0, bound=1.0),
        *(Judged(condition=parse_condition(f"b{n} >= 1"), judgement="fail", value=0.5, bound=1.0) for n in range(5)),
    ]
    failed = report(
        Reason.FAILED, frame=LOOP, judged=tuple(judged), findings=Findings(cause="label-range", cause_line=CAUSE)
    )
    first, *gate = check_annotations(failed)
    assert (first.path, first.line, first.level, first.title) == ("src/loop.py", 42, "failure", title_of("label-range"))
    assert first.message == CAUSE
    assert [(one.path, one.title, one.message) for one in gate] == [
        (NOWHERE, "Gate failed", "b0 >= 1 (0.5, 1)"),
        (NOWHERE, "Gate failed", "b1 >= 1 (0.5, 1)"),
    ], "three in all"


def test_what_is_not_known_is_a_warning() -> None:
    judged = (Judged(condition=parse_condition("f1 >= 1"), judgement="unknown", why="this run has no f1"),)
    (one,) = check_annotations(report(judged=judged))
    assert (one.level, one.title, one.message) == ("warning", "Gate not known", "f1 >= 1: this run has no f1")


def test_a_success_has_no_remarks() -> None:
    assert check_annotations(report(frame=LOOP)) == ()
    assert check_annotations(report(None, frame=LOOP)) == ()
