"""The one way in which GitHub is asked: with a time limit, and without retries of the library's own."""

from __future__ import annotations

from github import Auth, Github

from hf_train.values import Secret

TIMEOUT_S = 15


def make_client(api_url: str, token: Secret) -> Github:
    """A client of PyGithub.

    No retries: a POST that timed out may have been stored, and is looked for first. Lazy: repositories and issues are
    addresses, and asking for them first would only cost requests.

    Args:
        api_url: `GITHUB_API_URL`.
        token: The workflow's token.
    """
    return Github(
        auth=Auth.Token(token.reveal()),
        base_url=api_url,
        timeout=TIMEOUT_S,
        retry=None,
        seconds_between_requests=None,
        seconds_between_writes=None,
        per_page=100,
        lazy=True,
    )
