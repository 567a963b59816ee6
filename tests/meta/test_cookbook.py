"""The cookbook says the same in both languages, and nothing that the repository does not hold."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from hf_train.inputs.fields import FIELDS
from support.paths import ROOT

DOCS = ROOT / "docs"
FIRST = {
    "en": ["Permissions", "Cost", "Workflow"],
    "es": ["Permisos", "Coste", "Workflow"],
}
PAGES = [path for language in FIRST for path in sorted((DOCS / language).glob("*.md"))]
ARTICLES = [path for path in PAGES if path.name != "index.md"]
LINES = 80
_ON_RUNNER_ONLY = {"python"}  # an input of the action, none of the program
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def name(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def fences(path: Path, language: str) -> list[str]:
    return [text for kind, text in _FENCE.findall(path.read_text(encoding="utf-8")) if kind == language]


def prose(path: Path) -> str:
    return _FENCE.sub("", path.read_text(encoding="utf-8"))


def steps(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        if "uses" in node or "run" in node:
            yield node
        for value in node.values():
            yield from steps(value)
    elif isinstance(node, list):
        for value in node:
            yield from steps(value)


def anchors(path: Path) -> set[str]:
    """The anchors that GitHub makes of a document's headings."""
    heads = re.findall(r"^#+ (.+)$", prose(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def test_both_languages_hold_the_same_pages() -> None:
    english, spanish = ({path.name for path in PAGES if path.parent.name == language} for language in FIRST)
    assert english == spanish
    assert "index.md" in english
    assert len(english) > 1


@pytest.mark.parametrize("language", FIRST)
def test_the_index_lists_every_page_once_by_its_title(language: str) -> None:
    text = (DOCS / language / "index.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| \[(.+?)\]\(([\w-]+\.md)\)", text, re.MULTILINE)
    titles = [(path.read_text(encoding="utf-8").splitlines()[0], path.name) for path in ARTICLES]
    there = [one for one, path in zip(titles, ARTICLES, strict=True) if path.parent.name == language]
    assert sorted((f"# {title}", page) for title, page in listed) == sorted(there)


def test_both_indexes_have_the_same_order_and_are_linked_from_the_readme() -> None:
    order = [re.findall(r"^\| \[.+$", prose(DOCS / one / "index.md"), re.MULTILINE) for one in FIRST]
    english, spanish = ([_LINK.findall(row) for row in rows] for rows in order)
    assert english == spanish
    links = _LINK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert {"docs/en/index.md", "docs/es/index.md"} <= set(links)


@pytest.mark.parametrize("path", [path for path in PAGES if path.parent.name == "en"], ids=name)
@pytest.mark.parametrize("kind", ["yaml", "sh"])
def test_a_block_is_the_same_in_both_languages(path: Path, kind: str) -> None:
    assert fences(DOCS / "es" / path.name, kind) == fences(path, kind)


@pytest.mark.parametrize("path", ARTICLES, ids=name)
def test_permissions_cost_and_workflow_come_first(path: Path) -> None:
    heads = re.findall(r"^## (.+)$", prose(path), re.MULTILINE)
    assert heads[:3] == FIRST[path.parent.name]
    before, workflow = path.read_text(encoding="utf-8").split("\n## Workflow\n")
    assert "```yaml" not in before
    assert "```yaml" in workflow.split("\n## ")[0]


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_a_page_is_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LINES


@pytest.mark.parametrize("path", ARTICLES, ids=name)
def test_a_page_stands_on_an_example_that_a_test_runs(path: Path) -> None:
    named = set(re.findall(r"examples/[\w./-]*\w", path.read_text(encoding="utf-8")))
    assert [one for one in sorted(named) if not (ROOT / one).exists()] == []
    folders = {one.split("/")[1] for one in named if (ROOT / one).is_dir()}
    assert folders
    layers = [file for layer in ("contract", "e2e", "libraries") for file in (ROOT / "tests" / layer).rglob("*.py")]
    tests = "\n".join(file.read_text(encoding="utf-8") for file in layers)
    assert [one for one in sorted(folders) if not re.search(rf"[\"/]{one}[\"/]", tests)] == []


@pytest.mark.parametrize("path", ARTICLES, ids=name)
def test_a_workflow_gives_inputs_that_exist(path: Path) -> None:
    blocks = [yaml.safe_load(text) for text in fences(path, "yaml")]
    ours = [step for step in steps(blocks) if step.get("uses", "").startswith("OWNER/hf-train@")]
    assert ours or [step for step in steps(blocks) if "hf-train " in step.get("run", "")], "a step of ours"
    known = {field.name for field in FIELDS} | _ON_RUNNER_ONLY
    assert sorted({key for step in ours for key in step.get("with", {})} - known) == []


@pytest.mark.parametrize("path", ARTICLES, ids=name)
def test_a_command_gives_flags_that_exist(path: Path) -> None:
    text = "\n".join(fences(path, "sh")).replace("\\\n", " ")
    known = {f"--{field.name}" for field in FIELDS if field.flag}
    for line in re.findall(r"\bhf-train (?:run|plan)\b(.*)$", text, re.MULTILINE):
        words = list(itertools.takewhile(lambda word: word != "--", shlex.split(line)))
        given = {word.partition("=")[0] for word in words if word.startswith("--")}
        # The value of `--args` is one word and may begin with dashes too.
        assert sorted(word for word in given - known if " " not in word) == []


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_a_link_leads_somewhere(path: Path) -> None:
    links = [one for one in _LINK.findall(prose(path)) if not re.match(r"[a-z]+:", one)]
    assert links
    for link in links:
        file, _, anchor = link.partition("#")
        target = (path.parent / file).resolve() if file else path
        assert target.exists(), link
        assert target.is_relative_to(ROOT), link
        assert not anchor or anchor in anchors(target), link
