"""One result, several projections: comment, summary, outputs, check. Pure."""

from hf_train.report.check import check_annotations, check_conclusion, check_summary
from hf_train.report.comment import comment
from hf_train.report.frames import Frame, Frames
from hf_train.report.marks import age, tells_the_same
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
    "age",
    "as_json",
    "check_annotations",
    "check_conclusion",
    "check_summary",
    "comment",
    "outputs",
    "summary",
    "tells_the_same",
    "verdict_of",
]
