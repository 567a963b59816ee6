"""A GitHub REST API on loopback, as far as hf-train and PyGithub use it: `with GitHubStub() as github: ...`.

It answers under `/` (as api.github.com) and under `/api/v3` (as GitHub Enterprise Server). Shapes follow GitHub's
REST documentation, version 2022-11-28.
"""

from support.github_stub.server import GitHubStub, Recorded
from support.github_stub.state import Comment, Fault, Pull, Release, Repo, State, Token, WorkflowRun

__all__ = ["Comment", "Fault", "GitHubStub", "Pull", "Recorded", "Release", "Repo", "State", "Token", "WorkflowRun"]
