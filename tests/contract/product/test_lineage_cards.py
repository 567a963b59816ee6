"""The lineage in a model card on the local Hub, with real commits."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import yaml
from huggingface_hub import HfApi

from hf_train.errors import RefusedByHub, TransientHubError
from hf_train.hub import HubCards, HubPublisher
from hf_train.text.sections import marks
from hf_train.values import CARD_TITLE, Secret
from support.local_hub_process import Hub
from support.product import Product, make_repo, on_github

BEGIN, _ = marks("lineage")
TEXT = "---\nlicense: mit\n---\n# Text\n"
PUSH = """\
import os, sys
from huggingface_hub import HfApi, CommitOperationAdd as Add
card = f"---\\nlicense: mit\\n---\\n# Model {sys.argv[2]}\\n"
HfApi().create_commit(sys.argv[1], [
    Add("model.safetensors", os.urandom(64)), Add("README.md", card.encode()),
    Add("all_results.json", b'{"eval_loss": 0.5}')], commit_message="End of training")
"""


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repo(tmp_path / "repo", {"push.py": PUSH})


def _train(product: Product, account: Hub, *words: str, **env: str) -> Any:
    name = f"{account.user}/m"
    at = on_github(product.scratch)
    more = {"HF_TRAIN_JOB_TOKEN": account.token, "HF_TRAIN_LINEAGE": "true", **env}
    return product.run("--model-repo", name, *words, "--", "python", "push.py", name, "1", env={**at, **more})


def _card(account: Hub) -> str:
    path = account.api.hf_hub_download(f"{account.user}/m", "README.md", force_download=True)
    return Path(path).read_text(encoding="utf-8")


def test_a_card_has_one_section_however_often_it_is_trained(product: Product, account: Hub) -> None:
    account.api.create_repo(f"{account.user}/m", private=True)
    first = _train(product, account)
    assert (first.code, first.problems) == (0, ""), first.out
    second = _train(product, account, "--reuse", "never")
    assert (second.code, second.problems) == (0, ""), second.out
    card = _card(account)
    assert (card.count(BEGIN), card.count("# Model 1")) == (1, 1)
    told = yaml.safe_load(card.split("---\n")[1])["hf-train"]
    assert told["job"] == second.report["job-url"]
    assert told["trained-commit"] == second.report["model-revision"]
    assert (told["repository"], told["snapshot"]) == ("octo/proj", second.report["snapshot"])
    newest, trained = account.api.list_repo_commits(f"{account.user}/m")[:2]
    assert newest.title == f"{CARD_TITLE} {second.report['job-id']}"
    assert (newest.commit_id, trained.commit_id) == (
        second.report["model-card-revision"],
        second.report["model-revision"],
    )


def test_the_step_that_comes_back_to_a_job_still_links_the_trainings_commit(product: Product, account: Hub) -> None:
    account.api.create_repo(f"{account.user}/m", private=True)
    first = _train(product, account)
    again = _train(product, account, GITHUB_RUN_ATTEMPT="2")
    assert again.report["reused"], again.out
    assert again.report["model-revision"] == first.report["model-revision"]
    assert (again.report["model-card-revision"], again.problems) == ("", ""), "it says so already"
    assert _card(account).count(BEGIN) == 1


def test_no_right_to_write_is_a_problem_and_no_verdict(product: Product, account: Hub) -> None:
    account.api.create_repo(f"{account.user}/m", private=True)
    account.fault(f"POST /api/models/{account.user}/m/commit/main status=403 nth=2 message='no write here'")
    done = _train(product, account)
    assert (done.code, done.report["model-card-revision"]) == (0, "")
    assert done.report["model-revision"]
    assert "The lineage was not written: The Hub answered 403" in done.problems


def test_a_branch_that_moved_on_is_read_again(account: Hub) -> None:
    name = f"{account.user}/m"
    account.api.create_repo(name)
    cards = HubCards(account.url, HubPublisher(account.url, Secret(account.token), None))
    card = cards.read(name)
    assert (card.text, len(card.commits)) == ("", 1)
    account.fault(f"POST /api/models/{name}/commit/main status=412 times=1")
    with pytest.raises(TransientHubError, match="another commit"):
        cards.write(name, TEXT, card.commits[0], "t")
    commit = cards.write(name, TEXT, card.commits[0], "t")
    assert cards.read(name).text == TEXT
    assert cards.read(name).commits[0] == commit


@pytest.mark.parametrize(("content", "words"), [(b"x" * (3 << 20), "larger than 2 MB")])
def test_a_card_that_is_none_is_left_alone(account: Hub, content: bytes, words: str) -> None:
    name = f"{account.user}/m"
    account.api.create_repo(name)
    with mock.patch.object(HfApi, "_validate_yaml"):
        account.api.upload_file(path_or_fileobj=content, path_in_repo="README.md", repo_id=name)
    cards = HubCards(account.url, HubPublisher(account.url, Secret(account.token), None))
    with pytest.raises(RefusedByHub, match=words):
        cards.read(name)


def test_metadata_that_the_hub_does_not_take_is_a_clear_no(account: Hub) -> None:
    name = f"{account.user}/m"
    account.api.create_repo(name)
    cards = HubCards(account.url, HubPublisher(account.url, Secret(account.token), None))
    account.fault('POST /api/validate-yaml status=400 body=\'{"errors":[{"message":"no"}]}\'')
    with pytest.raises(RefusedByHub, match="metadata of the card"):
        cards.write(name, TEXT, cards.read(name).commits[0], "t")
