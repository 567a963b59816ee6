"""Adapter: workflow runs, through PyGithub. What cannot be read is not known, and never an error."""

from __future__ import annotations

from hf_train.github.client import make_client
from hf_train.values import Secret


class GitHubRuns:
    """The `ports.Runs` of a real sweep.

    Args:
        api_url: `GITHUB_API_URL`.
        token: A token with `actions: read`.
        repository: `owner/name`.
    """

    def __init__(self, api_url: str, token: Secret, repository: str) -> None:
        self._github = make_client(api_url, token)
        self._repository = repository
        self._known: dict[str, bool | None] = {}

    def is_over(self, run_id: str) -> bool | None:
        """Whether a run has ended. A re-run keeps the id, so a run whose second attempt works is not over.

        Source: docs.github.com, "Get a workflow run": `status` is `completed` or one of the states before it.
        """
        if run_id not in self._known:
            self._known[run_id] = self._ask(run_id) if run_id.isdecimal() else None
        return self._known[run_id]

    def _ask(self, run_id: str) -> bool | None:
        try:
            run = self._github.get_repo(self._repository).get_workflow_run(int(run_id))
            return bool(run.status == "completed") if run.status else None
        except Exception:  # noqa: BLE001  (PyGithub trusts each answer to be JSON of the right form)
            return None
