"""Model cards: what a README says about its model. Pure text; YAML is loaded safely.

Sources: reference §1.9 (sentence-transformers fills the model-index with full precision), §1.4 (Axolotl leaves it empty
and writes "It achieves the following results on the evaluation set"), §2.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import yaml

from hf_train.collect.values import nesting, number, to_number

MAX_CARD = 4 * 1024 * 1024
MAX_FRONT_MATTER = 256 * 1024
MAX_NAMES = 400

_FRONT = re.compile(r"\A\ufeff?\s*---[ \t]*\r?\n(.*?)\r?\n(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_RESULTS = re.compile(
    r"achieves the following results on the (?:evaluation|test|validation) set:\s*\n((?:[ \t]*\n|[-*] .*\n?)+)"
)
_RESULT = re.compile(r"^[-*] ([^:\n]{1,80}?)\s*:\s*([^\s,]{1,40})[ \t]*$", re.MULTILINE)
_UNSAFE = re.compile(r"[^\w./@ ()-]+")


@dataclass(frozen=True)
class ModelCard:
    """What a model card says.

    Attributes:
        metrics: Numbers by the Trainer's names (``eval_loss``, ``eval_accuracy``) as far as they can be told;
            the model-index before the text.
        base_model: Repo ids of the base models.
        datasets: Dataset ids.
        tags: Tags (``hf_jobs``, ``trackio:<address>``, ``generated_from_trainer``, ...).
        library_name: Library, or None.
        pipeline_tag: Task, or None.
        problems: What was wrong with the content.
    """

    metrics: Mapping[str, float | None] = field(default_factory=lambda: MappingProxyType({}))
    base_model: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    library_name: str | None = None
    pipeline_tag: str | None = None
    problems: tuple[str, ...] = ()


def read_model_card(text: str) -> ModelCard:
    """Read a README with its front matter.

    Args:
        text: Content of the file.

    Returns:
        Its metrics and links; never raises.
    """
    if len(text) > MAX_CARD:
        return ModelCard(problems=("larger than 4 MB",))
    problems: list[str] = []
    front = _front_matter(text, problems)
    metrics: dict[str, float | None] = dict(_text_metrics(text))
    metrics.update(_index_metrics(front))
    return ModelCard(
        metrics=MappingProxyType(dict(list(metrics.items())[:MAX_NAMES])),
        base_model=_strings(front.get("base_model")),
        datasets=_strings(front.get("datasets")),
        tags=_strings(front.get("tags")),
        library_name=_string(front.get("library_name")),
        pipeline_tag=_string(front.get("pipeline_tag")),
        problems=tuple(problems),
    )


def _front_matter(text: str, problems: list[str]) -> Mapping[str, Any]:
    found = _FRONT.match(text)
    if not found:
        problems.append("no front matter")
        return {}
    if len(found[1]) > MAX_FRONT_MATTER:
        problems.append("front matter larger than 256 KB")
        return {}
    if nesting(found[1]) > 64:
        problems.append("front matter is no YAML: nested too deeply")
        return {}
    try:
        front = yaml.safe_load(found[1])
    except (yaml.YAMLError, ValueError, TypeError, AttributeError, KeyError, IndexError, RecursionError) as error:
        # The safe loader leaks other errors than YAMLError on odd dates, tags and keys.
        problems.append(f"front matter is no YAML: {str(error)[:120]}")
        return {}
    if not isinstance(front, dict):
        problems.append("front matter is no mapping")
        return {}
    return front


def _index_metrics(front: Mapping[str, Any]) -> Iterator[tuple[str, float | None]]:
    results = [result for entry in _dicts(front.get("model-index")) for result in _dicts(entry.get("results"))]
    several = len(results) > 1
    for result in results:
        group = _group(result.get("dataset"))
        for metric in _dicts(result.get("metrics")):
            name = _string(metric.get("type")) or _string(metric.get("name"))
            value = number(metric.get("value"))
            if name is None or (value is None and metric.get("value") is not None):
                continue
            key = _key(name)
            yield f"eval_{_key(group)}_{key}" if several and group else f"eval_{key}", value


def _group(dataset: object) -> str | None:
    """What a result was measured on.

    sentence-transformers 5 writes the evaluator's name as the type, and as the name with blanks for its dashes; logs
    and trainer state have the type.
    """
    if not isinstance(dataset, dict):
        return None
    name, kind = _string(dataset.get("name")), _string(dataset.get("type"))
    return kind if name and kind and name == kind.replace("-", " ") else name


def _text_metrics(text: str) -> Iterator[tuple[str, float | None]]:
    found = _RESULTS.search(text)
    if not found:
        return
    for name, printed in _RESULT.findall(found[1]):
        value = to_number(printed)
        if value is not None:
            yield f"eval_{_key(name)}", value


def _key(name: str) -> str:
    """``Mean Token Accuracy`` as the Trainer logs it: ``mean_token_accuracy``."""
    return _UNSAFE.sub("", name.strip()).strip().lower().replace(" ", "_")[:64]


def _dicts(value: object) -> list[dict[str, Any]]:
    return [item for item in value[:200] if isinstance(item, dict)] if isinstance(value, list) else []


def _strings(value: object) -> tuple[str, ...]:
    items = value[:200] if isinstance(value, list) else [value]
    texts = (_string(item) for item in items)
    return tuple(text for text in texts if text)


def _string(value: object) -> str | None:
    return value[:200] if isinstance(value, str) and value not in {"", "None"} else None
