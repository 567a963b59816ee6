"""Python dict lines: transformers 4 (raw floats) and 5 (quoted strings), TRL, SetFit, Axolotl, accelerate, Keras.

They rarely start their line: a bar, a prefix or prose may stand in front. Sources: reference §1.1, §1.2, §1.6.
"""

from __future__ import annotations

import re
from functools import lru_cache

from hf_train.collect.families.base import Family, Read
from hf_train.collect.ledger import STRUCTURED, Ledger
from hf_train.collect.values import is_grad_norm, is_result, to_number, word_set

_DICT = re.compile(r"\{'[^{}]*\}")
_PAIR = re.compile(r"""'([^'\n]{1,100})':\s?(?:[a-z][\w.]*\(\s*)?('[^'\n]*'|"[^"\n]*"|[-+.\w]+)""")
_STEP_KEYS = ("step", "global_step", "current_steps", "iter", "iteration", "num_updates")
_ARGUMENTS = word_set(
    """
    eval_steps eval_delay eval_accumulation_steps eval_batch_size eval_strategy eval_on_start eval_split eval_size
    eval_dataset eval_packing eval_max_new_tokens eval_sample_packing train_batch_size train_size train_split
    train_file train_dataset loss_type loss_weights loss_fn loss_scale label_smoothing
    """
)
_EPOCH = re.compile(r"(?i)\bepoch:?\s\[?(\d{1,7})\b")
_SETTINGS = re.compile(r"(?i)\b(?:args|arguments|config\w{0,8}|hyper-?param\w{0,6}|options|settings)\s?[:=]?\s?$")
_TRAIN_END = frozenset({"train_runtime", "train_samples_per_second", "train_steps_per_second", "train_loss"})


def _kind(key: str) -> int:
    """3 a key of the end line, 2 of an evaluation, 1 of a step, 0 proves nothing, -1 a setting."""
    if key in _ARGUMENTS:
        return -1
    if key in _TRAIN_END:
        return 3
    if key.startswith(("eval_", "test_", "predict_", "val_", "eval/", "test/")):
        return 2
    if is_result(key) or is_grad_norm(key) or key in {"entropy", "kl", "step_time"}:
        return 1
    return 0


@lru_cache(maxsize=1024)
def _shape(keys: tuple[str, ...]) -> tuple[bool, bool, str | None]:
    """Whether keys are those of a metrics dict, whether it is an evaluation's, and its key for the step."""
    kinds = [_kind(key) for key in keys]
    step = next((key for key in _STEP_KEYS if key in keys), None)
    return min(kinds, default=-1) >= 0 and max(kinds, default=0) > 0, 2 in kinds, step


def parse(text: str) -> dict[str, float | None] | None:
    """Read the pairs of one dict, by pattern and never by evaluation.

    Args:
        text: From ``{`` to ``}``.

    Returns:
        Name to value (None for a printed None), or None when it is no metrics dict.
    """
    values: dict[str, float | None] = {}
    words = 0
    for key, printed in _PAIR.findall(text):
        quoted = printed[0] in "'\""
        value = to_number(printed[1:-1] if quoted else printed)
        if value is not None:
            values[key] = value
        elif printed == "None":
            values[key] = None
        elif not printed.startswith("'[String too long"):
            words += 1
    if words * 2 > len(values) or not _shape(tuple(values))[0]:
        return None
    return values if any(value is not None for value in values.values()) else None


class _Dicts:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def read(self, text: str) -> bool:
        read = False
        if "│" in text:
            return False
        for found in _DICT.finditer(text, text.find("{'")):
            values = parse(found[0])
            if values and not _SETTINGS.search(text[max(0, found.start() - 40) : found.start()]):
                self._take(self._placed(values, text[: found.start()]), text)
                read = True
        return read and "%|" not in text  # a bar that the dict is glued to is read too

    def _placed(self, values: dict[str, float | None], before: str) -> dict[str, float | None]:
        """The values with the epoch that stands in front of the dict (``epoch 0: {'accuracy': 0.7}``)."""
        found = _EPOCH.search(before) if "poch" in before and "epoch" not in values else None
        return {**values, "epoch": float(found[1])} if found else values

    def _take(self, values: dict[str, float | None], text: str) -> None:
        ledger = self._ledger
        tracker = ledger.tracker
        _, evaluation, key = _shape(tuple(values))
        epoch = values.get("epoch")
        step = values[key] if key else None
        ending = "train_runtime" in values
        ledger.record(values, text, STRUCTURED, step=step, epoch=epoch, curve=not ending)
        if epoch is not None:
            tracker.at_epoch(epoch)
        if step is not None:
            tracker.steps(step, values.get("total_steps") or values.get("max_steps"))
        if ending:
            tracker.ended(values["train_runtime"], values.get("train_steps_per_second"), epoch)
            tracker.step_line(epoch)
            ledger.success()
        elif not evaluation:
            tracker.step_line(epoch)


class _OutputRepr:
    """``TrainOutput(global_step=12, training_loss=5.9, metrics={...})``: the dict is read by `_Dicts`."""

    _STEP = re.compile(r"TrainOutput\(global_step=(\d{1,12}), ")

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def read(self, text: str) -> bool:
        found = self._STEP.search(text)
        if found:
            self._ledger.tracker.steps(int(found[1]))
            self._ledger.success()
        return False


def _make(ledger: Ledger) -> Read:
    return _Dicts(ledger).read


FAMILY = Family("transformers dict lines", ("{'",), _make, closed=True)
OUTPUT = Family("transformers TrainOutput", ("TrainOutput(",), lambda ledger: _OutputRepr(ledger).read, closed=True)
