"""Adapter: tags of a model repo. One that is there at another commit is never moved."""

from __future__ import annotations

from huggingface_hub import HfApi
from huggingface_hub.errors import HfHubHTTPError

from hf_train.errors import RefusedByHub
from hf_train.hub.publish import HubPublisher
from hf_train.hub_api import make_api, translated


class HubTags:
    """The `ports.Tags` of a real run.

    Args:
        endpoint: The Hub.
        writer: Knows the token that may write to a repo.
    """

    def __init__(self, endpoint: str, writer: HubPublisher) -> None:
        self._endpoint, self._writer = endpoint, writer

    def tag(self, repo: str, name: str, revision: str, message: str) -> bool:
        """Tag a commit of a model repo; whether the tag is new.

        Raises:
            RefusedByHub: The tag is there at another commit, or the Hub says no.
            TransientHubError: An answer that may be better next time.
        """
        api = make_api(self._endpoint, self._writer.token_for(repo))
        with translated(f"the tag {name} of {repo}"):
            if self._is_there(api, repo, name, revision):
                return False
            try:
                api.create_tag(repo, tag=name, revision=revision, tag_message=message)
            except HfHubHTTPError as error:
                # Made meanwhile, or by an earlier try whose answer was lost.
                if error.response.status_code != 409 or not self._is_there(api, repo, name, revision):
                    raise
                return False
        return True

    def _is_there(self, api: HfApi, repo: str, name: str, revision: str) -> bool:
        found = next((one for one in api.list_repo_refs(repo).tags if one.name == name), None)
        if found is None:
            return False
        # An annotated tag may be told by its own id, so the commit is asked for.
        commit = str(api.model_info(repo, revision=found.ref).sha)
        if commit != revision:
            words = f"{repo} has the tag {name} already, at commit {commit[:7]} and not at {revision[:7]}."
            raise RefusedByHub("Tag is taken", words, "A released model is not changed; take a new version.")
        return True
