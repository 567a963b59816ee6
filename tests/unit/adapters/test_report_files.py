"""Files that cannot be written are told once, and no verdict changes for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from hf_train.files import RunFiles


@pytest.mark.case(90)
def test_a_file_that_cannot_be_written_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    told: list[str] = []
    files = RunFiles(
        output_file=str(tmp_path),  # a folder
        summary_file=str(tmp_path),
        report_dir=tmp_path / "file" / "below",
        state_file=None,
        redact=lambda text: text,  # type: ignore[arg-type]
        tell=told.append,
    )
    for _ in range(3):
        files.outputs({"a": "b"})
        files.summary("# x")
        files.log(["line"])
        assert files.report("report.json", "{}") == ""
    files.close()
    assert [text.split(" could not")[0] for text in told] == [
        "GITHUB_OUTPUT",
        "the job summary",
        "job.log",
        "report.json",
    ]
    assert "Is a directory" in told[0]
