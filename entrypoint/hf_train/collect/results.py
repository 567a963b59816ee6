"""The result files of a repo at one commit, as sources of numbers. Pure. Order of trust: `collect.trust.ORDER`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hf_train.collect.cards import read_model_card
from hf_train.collect.files import read_all_results, read_metrics_file, read_trainer_state
from hf_train.collect.tensorboard import read_tensorboard_events
from hf_train.collect.trust import Source

_RESULTS = frozenset({"all_results.json", "eval_results.json", "train_results.json"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Results:
    """What the files say.

    Attributes:
        sources: Numbers, one entry per file.
        curve: Name to (step, value) points: the trainer's own, else TensorBoard's; empty when there is none.
        problems: What could not be read, in words.
    """

    sources: tuple[Source, ...]
    curve: Mapping[str, Sequence[tuple[float, float]]]
    problems: tuple[str, ...]


def not_there(metrics_file: str) -> str:
    """That a commit does not hold the file that the user named, in words."""
    return f"The metrics file {metrics_file} is not in the repo at this Job's commit."


def read_results(contents: Mapping[str, bytes], metrics_file: str | None = None) -> Results:
    """Read the result files of one commit.

    Args:
        contents: Content by path.
        metrics_file: Path of the file whose numbers are trusted most, None when the user named none.
    """
    sources: list[Source] = []
    problems: list[str] = []
    of_trainer: Mapping[str, Sequence[tuple[float, float]]] = {}
    of_events: Mapping[str, Sequence[tuple[float, float]]] = {}
    for name, content in contents.items():
        text = content.decode("utf-8", "replace")
        if name == metrics_file:
            own = read_metrics_file(text)
            sources.append(Source("metrics-file", own.values, name=name))
            problems += [f"{name}: {problem}" for problem in own.problems]
        elif name in _RESULTS:
            results = read_all_results(text)
            sources.append(Source(name, results.values))
            problems += [f"{name}: {problem}" for problem in results.problems]
        elif name == "trainer_state.json":
            state = read_trainer_state(text)
            sources.append(Source(name, state.metrics, state.global_step))
            problems += [f"{name}: {problem}" for problem in state.problems]
            of_trainer = state.curve
        elif name == "README.md":
            sources.append(Source("model-index", read_model_card(text).metrics, name="model card"))
        elif "tfevents" in name:
            events = read_tensorboard_events(content)
            sources.append(Source("tensorboard", events.metrics, name="TensorBoard"))
            of_events = of_events or events.curve
    if metrics_file and metrics_file not in contents:
        problems.append(not_there(metrics_file))
    return Results(sources=tuple(sources), curve=of_trainer or of_events, problems=tuple(problems))
