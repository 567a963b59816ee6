"""Where a run leaves its results: outputs that the runner reads back, a summary that it takes, no secret."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hf_train import files as room
from hf_train.files import RunFiles, read_state
from hf_train.text.redact import Redactor
from support.runner_oracle import outputs_of


def _files(folder: Path, *secrets: str) -> RunFiles:
    return RunFiles(
        output_file=str(folder / "output"),
        summary_file=str(folder / "summary"),
        report_dir=folder / "report",
        state_file=folder / "state" / "job.json",
        redact=Redactor(secrets),
    )


_VALUE = st.text(max_size=20) | st.sampled_from(
    ["", "a\nb", "x<<EOF\nEOF", "a=b", "\n", "\r\n", "name<<ghd_", "\ud800", "😀" * 50, '{"a": 1}']
)


@pytest.mark.case(13)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.from_regex(r"[a-z][a-z-]{0,8}", fullmatch=True), _VALUE, max_size=4))
def test_the_runner_reads_back_what_was_written(tmp_path: Path, values: dict[str, str]) -> None:
    (tmp_path / "output").unlink(missing_ok=True)
    files = _files(tmp_path)
    files.outputs({"earlier": "x"})
    files.outputs(values)
    written = (tmp_path / "output").read_bytes().decode() if values else "earlier=x"
    read = outputs_of(written)
    assert {"earlier": "x"} | {
        name: value.encode("utf-8", "replace").decode() for name, value in values.items()
    } == read


@pytest.mark.case(13)
def test_each_value_has_its_own_delimiter(tmp_path: Path) -> None:
    _files(tmp_path).outputs({"a": "1", "b": "2"})
    delimiters = [line.split("<<")[1] for line in (tmp_path / "output").read_text().splitlines() if "<<" in line]
    assert len(set(delimiters)) == 2
    assert all(len(delimiter) == 68 for delimiter in delimiters)


def test_the_last_value_wins(tmp_path: Path) -> None:
    files = _files(tmp_path)
    files.outputs({"job-id": "", "stage": "SCHEDULING"})
    files.outputs({"job-id": "6", "stage": "COMPLETED"})
    assert outputs_of((tmp_path / "output").read_text()) == {"job-id": "6", "stage": "COMPLETED"}


def test_json_stays_json_when_a_secret_looks_like_its_digits(tmp_path: Path) -> None:
    files = _files(tmp_path, "123456", "hf_local_abc")
    text = json.dumps({"a": 0.123456, "b": 1234567, "c": 1.5, "hf_local_abc": 2.0, "d": ["hf_local_abc", True, None]})
    files.outputs({"metrics": text, "plain": "x 123456"})
    read = outputs_of((tmp_path / "output").read_text())
    assert json.loads(read["metrics"]) == {"a": None, "b": None, "c": 1.5, "***": 2.0, "d": ["***", True, None]}
    assert read["plain"] == "x ***"
    files.report("report.json", json.dumps(json.loads(text), indent=2) + "\n")
    written = (tmp_path / "report" / "report.json").read_text()
    assert json.loads(written)["a"] is None
    assert written.startswith('{\n  "a": null')


@pytest.mark.case(95)
def test_a_summary_is_cut_between_characters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in range(10, 20):
        monkeypatch.setattr(room, "MAX_SUMMARY", limit)
        (tmp_path / "summary").unlink(missing_ok=True)
        _files(tmp_path).summary("a😀é" * 10)
        text = (tmp_path / "summary").read_bytes()
        assert len(text) <= limit + 1
        assert ("a😀é" * 10).startswith(text.decode("utf-8").rstrip("\n"))


def test_a_summary_is_replaced_and_what_others_wrote_stays(tmp_path: Path) -> None:
    (tmp_path / "summary").write_text("theirs\n")
    files = _files(tmp_path, "hf_local_abc")
    files.summary("a long first one")
    files.summary("hf_local_abc")
    assert (tmp_path / "summary").read_text() == "theirs\n***\n"


@pytest.mark.case(17)
def test_the_state_file_is_for_this_user_only(tmp_path: Path) -> None:
    files = _files(tmp_path)
    path = tmp_path / "state" / "job.json"
    path.parent.mkdir()
    path.write_text("older, and readable by all")
    path.chmod(0o644)
    files.remember({"nonce": "n", "job-id": "6"})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_state(path) == {"nonce": "n", "job-id": "6"}
    assert [one.name for one in path.parent.iterdir()] == ["job.json"], "nothing half-written is left beside it"
    files.forget()
    files.forget()
    assert not path.exists()
    assert read_state(path) == {}


@pytest.mark.case(17)
def test_the_state_file_does_not_follow_a_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "job.json").symlink_to(victim)
    _files(tmp_path).remember({"nonce": "n"})
    assert victim.read_text() == "precious"
    assert read_state(tmp_path / "state" / "job.json") == {"nonce": "n"}


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff", b"null"])
def test_a_foreign_state_file_is_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "s").write_bytes(content)
    assert read_state(tmp_path / "s") == {}


def test_the_log_is_kept_as_it_was_without_secrets(tmp_path: Path) -> None:
    files = _files(tmp_path, "hf_local_abc")
    files.log(["\x1b[31mred\x1b[0m", "token hf_local_abc", "hf_loc\x1b[0mal_abc", "\ud800 x"])
    files.log(["last"])
    files.close()
    assert (tmp_path / "report" / "job.log").read_text() == "\x1b[31mred\x1b[0m\ntoken ***\n***\n? x\nlast\n"


def test_a_run_without_a_line_has_an_empty_log(tmp_path: Path) -> None:
    _files(tmp_path).close()
    assert (tmp_path / "report" / "job.log").read_text().strip() == ""


def test_a_report_may_hold_anything(tmp_path: Path) -> None:
    path = _files(tmp_path, "hf_local_abc").report("comment.md", "é hf_local_abc \ud800\n")
    assert Path(path).read_text(encoding="utf-8") == "é *** ?\n"


def test_nowhere_to_write_is_no_error() -> None:
    files = RunFiles(output_file="", summary_file="", report_dir=None, state_file=None, redact=Redactor(()))
    files.outputs({"a": "1"})
    files.summary("x")
    files.log(["x"])
    assert files.report("comment.md", "x") == ""
    files.remember({"a": "b"})
    files.forget()
    files.close()
