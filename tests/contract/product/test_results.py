"""From a Job that pushes to the report: which number is believed, which repo is the model, how the step ends."""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path

import pytest

from support.local_hub_process import Hub
from support.product import Done, Product, commit, write

PUSH = """\
import base64, json, os, sys
from huggingface_hub import CommitOperationAdd, HfApi

api = HfApi()
for repo, wanted in json.loads(open(sys.argv[1]).read()).items():
    kind = wanted.get("kind", "model")
    api.create_repo(repo, repo_type=kind, exist_ok=True, space_sdk="static" if kind == "space" else None)
    files = {name: base64.b64decode(content) for name, content in wanted["files"].items()}
    operations = [CommitOperationAdd(path_in_repo=name, path_or_fileobj=content) for name, content in files.items()]
    if operations:
        print(api.create_commit(repo, operations, commit_message="End of training", repo_type=kind))
print(*open(sys.argv[2]).read().splitlines(), sep="\\n")
"""
CARD = b"---\nlicense: mit\n---\n"
OPTIONAL = {"HF_TRAIN_REQUIRE_MODEL": "false"}
MODEL = {"model.safetensors": b"w" * 5000, "README.md": CARD}


class Trainer:
    """Runs a Job that pushes these files and prints these lines."""

    def __init__(self, product: Product, account: Hub, repo: Path) -> None:
        self.product, self.account, self.folder = product, account, repo
        self.runs = 0

    def run(
        self,
        pushes: dict[str, dict[str, bytes]],
        *words: str,
        log: str = "",
        kinds: dict[str, str] | None = None,
        env: dict[str, str] | None = None,
    ) -> Done:
        """One training; names of repos without an owner are the account's."""
        wanted = {
            f"{self.account.user}/{name}": {
                "kind": (kinds or {}).get(name, "model"),
                "files": {path: _base64(content) for path, content in files.items()},
            }
            for name, files in pushes.items()
        }
        self.runs += 1
        write(self.folder, {"push.py": f"# {self.runs}\n{PUSH}", "wanted.json": json.dumps(wanted), "log.txt": log})
        commit(self.folder)
        command = ("python", "push.py", "wanted.json", "log.txt")
        return self.product.run("--secrets", "HF_TOKEN", "--reuse", "never", *words, "--", *command, env=env)

    def name(self, repo: str) -> str:
        """Full id of a repo."""
        return f"{self.account.user}/{repo}"


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


@pytest.fixture
def trainer(product: Product, account: Hub, repo: Path) -> Trainer:
    """A trainer in the user's repository."""
    return Trainer(product, account, repo)


def event_file(tag: str, value: float) -> bytes:
    """A TensorBoard event file with one number (TFRecord: length, checksum, event, checksum)."""

    def field(number: int, content: bytes) -> bytes:
        return bytes([number << 3 | 2, len(content)]) + content

    body = bytes([2 << 3 | 5]) + struct.pack("<f", value)
    summary = field(1, field(1, tag.encode()) + body)
    event = bytes([1 << 3 | 1]) + struct.pack("<d", 1.5) + bytes([2 << 3, 7]) + field(5, summary)
    return struct.pack("<Q", len(event)) + b"crc1" + event + b"crc2"


def test_of_contradicting_numbers_the_most_trusted_one_is_shown_and_the_rest_is_told(trainer: Trainer) -> None:
    card = (
        "---\nmodel-index:\n- name: m\n  results:\n  - task: {type: t}\n    dataset: {type: d, name: D}\n    metrics:\n"
        "    - {type: a, value: 6}\n    - {type: b, value: 6}\n    - {type: c, value: 6}\n    - {type: d, value: 6}\n"
        "    - {type: e, value: 6}\n---\n# M\n"
    )
    files = {
        **MODEL,
        "own.json": json.dumps(dict.fromkeys(["eval_a"], 1)).encode(),
        "all_results.json": json.dumps(dict.fromkeys(["eval_a", "eval_b"], 2)).encode(),
        "trainer_state.json": json.dumps(
            {"log_history": [{"step": 5, **dict.fromkeys(["eval_a", "eval_b", "eval_c"], 3)}], "global_step": 5}
        ).encode(),
        "eval_results.json": json.dumps(dict.fromkeys(["eval_a", "eval_b", "eval_c", "eval_d"], 4)).encode(),
        "README.md": card.encode(),
        "runs/x/events.out.tfevents.1.host": event_file("eval/f", 8.0),
    }
    log = "{'eval_a': '9.5', 'eval_e': '9.5', 'eval_f': '9.5', 'eval_loss': '9.5', 'epoch': '1'}"
    done = trainer.run({"m": files}, "--model-repo", trainer.name("m"), "--metrics-file", "own.json", log=log)
    assert done.code == 0, done.out
    metrics, sources = done.report["metrics"], done.report["sources"]
    shown = {name: (metrics[name], sources[name]) for name in sorted(metrics) if name.startswith("eval_")}
    assert shown == {
        "eval_a": (1, "own.json"),
        "eval_b": (2, "all_results.json"),
        "eval_c": (3, "trainer_state.json"),
        "eval_d": (4, "eval_results.json"),
        "eval_e": (6, "model card"),
        "eval_f": (8, "TensorBoard"),
        "eval_loss": (9.5, "log"),
    }
    assert set(sources) == set(metrics)
    for words in ("eval_a: all_results.json says 2", "eval_e: the log says 9.5", "eval_f: the log says 9.5"):
        assert words in done.problems
    assert "eval_loss:" not in done.problems


@pytest.mark.case(61)
def test_nothing_was_pushed(trainer: Trainer) -> None:
    done = trainer.run({"m": {}}, "--model-repo", trainer.name("m"))
    assert (done.code, done.report["reason"], done.report["model-url"]) == (6, "not-published", "")
    assert "nothing was pushed to it" in done.report["model-note"]
    done = trainer.run({"m": {}}, "--model-repo", trainer.name("m"), env=OPTIONAL)
    assert done.code == 0


@pytest.mark.case(61)
def test_pushed_elsewhere(trainer: Trainer) -> None:
    log = f"🤗 Model pushed to the Hub in https://huggingface.co/{trainer.name('other')}."
    results = {"all_results.json": b'{"eval_loss": 0.25}'}
    done = trainer.run({"other": {**MODEL, **results}}, "--model-repo", trainer.name("asked"), log=log)
    assert (done.code, done.report["model-repo"]) == (6, "")
    assert f"Pushed elsewhere: {trainer.name('other')} got commit" in done.report["model-note"]
    assert [one["repo"] for one in done.report["also-published"]] == [trainer.name("other")]
    assert done.report["metrics"]["eval_loss"] == 0.25
    words = ("--model-repo", trainer.name("asked"))
    done = trainer.run({"other": {**MODEL, "more.txt": b"1"}}, *words, env=OPTIONAL, log=log)
    assert (done.code, done.report["model-repo"]) == (0, trainer.name("other"))
    assert "Pushed elsewhere" in done.problems


@pytest.mark.case(61)
def test_a_card_without_weights_is_no_model(trainer: Trainer) -> None:
    done = trainer.run({"m": {"README.md": CARD}}, "--model-repo", trainer.name("m"))
    assert (done.code, done.report["reason"]) == (6, "not-published")
    assert "holds no weights" in done.report["model-note"]
    done = trainer.run({"n": {"README.md": CARD}}, "--model-repo", trainer.name("n"), env=OPTIONAL)
    assert (done.code, done.report["model-repo"]) == (0, trainer.name("n"))
    assert "holds no weights" in done.problems


def test_adapter_merged_gguf_dataset_and_space_are_all_linked(trainer: Trainer) -> None:
    pushes = {
        "adapter": {"adapter_model.safetensors": b"a" * 500, "adapter_config.json": b"{}", "README.md": CARD},
        "merged": MODEL,
        "merged-GGUF": {"m-Q4_K_M.gguf": b"g" * 500, "README.md": CARD},
        "samples": {"data.csv": b"a\n"},
        "demo": {"index.html": b"<p>"},
    }
    done = trainer.run(pushes, "--model-repo", trainer.name("adapter"), kinds={"samples": "dataset", "demo": "space"})
    assert done.code == 0, done.out
    assert done.report["model-repo"] == trainer.name("adapter")
    also = {(one["repo"], one["kind"]) for one in done.report["also-published"]}
    assert also == {
        (trainer.name("merged"), "model"),
        (trainer.name("merged-GGUF"), "model"),
        (trainer.name("samples"), "dataset"),
        (trainer.name("demo"), "space"),
    }
    assert all(len(one["revision"]) == 40 for one in done.report["also-published"])


NAN = """\
{'loss': '0.6931', 'grad_norm': '1.5', 'learning_rate': '0.5', 'epoch': '0.25'}
{'loss': '0', 'grad_norm': 'nan', 'learning_rate': '0.4', 'epoch': '0.5'}
{'eval_loss': 'nan', 'eval_accuracy': '0.5', 'eval_runtime': '0.02', 'epoch': '1'}
{'train_runtime': '0.4697', 'train_samples_per_second': '1362', 'train_loss': '0.05165', 'epoch': '2'}
"""


@pytest.mark.case(101)
def test_a_run_that_diverged_ends_well_and_is_told_and_fails_a_gate(trainer: Trainer) -> None:
    files = {**MODEL, "all_results.json": b'{"eval_loss": NaN, "eval_accuracy": 0.5, "train_loss": 0.05165}'}
    words = ("--model-repo", trainer.name("m"))
    done = trainer.run({"m": files}, *words, log=NAN)
    assert (done.code, done.report["stage"], done.report["diverged"]) == (0, "COMPLETED", True)
    assert (done.report["level"], done.report["non-finite"]) == ("warning", {"eval_loss": "nan", "grad_norm": "nan"})
    assert "diverged" in done.report["headline"]
    assert "train_loss: the run diverged: this average leaves out the steps that were NaN" in done.problems
    done = trainer.run({"m": {**files, "x": b"2"}}, *words, "--gate", "eval_accuracy >= 0.1", log=NAN)
    assert (done.code, done.report["reason"], done.report["gate"]) == (7, "gate-failed", "fail")
    assert done.report["conditions"][0]["why"] == "the run diverged (NaN or infinite loss)"
