"""Which repo the model may have gone to."""

from __future__ import annotations

import pytest

from hf_train.collect import LogReading, model_candidates, read_log
from hf_train.collect.links import parse_repo_url

EMPTY = LogReading(status="running")


def ids(command: list[str], config: str | None = None, log: str = "", owner: str | None = "acme") -> list[str]:
    reading = read_log([log]) if log else EMPTY
    return [f"{found.repo_type}:{found.repo_id}" for found in model_candidates(command, config, reading, owner)]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["python", "x.py", "--hub_model_id", "u/r"], ["model:u/r"]),
        (["x", "--hub-model-id=u/r"], ["model:u/r"]),
        (["x", "--output-repo", "u/r", "--push_to_hub"], ["model:u/r"]),
        (["x", "--hub_model_id", "r"], ["model:acme/r"]),
        (["x", "--push_to_hub", "--output_dir", "/data/out/tiny"], ["model:acme/tiny"]),
        (["x", "--push_to_hub", "True", "--output_dir=./tiny/"], ["model:acme/tiny"]),
        (["x", "--push_to_hub", "False", "--output_dir", "tiny"], []),
        (["x", "--output_dir", "tiny"], []),
        (["bash", "-c", "pip install trl && trl sft --hub_model_id 'u/r' --push_to_hub"], ["model:u/r"]),
        (["x", "--hub_model_id", "u/r", "--push_to_hub", "--output_dir", "o"], ["model:u/r", "model:acme/o"]),
        (["x", "--hub_model_id"], []),
        (["x", "--hub_model_id", "None"], []),
        (["x", "--hub_model_id", "../../etc"], []),
        (["python", "train.py", "hub_model_id=u/r"], ["model:u/r"]),
    ],
)
def test_arguments(command: list[str], expected: list[str]) -> None:
    assert ids(command) == expected


def test_without_an_owner_a_bare_name_is_no_repo() -> None:
    assert ids(["x", "--hub_model_id", "r", "--push_to_hub", "--output_dir", "o"], owner=None) == []


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ("hub_model_id: u/ax-lora\noutput_dir: ./out\n", ["model:u/ax-lora"]),
        ("training_args:\n  push_to_hub: true\n  output_dir: ./out/run-1\n", ["model:acme/run-1"]),
        ("push_to_hub: false\noutput_dir: ./out\n", []),
        ("hub_model_id:\n", []),
        ("{broken", []),
        ("- list", []),
        ("a: !!python/object/apply:os.system [id]", []),
    ],
)
def test_configuration(config: str, expected: list[str]) -> None:
    assert ids(["axolotl", "train", "cfg.yml"], config) == expected


def test_log_lines_come_last_and_the_strongest_first() -> None:
    log = (
        f"https://huggingface.co/u/data-push/commit/{'a' * 40}\n"
        '{"hub_model_id": "u/from-config"}\n'
        "🤗 Model pushed to the Hub in https://huggingface.co/u/final.\n"
        'HTTP Request: POST https://huggingface.co/api/datasets/u/set/commit/main "HTTP/1.1 200 OK"\n'
    )
    expected = ["model:u/from-config", "model:u/final", "model:u/data-push", "dataset:u/set"]
    assert ids(["x"], None, log) == expected
    assert ids(["x", "--hub_model_id", "u/final"], None, log)[0] == "model:u/final"


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("https://huggingface.co/u/r", ("model", "u/r", "https://huggingface.co/u/r")),
        ("https://huggingface.co/u/r.", ("model", "u/r", "https://huggingface.co/u/r")),
        ("https://huggingface.co/u/r/tree/main", ("model", "u/r", "https://huggingface.co/u/r")),
        ("https://huggingface.co/u/r-v1.5/commit/abc", ("model", "u/r-v1.5", "https://huggingface.co/u/r-v1.5")),
        ("https://huggingface.co/datasets/u/d", ("dataset", "u/d", "https://huggingface.co/datasets/u/d")),
        ("https://huggingface.co/spaces/u/s/", ("space", "u/s", "https://huggingface.co/spaces/u/s")),
        ("http://127.0.0.1:8123/u/r/resolve/main/x", ("model", "u/r", "http://127.0.0.1:8123/u/r")),
        ("http://localhost:9000/u/r", ("model", "u/r", "http://localhost:9000/u/r")),
        ("https://huggingface.co/models", None),
        ("https://huggingface.co/docs/hub/jobs", None),
        ("https://huggingface.co/jobs/u/123", None),
        ("https://huggingface.co/api/models/u/r", None),
        ("https://huggingface.co/None/resolve/main/x", None),
        ("https://huggingface.co/u", None),
        ("ftp://huggingface.co/u/r", None),
    ],
)
def test_grammar_of_addresses(address: str, expected: tuple[str, str, str] | None) -> None:
    assert parse_repo_url(address) == expected
