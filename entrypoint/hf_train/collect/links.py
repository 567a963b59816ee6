"""Links that a log prints: repos it says it pushed to, and tracker pages. Nothing here is proof.

The grammar and the traps (base models in errors, documentation, ``huggingface.co/models =)``) are those of
reference §2.4 and §1.11.
"""

from __future__ import annotations

import re

from hf_train.collect.cleaning import payload
from hf_train.collect.reading import Push

_RESERVED = (
    "datasets|spaces|buckets|jobs|docs|api|models|papers|blog|settings|collections|login|join|new|organizations|tasks|"
    "pricing|chat|posts|learn|kernels|inference|enterprise|welcome|None"
)
REPO = r"[A-Za-z0-9][\w.-]{0,95}"
_HOST = r"https?://[A-Za-z0-9.-]{1,80}(?::\d{1,5})?"
_URL = re.compile(
    rf"(?P<host>{_HOST})/(?:(?P<kind>datasets|spaces)/|(?!(?:{_RESERVED})(?:/|$|[\s'\")\]])))(?P<owner>{REPO})/(?P<name>{REPO})"
)
_API = re.compile(
    rf"HTTP Request: POST (?P<host>{_HOST})/api/(?P<kind>models|datasets|spaces)/(?P<owner>{REPO})/(?P<name>{REPO})"
    r"/commit/\S+ \"HTTP/[\d.]+ 20[01]\b"
)
_COMMIT = re.compile(
    r"commit_url='(?P<url>[^']{1,300})/commit/[0-9a-f]{7,64}', commit_message='(?P<title>[^']{0,200})'"
)
_MODEL_TITLE = re.compile(
    r"^(?:Upload \w*(?:For\w+|Model|Pipeline|tokenizer|Adapter)\b|End of training|Model save|Training in progress"
    r"|\(?Trained with Unsloth|Add new .* model)"
)
_WRITES: tuple[tuple[str, int, re.Pattern[str]], ...] = (
    ("TRL: model pushed", 3, re.compile(r"[Mm]odel pushed to the Hub (?:in|at):? (?P<url>https?://\S+)")),
    ("model available", 3, re.compile(r"(?:[Aa]dapter|[Mm]odel|GGUF)[\w ]{0,40} available at:? (?P<url>https?://\S+)")),
    ("saved to the Hub", 3, re.compile(r"Model saved to the Hugging Face Hub: (?P<url>https?://\S+)")),
    ("saved to the Hub", 3, re.compile(r"Saved (?:[\w-]+ ){0,3}?model to (?P<url>https?://\S+)")),
    (
        "pushed",
        3,
        re.compile(
            r"(?i)\b(?:model|adapter|weights|checkpoint|lora)\b.{0,60}\b(?:pushed|uploaded|published)\b.{0,40}?"
            r"(?P<url>https?://\S+)"
        ),
    ),
    ("hf upload", 2, re.compile(r"^\s*url: (?P<url>https?://\S+/commit/[0-9a-f]{7,64})")),
    ("commit address", 2, re.compile(r"^\s*(?P<url>https?://\S+/commit/[0-9a-f]{40})\s*$")),
    ("git push", 2, re.compile(r"^To (?P<url>https?://\S+)\s*$")),
    ("pushed", 2, re.compile(r"(?i)\b(?:pushed|uploaded|published)\b.{0,60}?\b(?:to|at|in)\b:? (?P<url>https?://\S+)")),
    ("repo address", 1, re.compile(r"^RepoUrl\('(?P<url>[^']{1,300})'")),
)
_TRACKERS = re.compile(
    r"https?://(?:[\w.-]*wandb\.ai/[\w.-]+/[\w.%-]+(?:/runs/[\w-]+)?|[\w.-]*comet\.(?:com|ml)/[\w.-]+/[\w.-]+/\w+"
    r"|app\.neptune\.ai/\S+|swanlab\.cn/@\S+|app\.clear\.ml/projects/\S+|[\w.:-]+/#/experiments/\d+/runs/\w+)"
)
_TRACKIO = re.compile(
    r"(?i)(?:space|dashboard|trackio|bucket|dataset)\b.{0,60}?(?P<url>https?://(?:[\w.:-]+/(?:spaces|buckets|datasets)/"
    r"[\w.-]+/[\w.-]+|[\w-]+\.hf\.space)\S*)"
)
_TRIM = ".,;:)'\"*]>`"
_MAX = 64

NEEDLES = (
    "ommit", "ush", "pload", "ublish", "vailable", "Saved", "aved to", "url:", "To http", "RepoUrl", "wandb",
    "rackio", "comet.", "neptune", "swanlab", "clear.ml", "hf.space", "pace:", "ashboard", "experiments/",
)  # fmt: skip
"""A segment with ``://`` but none of these is never looked at."""


def parse_repo_url(text: str) -> tuple[str, str, str] | None:
    """Kind, id and plain address of the repo that an address names.

    Args:
        text: An address such as ``https://huggingface.co/u/r/tree/main`` or ``http://127.0.0.1:8000/u/r.``.

    Returns:
        ``(repo_type, repo_id, url)``, or None when it is no repo.
    """
    found = _URL.match(text)
    if not found:
        return None
    return _repo(found["host"], found["kind"], found["owner"], found["name"])


def _repo(host: str, kind: str | None, owner: str, name: str) -> tuple[str, str, str]:
    name = name.rstrip(_TRIM)
    repo_type = {"datasets": "dataset", "spaces": "space"}.get(kind or "", "model")
    path = f"{kind}/{owner}/{name}" if repo_type != "model" else f"{owner}/{name}"
    return repo_type, f"{owner}/{name}", f"{host}/{path}"


class Links:
    """Collects the links of one log."""

    def __init__(self) -> None:
        self.trackers: dict[str, None] = {}
        self._pushes: dict[tuple[str, str], Push] = {}

    def read(self, text: str) -> bool:
        """Look at one segment that holds ``://`` and one of `NEEDLES`; True when it says that something was pushed."""
        if "│" in text or "┃" in text:
            return False  # a table of model-generated text
        self._tracker(text)
        found = _API.search(text)
        if found:
            return self._add(_repo(*found.group("host", "kind", "owner", "name")), "commit request", 2)
        committed = _COMMIT.search(text)
        if committed:
            strength = 3 if _MODEL_TITLE.match(committed["title"]) else 2
            return self._add(parse_repo_url(committed["url"]), f"commit: {committed['title']}", strength)
        bare = payload(text)
        for why, strength, pattern in _WRITES:
            written = pattern.search(bare)
            if written:
                return self._add(parse_repo_url(written["url"]), why, strength) and strength > 1
        return False

    def pushes(self) -> tuple[Push, ...]:
        """Every repo named as written to, in order of appearance."""
        return tuple(self._pushes.values())

    def model_urls(self) -> tuple[str, ...]:
        """Addresses of the model repos with the strongest evidence; a repo that is only named is none."""
        models = [push for push in self._pushes.values() if push.repo_type == "model" and push.strength > 1]
        best = max((push.strength for push in models), default=0)
        return tuple(push.url for push in models if push.strength == best)

    def _tracker(self, text: str) -> None:
        found = _TRACKERS.search(text)
        url = found[0] if found else None
        if url is None and ("rackio" in text or "pace" in text or "* " in text):
            other = _TRACKIO.search(text) if payload(text).lstrip().startswith("*") or "rackio" in text else None
            url = other["url"] if other else None
        if url and len(self.trackers) < _MAX:
            self.trackers[url.rstrip(_TRIM)] = None

    def _add(self, repo: tuple[str, str, str] | None, why: str, strength: int) -> bool:
        if repo is None:
            return False
        repo_type, repo_id, url = repo
        old = self._pushes.get((repo_type, repo_id))
        if old is None and len(self._pushes) >= _MAX:
            return True
        if old is None or strength > old.strength:
            self._pushes[repo_type, repo_id] = Push(repo_type, repo_id, url, why, strength)
        return True
