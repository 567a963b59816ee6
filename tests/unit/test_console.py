"""The consoles: what a runner obeys of all that we print is what we meant."""

from __future__ import annotations

import io
import re

import pytest

from hf_train import console as room
from hf_train.console import GUTTER, GitHubConsole, PlainConsole
from hf_train.errors import Interrupted
from hf_train.text.redact import Redactor
from support.runner_oracle import Obeyed, Runner
from unit.hostile_lines import hostile_lines

HOSTILE = ["::error::x", "##[add-mask]e", "\r::endgroup::", "::stop-commands::x", "::x::"]


class _Console(GitHubConsole):
    """A GitHub console that keeps what it prints."""

    def __init__(self, *secrets: str) -> None:
        self.stream = io.StringIO()
        super().__init__(Redactor(secrets), self.stream)

    @property
    def text(self) -> str:
        return self.stream.getvalue()

    def names(self) -> list[str]:
        return [one.name for one in Runner().read(self.text).obeyed]


def _plain(*secrets: str) -> tuple[PlainConsole, io.StringIO]:
    stream = io.StringIO()
    return PlainConsole(Redactor(secrets), stream), stream


@pytest.mark.case(1, 2)
def test_nothing_in_the_window_is_obeyed_and_it_is_closed() -> None:
    console = _Console()
    with console.group("Training log"), console.untrusted():
        console.remote(HOSTILE)
    assert console.names() == ["group", "stop-commands", "resume", "endgroup"]


@pytest.mark.case(2)
def test_each_window_has_a_fresh_token_of_256_bits() -> None:
    console = _Console()
    for _ in range(20):
        with console.untrusted():
            console.remote(["x"])
    tokens = re.findall(r"^::stop-commands::([0-9a-f]{64})$", console.text, re.MULTILINE)
    assert len(set(tokens)) == 20


@pytest.mark.case(2)
@pytest.mark.parametrize("error", [RuntimeError("x"), Interrupted(2), KeyboardInterrupt()])
def test_a_window_is_closed_whatever_happens_inside(error: BaseException) -> None:
    console = _Console()

    def follow() -> None:
        with console.group("Training log"), console.untrusted():
            console.remote(HOSTILE)
            raise error

    with pytest.raises(type(error)):
        follow()
    console.error("hf-train", "Cancelled")
    assert console.names() == ["group", "stop-commands", "resume", "endgroup", "error"]


def test_a_window_in_a_window_is_one_window() -> None:
    console = _Console()
    with console.untrusted():
        with console.untrusted():
            console.remote(HOSTILE)
        console.remote(HOSTILE)
    console.notice("a", "b")
    assert console.names() == ["stop-commands", "resume", "notice"]


def test_an_annotation_inside_a_window_works_and_the_window_goes_on() -> None:
    console = _Console()
    with console.untrusted():
        console.remote(HOSTILE)
        console.warning("Report", "The comment could not be written.")
        console.remote(HOSTILE)
    assert console.names() == ["stop-commands", "resume", "warning", "stop-commands", "resume"]
    tokens = re.findall(r"^::stop-commands::(\w+)$", console.text, re.MULTILINE)
    assert len(set(tokens)) == 2, "the first one has been shown, so it is never used again"


@pytest.mark.case(2)
def test_a_job_cannot_guess_or_repeat_a_token() -> None:
    console = _Console()
    with console.untrusted():
        console.remote(["x"])
    old = re.findall(r"^::stop-commands::(\w+)$", console.text, re.MULTILINE)[0]
    with console.untrusted():
        console.remote([f"::{old}::", f"##[{old}]", "::error::x"])
    assert console.names() == ["stop-commands", "resume", "stop-commands", "resume"]


@pytest.mark.case(1)
def test_ten_thousand_hostile_lines_on_a_console() -> None:
    console = _Console()
    with console.group("Training log"), console.untrusted():
        console.remote(list(hostile_lines(3_000, seed=1)))
    outside = _Console()
    outside.remote(list(hostile_lines(3_000, seed=2)))
    assert console.names() == ["group", "stop-commands", "resume", "endgroup"]
    assert outside.names() == [], "the printer alone is enough"


def test_messages_and_titles_are_escaped_as_the_runner_unescapes() -> None:
    console = _Console()
    console.error("a: b, c%\nd", "50 %\r\nsecond ::error::x\n::warning::y")
    (obeyed,) = Runner().read(console.text).obeyed
    assert obeyed == Obeyed("error", "title=a%3A b%2C c%25%0Ad", "50 %\nsecond ::error::x\n::warning::y")
    assert console.text.count("\n") == 1


def test_an_error_stands_beside_a_line_of_a_file() -> None:
    console = _Console()
    console.error("import", "no module", "src/a,b:c%.py\n::add-mask::x", 12)
    (obeyed,) = Runner().read(console.text).obeyed
    assert obeyed == Obeyed(
        "error", "file=src/a%2Cb%3Ac%25.py%0A%3A%3Aadd-mask%3A%3Ax,line=12,title=import", "no module"
    )
    plain, stream = _plain()
    plain.error("import", "no module", "src/a.py", 12)
    assert stream.getvalue() == "error: src/a.py:12: import: no module\n"


def test_an_annotation_is_cut_cleaned_and_redacted() -> None:
    console = _Console("hf_local_abc")
    console.notice("t hf_local_abc", "hf_local_abc \x1b[31mred\x1b[0m\u202e " + "x" * 9000)
    (obeyed,) = Runner().read(console.text).obeyed
    assert obeyed.properties == "title=t ***"
    assert obeyed.data.startswith("*** red x")
    assert len(obeyed.data) <= 4000


def test_our_own_lines_carry_text_of_others_and_are_cleaned_too() -> None:
    # The command of a plan may come from a config file, which a pull request can edit.
    for console in (_Console("hf_local_abc"), *(_plain("hf_local_abc")[:1])):
        console.info("command      sh -ec a\n::add-mask::e\n##[error]x\rhf_local_abc\x1b[2J")
    github = _Console("hf_local_abc")
    github.info("command      sh -ec a\n::add-mask::e\n##[error]x\nhf_local_abc\x1b[2J")
    assert github.names() == []
    assert github.text == "command      sh -ec a\n\\::add-mask::e\n##\\[error]x\n***\n"
    github.info()
    assert github.text.endswith("***\n\n")


def test_a_group_is_closed_on_an_error_and_its_title_is_one_line() -> None:
    console = _Console()
    with pytest.raises(RuntimeError), console.group("a\n::error::x"):
        raise RuntimeError
    assert console.names() == ["group", "endgroup"]


@pytest.mark.case(3, 6)
def test_masks_come_in_all_coats_and_never_blank_the_log() -> None:
    console = _Console()
    console.mask(['{\n "key": "hf_local_abcdef",\n "n": 1\n}', "x", "", "hf_local_abcdef"])
    masks = [one.data for one in Runner().read(console.text).obeyed]
    assert all(one.name == "add-mask" for one in Runner().read(console.text).obeyed)
    assert "hf_local_abcdef" in masks
    assert b"hf_local_abcdef".hex() in masks
    assert all(len(mask) >= 6 for mask in masks), "a brace or a digit as a mask blanks the log and drops outputs"
    assert len(masks) == len(set(masks))


@pytest.mark.case(3)
def test_a_mask_of_several_lines_is_one_command() -> None:
    console = _Console()
    console.mask(["first line\nsecond line"])
    masks = [one.data for one in Runner().read(console.text).obeyed]
    assert {"first line\nsecond line", "first line", "second line"} <= set(masks)


@pytest.mark.case(9)
def test_remote_lines_stand_behind_the_gutter_without_secrets() -> None:
    console, stream = _plain("hf_local_abc")
    console.remote(['  File "train.py", line 3', "token hf_local_abc", "hf_loc\x1b[0mal_abc", "a\nb"])
    lines = stream.getvalue().splitlines()
    assert lines == ['|   File "train.py", line 3', "| token ***", "| ***", "| a", "| b"]
    # setup-python's matcher of tracebacks, and eslint's of files: anchored, so the gutter keeps them quiet.
    matchers = [r'^\s*File\s"?(.*)"?,\sline\s(\d+)', r"^([^\s].*)$(?<!\|.*)", r"^\s+(\d+):(\d+)\s+(error|warning)"]
    assert not any(re.search(matchers[i], line) for i in (0, 2) for line in lines)


@pytest.mark.case(82)
def test_a_flood_is_bounded_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MAX_LINES", 10)
    console, stream = _plain()
    with console.untrusted():
        console.remote([f"line {i}" for i in range(25)])
    with console.untrusted():
        pass
    lines = stream.getvalue().splitlines()
    assert lines[:-1] == [f"{GUTTER}line {i}" for i in range(10)]
    assert lines[-1] == "... 15 more line(s) are not shown here; the full log is on the Job's page"


def test_one_event_of_many_lines_is_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MAX_LINES", 10)
    console, stream = _plain()
    with console.untrusted():
        console.remote(["\n".join(map(str, range(1000)))])
    assert len(stream.getvalue().splitlines()) == 11


@pytest.mark.case(83)
def test_a_bar_is_shown_once_a_second_and_at_its_end() -> None:
    now = [0.0]
    stream = io.StringIO()
    console = PlainConsole(Redactor([]), stream, monotonic=lambda: now[0])
    with console.untrusted():
        for step in range(1, 101):
            now[0] = step / 8
            console.remote([f"{step:3}%|{'#' * (step // 10):10}| {step}/100 [00:0{step // 11}<00:01, 9.9it/s]"])
            if step == 50:
                console.remote(["{'loss': 1.0}", "{'loss': 0.5}"])
    lines = stream.getvalue().splitlines()
    shown = [int(line[2:5]) for line in lines if "it/s" in line]
    assert shown == [1, 9, 17, 25, 33, 41, 49, 50, 51, 59, 67, 75, 83, 91, 99, 100]
    at = lines.index("| {'loss': 1.0}")
    assert lines[at - 1].startswith("|  50%"), "the last state stands before what comes next"
    assert lines[at + 1] == "| {'loss': 0.5}", "metrics that differ in numbers only are no bar"


@pytest.mark.case(4)
def test_a_secret_over_two_batches_of_lines_is_not_shown() -> None:
    console, stream = _plain("hf_local_abcdef")
    with console.untrusted():
        console.remote(console.whole(["one", "token hf_local"]))
        assert stream.getvalue() == "| one\n", "what may be the beginning of a secret waits"
        console.remote(console.whole(["_abcdef."]))
        console.remote(console.whole([], last=True))
    assert stream.getvalue() == "| one\n| token ***\n| ***.\n"


def test_a_terminal_gets_words_instead_of_commands() -> None:
    console, stream = _plain("hf_local_abc")
    with console.group("Plan"):
        console.info("x")
    console.notice("t", "n")
    console.warning("t", "w\x1b[2J")
    console.error("t", "e hf_local_abc\nsecond")
    assert stream.getvalue() == "-- Plan\nx\nnote: t: n\nwarning: t: w\nerror: t: e ***\nsecond\n"
