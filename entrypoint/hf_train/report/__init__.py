"""One result, several projections: comment, summary, outputs, check. Pure."""

from hf_train.report.check import check_annotations, check_conclusion, check_summary
from hf_train.report.comment import comment, result_mark
from hf_train.report.frames import Frame, Frames
from hf_train.report.model import Phase, Report
from hf_train.report.outputs import as_json, outputs
from hf_train.report.summary import summary
from hf_train.report.verdict import Verdict, verdict_of

__all__ = [
    "Frame",
    "Frames",
    "Phase",
    "Report",
    "Verdict",
    "as_json",
    "check_annotations",
    "check_conclusion",
    "check_summary",
    "comment",
    "outputs",
    "result_mark",
    "summary",
    "verdict_of",
]
