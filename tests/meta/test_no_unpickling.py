"""Nothing in the package can load a pickle: what a Job publishes is read as text and bytes only."""

from __future__ import annotations

import ast

import pytest

from support.paths import ROOT

FORBIDDEN = frozenset(
    {"pickle", "cPickle", "_pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve", "torch", "numpy", "pandas"}
)
MODULES = sorted((ROOT / "entrypoint" / "hf_train").rglob("*.py"))


def loaders(tree: ast.AST) -> list[str]:
    """What in a module could unpickle."""
    found: list[str] = []
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        elif isinstance(node, ast.Attribute) and ast.unparse(node) in {
            "yaml.load",
            "yaml.unsafe_load",
            "yaml.full_load",
        }:
            found.append(ast.unparse(node))
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in {"eval", "exec", "__import__"}:
            found.append(ast.unparse(node.func))
        found += [name for name in names if name.split(".")[0] in FORBIDDEN]
    return found


def test_no_module_can_unpickle() -> None:
    assert len(MODULES) > 100
    found = {str(path.relative_to(ROOT)): loaders(ast.parse(path.read_text(encoding="utf-8"))) for path in MODULES}
    assert {path: names for path, names in found.items() if names} == {}


@pytest.mark.parametrize(
    "code", ["import pickle", "from torch.serialization import load", "yaml.load(x)", "eval(x)", "import os, joblib.x"]
)
def test_the_check_sees_what_it_looks_for(code: str) -> None:
    assert len(loaders(ast.parse(code))) == 1
