"""Adapter: the card of a model repo, read and written with the step's identity, the Job's token or the launch token."""

from __future__ import annotations

import warnings

from huggingface_hub import CommitOperationAdd
from huggingface_hub.errors import HfHubHTTPError

from hf_train.errors import RefusedByHub, TransientHubError
from hf_train.hub.publish import HubPublisher
from hf_train.hub.repos import read_file
from hf_train.hub_api import make_api, translated
from hf_train.ports import Card

MAX_CARD = 2 << 20
CARD = "README.md"
_MOVED = frozenset({409, 412})
"""What the Hub answers when the branch is no longer where `parent_commit` says."""


class HubCards:
    """The `ports.Cards` of a real run.

    Args:
        endpoint: The Hub.
        writer: Knows the token that may write to a repo.
    """

    def __init__(self, endpoint: str, writer: HubPublisher) -> None:
        self._endpoint, self._writer = endpoint, writer

    def read(self, repo: str) -> Card:
        """The card on the main branch, empty when there is none, and the branch's commits."""
        api = make_api(self._endpoint, self._writer.token_for(repo))
        with translated(f"the model repo {repo}"):
            commits = tuple(one.commit_id for one in api.list_repo_commits(repo))
            if not commits or not api.file_exists(repo, CARD, revision=commits[0]):
                return Card(text="", commits=commits)
            content = read_file(api, f"{api.endpoint}/{repo}/resolve/{commits[0]}/{CARD}")
        if content is None or len(content) > MAX_CARD:
            raise RefusedByHub("Card not read", f"The card of {repo} is larger than {MAX_CARD >> 20} MB.", "")
        try:
            return Card(text=content.decode(), commits=commits)
        except UnicodeDecodeError as error:
            raise RefusedByHub("Card not read", f"The card of {repo} is no UTF-8 text.", "") from error

    def write(self, repo: str, text: str, parent: str, title: str) -> str:
        """Commit the card on top of the commit that it was read at. Returns the commit, 40 hex digits."""
        api = make_api(self._endpoint, self._writer.token_for(repo))
        change = CommitOperationAdd(path_in_repo=CARD, path_or_fileobj=text.encode())
        with translated(f"the card of {repo}"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the Hub's remarks on a card that is the training's
            try:
                made = api.create_commit(repo, [change], commit_message=title, parent_commit=parent)
            except HfHubHTTPError as error:
                if error.response.status_code in _MOVED:
                    raise TransientHubError(f"{repo} got another commit meanwhile") from error
                raise
            except ValueError as error:  # of `_validate_yaml`, which asks the Hub before the commit
                if not str(error).startswith("Invalid metadata"):
                    raise
                words = "The Hub does not accept the metadata of the card."
                raise RefusedByHub("Card not accepted", words, "The training wrote it so.") from error
        return str(made.oid)
