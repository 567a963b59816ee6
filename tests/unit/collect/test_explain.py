"""`hf-train explain` on whatever it is given: one clear answer, in bounded memory."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import sys
import tracemalloc
from pathlib import Path

import pytest

from hf_train.commands.explain import explain
from hf_train.errors import BadInput

LOG = "{'loss': '0.5', 'epoch': '1'}\n100%|██████████| 4/4 [00:02<00:00, 2.00it/s]\n"


@pytest.mark.parametrize(
    ("data", "answer"),
    [
        (b"", "The log is empty"),
        (b" \r\n\n", "The log is empty"),
        (bytes(range(256)) * 64, "This is not a text log"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(200)), "This is not a text log"),
        (b"\x00" * 4096, "This is not a text log"),
        (gzip.compress(LOG.encode(), mtime=0), "This is a compressed file"),
        (bz2.compress(LOG.encode()), "This is a compressed file"),
        (lzma.compress(LOG.encode()), "This is a compressed file"),
        (b"\x28\xb5\x2f\xfd" + bytes(100), "This is a compressed file"),
        (b"PK\x03\x04" + bytes(100), "This is a compressed file"),
    ],
)
def test_what_is_no_log_gets_one_line(
    data: bytes, answer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log"
    path.write_bytes(data)
    assert explain(str(path)) == 0
    out = capsys.readouterr().out
    assert out.startswith(answer)
    assert out.count("\n") == 1
    assert explain(str(path), "json") == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["status"], record["metrics"], record["cause"]) == ("truncated", {}, None)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "be-with-mark"])
def test_each_encoding_of_a_log_reads_the_same(
    encoding: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = b"\xfe\xff" + LOG.encode("utf-16-be") if encoding == "be-with-mark" else LOG.encode(encoding)
    path = tmp_path / "log"
    path.write_bytes(data)
    explain(str(path), "json")
    record = json.loads(capsys.readouterr().out)
    assert record["metrics"]["loss"] == 0.5
    assert record["progress"] == {"step": 4, "total": 4, "epoch": 1.0}
    explain(str(path))
    assert ("The log is UTF-16" in capsys.readouterr().out) == ("16" in encoding or "mark" in encoding)


@pytest.mark.parametrize("name", ["missing", "."])
def test_what_cannot_be_opened_is_named(name: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"No such file|Is a directory") as caught:
        explain(str(tmp_path / name))
    assert str(tmp_path) in caught.value.message


def test_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LOG.encode())))
    assert explain("-") == 0
    assert "loss" in capsys.readouterr().out


def test_a_file_of_one_line_of_40_mb(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "log"
    with path.open("wb") as file:
        for _ in range(40):
            file.write(b"loss=0.5 acc 2 " * 70_000)
    tracemalloc.start()
    explain(str(path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 30e6
    assert "A line was longer than 32,768 characters" in capsys.readouterr().out


def test_what_the_log_says_is_no_command_for_the_runner(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "log"
    path.write_text("ValueError: ##[error]x ::set-output name=a::b\n::error::RuntimeError: y\n##[group]KeyError: z\n")
    explain(str(path))
    out = capsys.readouterr().out
    assert "##[" not in out
    assert not any(line.lstrip().startswith("::") for line in out.splitlines())
    explain(str(path), "json")
    out = capsys.readouterr().out
    assert "##[" not in out
    assert "##[" in json.loads(out)["cause_line"]
