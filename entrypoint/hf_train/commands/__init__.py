"""The commands: run the flow over a wired world, give an exit code. One module per command."""

from hf_train.commands import image, schedule
from hf_train.commands.around import guarded
from hf_train.commands.cancel import cancel
from hf_train.commands.collect import collect
from hf_train.commands.comment import comment
from hf_train.commands.demo import demo
from hf_train.commands.explain import explain
from hf_train.commands.local_hub import local_hub
from hf_train.commands.merge import merge_reports
from hf_train.commands.run import plan, run
from hf_train.commands.sweep import sweep

__all__ = [
    "cancel",
    "collect",
    "comment",
    "demo",
    "explain",
    "guarded",
    "image",
    "local_hub",
    "merge_reports",
    "plan",
    "run",
    "schedule",
    "sweep",
]
