"""The GitHub stub against the real PyGithub: what PyGithub can read and write there, GitHub can as well."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import requests
from github import Auth, Github, GithubException, UnknownObjectException

from support.github_stub import GitHubStub, Token, WorkflowRun


@pytest.fixture
def stub() -> Iterator[GitHubStub]:
    with GitHubStub() as server:
        server.state.add_pull(7)
        yield server


@pytest.fixture(params=["url", "enterprise_url"])
def client(stub: GitHubStub, request: pytest.FixtureRequest) -> Iterator[Github]:
    with Github(
        base_url=getattr(stub, request.param),
        auth=Auth.Token("ghs_local_1"),
        lazy=True,
        retry=None,
        seconds_between_requests=None,
        seconds_between_writes=None,
    ) as github:
        yield github


def test_comments_are_created_edited_and_deleted(client: Github, stub: GitHubStub) -> None:
    issue = client.get_repo("octo/proj").get_issue(7)
    comment = issue.create_comment("queued ü ✓")
    assert comment.user.login == "github-actions[bot]"
    comment.edit("done")
    assert [(value.body, value.edits) for value in stub.comments()] == [("done", ["queued ü ✓"])]
    assert comment.html_url.endswith(f"/octo/proj/pull/7#issuecomment-{comment.id}")
    comment.delete()
    assert stub.comments() == []


def test_all_pages_of_comments_are_read_by_their_links(client: Github, stub: GitHubStub) -> None:
    repo = stub.state.repos["octo/proj"]
    for number in range(250):
        stub.state.add_comment(repo, 7, f"comment {number}", "octocat")
    read = [comment.body for comment in client.get_repo("octo/proj").get_issue(7).get_comments()]
    assert read == [f"comment {number}" for number in range(250)]
    assert [call.query.get("page") for call in stub.requests if call.path.endswith("/comments")] == [
        None,
        *map(str, range(2, 10)),
    ]


def test_pull_requests_are_found_by_number_and_by_commit(client: Github, stub: GitHubStub) -> None:
    stub.state.add_pull(8, head_sha="a" * 40, head_repo="fork/proj", labels=["train"])
    repo = client.get_repo("octo/proj")
    pull = repo.get_pull(8)
    assert (pull.head.sha, pull.head.repo.full_name, [label.name for label in pull.labels]) == (
        "a" * 40,
        "fork/proj",
        ["train"],
    )
    assert [value.number for value in repo.get_pulls(state="open", head="octo:feature")] == [7, 8]
    answer = requests.get(
        f"{stub.url}/repos/octo/proj/commits/{'a' * 40}/pulls",
        headers={"Authorization": "Bearer ghs_local_1"},
        timeout=5,
    )
    assert [value["number"] for value in answer.json()] == [8]


def test_check_runs_are_created_completed_and_listed(client: Github, stub: GitHubStub) -> None:
    repo = client.get_repo("octo/proj")
    run = repo.create_check_run("hf-train", "1" * 40, status="in_progress")
    repo.get_check_run(run.id).edit(
        status="completed", conclusion="success", output={"title": "loss 0.1", "summary": "ok"}
    )
    (stored,) = stub.state.repos["octo/proj"].checks.values()
    assert (stored["status"], stored["conclusion"], stored["output"]["title"]) == ("completed", "success", "loss 0.1")


def test_workflow_runs_are_listed_and_cancelled(client: Github, stub: GitHubStub) -> None:
    runs = stub.state.repos["octo/proj"].runs
    runs[5] = WorkflowRun(id=5)
    runs[6] = WorkflowRun(id=6, status="in_progress", conclusion=None)
    repo = client.get_repo("octo/proj")
    assert [run.id for run in repo.get_workflow_runs(head_sha="1" * 40)] == [6, 5]
    assert repo.get_workflow_run(6).cancel()
    assert runs[6].cancelled == 1


def test_reactions_and_permissions(client: Github, stub: GitHubStub) -> None:
    repo = client.get_repo("octo/proj")
    comment = repo.get_issue(7).create_comment("/train lr=1e-4")
    comment.create_reaction("eyes")
    assert [reaction.content for reaction in comment.get_reactions()] == ["eyes"]
    stub.state.repos["octo/proj"].permissions["octocat"] = "write"
    assert repo.get_collaborator_permission("octocat") == "write"
    assert repo.get_collaborator_permission("stranger") == "read"


def test_a_workflows_token_may_not_ask_who_it_is(client: Github, stub: GitHubStub) -> None:
    with pytest.raises(GithubException) as refused:
        _ = client.get_user().login
    assert refused.value.status == 403
    stub.state.tokens = {"ghs_local_1": Token(login="octocat", installation=False)}
    assert client.get_user().login == "octocat"


@pytest.mark.parametrize(
    ("token", "status"), [(Token(write=False), 403), (None, 401)], ids=["a fork's token", "an unknown token"]
)
def test_rights(client: Github, stub: GitHubStub, token: Token | None, status: int) -> None:
    stub.state.tokens = {"ghs_local_1": token} if token else {"ghs_local_other": Token()}
    with pytest.raises(GithubException) as refused:
        client.get_repo("octo/proj").get_issue(7).create_comment("x")
    assert refused.value.status == status
    assert stub.comments() == []


def test_what_does_not_exist_and_what_is_too_long(client: Github, stub: GitHubStub) -> None:
    repo = client.get_repo("octo/proj")
    with pytest.raises(UnknownObjectException):
        _ = repo.get_issue(99).title
    with pytest.raises(UnknownObjectException):
        _ = client.get_repo("octo/none").default_branch
    issue = repo.get_issue(7)
    with pytest.raises(GithubException) as refused:
        issue.create_comment("x" * 65_537)
    assert refused.value.status == 422
    stub.state.repos["octo/proj"].pulls[7].locked = True
    with pytest.raises(GithubException) as locked:
        issue.create_comment("x")
    assert locked.value.status == 403


def test_faults_hit_the_named_request_and_no_other(client: Github, stub: GitHubStub) -> None:
    issue = client.get_repo("octo/proj").get_issue(7)
    stub.fail("/comments$", 502, method="POST", skip=1)
    issue.create_comment("one")
    with pytest.raises(GithubException) as failed:
        issue.create_comment("two")
    assert failed.value.status == 502
    issue.create_comment("three")
    assert [comment.body for comment in stub.comments()] == ["one", "three"]


def test_a_write_can_be_stored_and_its_answer_lost(client: Github, stub: GitHubStub) -> None:
    issue = client.get_repo("octo/proj").get_issue(7)
    stub.fail("/comments$", 0, method="POST", after=True)
    with pytest.raises(requests.RequestException):
        issue.create_comment("stored")
    assert [comment.body for comment in stub.comments()] == ["stored"]


def test_nobody_edits_the_comment_of_another(client: Github, stub: GitHubStub) -> None:
    stub.state.add_comment(stub.state.repos["octo/proj"], 7, "mine", "octocat")
    (comment,) = client.get_repo("octo/proj").get_issue(7).get_comments()
    with pytest.raises(GithubException) as refused:
        comment.edit("taken over")
    assert refused.value.status == 403
