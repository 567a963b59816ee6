"""The plan: everything that would be submitted, printable, before anything is sent or spent. Pure."""

from hf_train.plan.cost import usd
from hf_train.plan.line import equal_line
from hf_train.plan.make import BUCKET, COMMAND_IMAGE, UV_IMAGE, default_image, make_plan, snapshot_path
from hf_train.plan.model import HOUSE, Budget, Expect, Facts, Plan
from hf_train.plan.names import family, label
from hf_train.plan.watching import outlives, watch_problems

__all__ = [
    "BUCKET",
    "COMMAND_IMAGE",
    "HOUSE",
    "UV_IMAGE",
    "Budget",
    "Expect",
    "Facts",
    "Plan",
    "default_image",
    "equal_line",
    "family",
    "label",
    "make_plan",
    "outlives",
    "snapshot_path",
    "usd",
    "watch_problems",
]
