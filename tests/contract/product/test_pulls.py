"""The pull request on the GitHub stub: one comment that lives, and nothing of GitHub ever changes a verdict."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
from github.Issue import Issue
from github.IssueComment import IssueComment
from github.Requester import Requester

from hf_train.github.people import GitHubPeople
from hf_train.github.pulls import GitHubPulls
from hf_train.github.runs import GitHubRuns
from hf_train.values import Annotation, Secret
from support import events
from support.github_stub import GitHubStub, Token
from support.local_hub_process import Hub
from support.product import Done, Product, commit, on_github, write

KEY = "<!-- hf-train:train / train -->"
OK = ("--path", "none", "--", "sh", "-c", "echo \"{'loss': 0.5}\"")
FAILS = ("--path", "none", "--", "sh", "-c", "exit 3")


@pytest.fixture
def github() -> Iterator[GitHubStub]:
    """GitHub with pull request 7; two tokens: a workflow's and one of a fork's pull request."""
    with GitHubStub() as server:
        server.state.add_pull(7)
        server.state.tokens |= {"ghs_localworkflow1": Token(), "ghs_localfork00001": Token(write=False)}
        yield server


@pytest.fixture
def client(github: GitHubStub) -> GitHubPulls:
    """The adapter, as a workflow has it."""
    return client_of(github)


def client_of(github: GitHubStub, token: str = "ghs_localworkflow1", url: str = "") -> GitHubPulls:
    """An adapter with this token."""
    return GitHubPulls(url or github.url, Secret(token), "octo/proj")


@pytest.fixture
def step(product: Product, github: GitHubStub, tmp_path: Path) -> Product:
    """The product in a step of a pull request."""
    event = events.load("pull_request_labeled")
    files = on_github(tmp_path)
    ours = {name: files[name] for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "RUNNER_TEMP")}
    product.environ |= {
        **event.environ,
        **ours,
        "GITHUB_EVENT_PATH": str(event.path),
        "GITHUB_API_URL": github.url,
        "HF_TRAIN_GITHUB_TOKEN": "ghs_localworkflow1",
    }
    return product


def bodies(github: GitHubStub) -> list[str]:
    """Bodies of the comments."""
    return [comment.body for comment in github.comments()]


def writes(github: GitHubStub) -> list[str]:
    """Requests that change something."""
    return [f"{one.method} {one.status}" for one in github.requests if one.method != "GET"]


@pytest.mark.case(92)
def test_a_run_has_one_comment_that_lives(step: Product, github: GitHubStub) -> None:
    done = step.run(*OK)
    assert done.code == 0, done.out
    (comment,) = github.comments()
    versions = [*comment.edits, comment.body]
    assert all(version.startswith(KEY) for version in versions)
    assert len(versions) >= 2, "queued, then the result"
    assert "| `loss` | 0.5 |" in comment.body
    assert done.report["comment-url"] == done.outputs["comment-url"]
    assert done.report["comment-url"].endswith(f"#issuecomment-{comment.id}")
    assert comment.body == (done.folder / "comment.md").read_text()
    again = step.run("--reuse", "never", *FAILS)
    assert again.code == 1
    assert len(github.comments()) == 1
    assert "exit code 3" in bodies(github)[0]


@pytest.mark.case(93)
def test_the_comment_is_found_behind_250_others(client: GitHubPulls, github: GitHubStub) -> None:
    repo = github.state.repos["octo/proj"]
    for number in range(125):
        github.state.add_comment(repo, 7, f"{number}", "octocat")
    assert client.upsert_comment(7, KEY, f"{KEY}\none")[1] == ""
    for number in range(125):
        github.state.add_comment(repo, 7, f"{number}", "octocat")
    github.requests.clear()
    client_of(github).upsert_comment(7, KEY, f"{KEY}\ntwo")
    assert [body for body in bodies(github) if body.startswith(KEY)] == [f"{KEY}\ntwo"]
    assert len(github.requests) <= 5


@pytest.mark.case(93)
def test_what_is_behind_on_page_three_is_found(client: GitHubPulls, github: GitHubStub) -> None:
    repo = github.state.repos["octo/proj"]
    for number in range(250):
        github.state.add_comment(repo, 7, f"{number}", "octocat")
    client.upsert_comment(7, KEY, f"{KEY}\none")
    client_of(github).upsert_comment(7, KEY, f"{KEY}\ntwo")
    assert [body for body in bodies(github) if body.startswith(KEY)] == [f"{KEY}\ntwo"]


@pytest.mark.case(39)
@pytest.mark.parametrize(
    ("login", "body"),
    [
        ("mallory", f"{KEY}\nplanted"),
        ("github-actions[bot]", f"quoted:\n{KEY}"),
        ("github-actions[bot]", "<!-- hf-train:train / other -->\nanother leg"),
    ],
)
def test_a_foreign_marker_is_not_ours(login: str, body: str, client: GitHubPulls, github: GitHubStub) -> None:
    github.state.add_comment(github.state.repos["octo/proj"], 7, body, login)
    client.upsert_comment(7, KEY, f"{KEY}\nmine")
    assert bodies(github) == [body, f"{KEY}\nmine"]


@pytest.mark.case(39)
def test_a_persons_token_knows_its_own_comments(github: GitHubStub) -> None:
    github.state.tokens["ghs_localperson001"] = Token(login="mona", installation=False)
    github.state.add_comment(github.state.repos["octo/proj"], 7, f"{KEY}\nof the bot", "github-actions[bot]")
    client_of(github, "ghs_localperson001").upsert_comment(7, KEY, f"{KEY}\none")
    client_of(github, "ghs_localperson001").upsert_comment(7, KEY, f"{KEY}\ntwo")
    assert bodies(github) == [f"{KEY}\nof the bot", f"{KEY}\ntwo"]


@pytest.mark.case(90)
@pytest.mark.parametrize(
    ("status", "words", "code"),
    [
        *((status, OK, 0) for status in (401, 403, 404, 410, 422, 429, 500, 503, 0)),
        *((status, FAILS, 1) for status in (403, 500, 0)),
    ],
)
def test_a_github_that_refuses_does_not_change_the_verdict(
    status: int, words: tuple[str, ...], code: int, step: Product, github: GitHubStub
) -> None:
    github.fail("/", status, times=-1)
    done = step.run("--check", *words)
    assert done.code == code, done.out
    assert "The comment could not be written" in done.problems
    assert "The check could not be written" in done.problems
    assert done.outputs["exit-code"] == str(code)
    assert "ghs_localworkflow1" not in done.out.replace("::add-mask::ghs_localworkflow1", "")


@pytest.mark.case(98)
@pytest.mark.parametrize(
    ("status", "headers", "message", "pause_s"),
    [
        (403, {"Retry-After": "17"}, "You have exceeded a secondary rate limit.", 17),
        (429, {"Retry-After": "0"}, "", 1),
        (429, {}, "", 60),
        (403, {}, "You have exceeded a secondary rate limit.", 60),
        (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "{now+40}"}, "API rate limit exceeded", 40),
        (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1"}, "API rate limit exceeded", 1),
        (429, {"Retry-After": "soon"}, "", 60),
        (403, {}, "Resource not accessible by integration", 0),
        (503, {"Retry-After": "9"}, "", 0),
    ],
)
def test_how_long_github_wants_quiet(
    status: int, headers: dict[str, str], message: str, pause_s: float, client: GitHubPulls, github: GitHubStub
) -> None:
    given = {name: value.replace("{now+40}", str(int(time.time()) + 40)) for name, value in headers.items()}
    github.fail("/", status, times=2, headers=given, message=message)
    _, problem = client.upsert_comment(7, KEY, f"{KEY}\none")
    assert client.pause_s() == pytest.approx(pause_s, abs=1.5 if pause_s == 40 else 0)
    assert ("GitHub limits" in problem) is (pause_s > 0)
    assert client.write_check("1" * 40, "train", None, "Running", "text") != ""
    assert client.pause_s() == pytest.approx(pause_s, abs=1.5 if pause_s == 40 else 0)
    assert client.upsert_comment(7, KEY, f"{KEY}\none")[1] == ""
    assert client.pause_s() == 0


@pytest.mark.case(98)
def test_a_limit_is_waited_for_by_the_last_word_only(step: Product, github: GitHubStub) -> None:
    """The first comment (queued) is refused and left out; the result's is refused twice, and written in the end."""
    github.fail("/comments", 429, method="POST", times=3, headers={"Retry-After": "25"})
    done = step.run("--check", *OK)
    assert (done.code, done.outputs["exit-code"]) == (0, "0"), done.out
    assert writes(github).count("POST 429") == 3
    (body,) = bodies(github)
    assert "Training completed" in body
    assert done.out.count("GitHub asks for 25 s of quiet") == 2
    (check,) = github.state.repos["octo/proj"].checks.values()
    assert check["conclusion"] == "success"


@pytest.mark.case(90, 98)
@pytest.mark.parametrize(("words", "code"), [(OK, 0), (FAILS, 1)])
@pytest.mark.parametrize("headers", [{"Retry-After": "30"}, {}], ids=["retry-after", "no word"])
def test_a_limit_that_stays_is_not_waited_for_for_ever(
    headers: dict[str, str], words: tuple[str, ...], code: int, step: Product, github: GitHubStub
) -> None:
    github.fail("/", 403, times=-1, headers=headers, message="You have exceeded a secondary rate limit.")
    done = step.run("--check", *words)
    assert done.code == code, done.out
    assert done.out.count(" s of quiet; the last word waits for it") == (2 if headers else 1)
    assert "GitHub limits how often it is asked" in done.problems


@pytest.mark.case(39, 98)
def test_a_limit_does_not_make_a_persons_token_a_bot(github: GitHubStub) -> None:
    github.state.tokens["ghs_localperson001"] = Token(login="mona", installation=False)
    github.state.add_comment(github.state.repos["octo/proj"], 7, f"{KEY}\nof the bot", "github-actions[bot]")
    github.fail("/user$", 403, headers={"Retry-After": "1"})
    client = client_of(github, "ghs_localperson001")
    assert "GitHub limits" in client.upsert_comment(7, KEY, f"{KEY}\none")[1]
    assert client.upsert_comment(7, KEY, f"{KEY}\none")[1] == ""
    assert bodies(github) == [f"{KEY}\nof the bot", f"{KEY}\none"]


@pytest.mark.case(67, 90)
@pytest.mark.parametrize(("words", "code"), [(OK, 0), (FAILS, 1)])
def test_a_github_that_is_silent_does_not_change_the_verdict(
    words: tuple[str, ...], code: int, step: Product, github: GitHubStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hf_train.github.client.TIMEOUT_S", 1)
    github.fail("/comments", 200, times=-1, delay_s=1.4)
    done = step.run(*words)
    assert done.code == code, done.out
    assert "GitHub does not answer" in done.problems


@pytest.mark.case(90)
def test_a_token_that_may_not_write_is_said(step: Product, github: GitHubStub) -> None:
    done = step.run(*OK, env={"HF_TRAIN_GITHUB_TOKEN": "ghs_localfork00001"})
    assert (done.code, github.comments()) == (0, [])
    assert "may not write here" in done.problems
    assert (done.folder / "comment.md").read_text().startswith(KEY)


@pytest.mark.case(99)
@pytest.mark.parametrize(
    ("status", "delay_s"), [(201, 1.4), (0, 0.0), (502, 0.0), (504, 0.0)], ids=["timeout", "reset", "502", "504"]
)
def test_a_comment_that_was_stored_without_an_answer_is_not_written_twice(
    status: int, delay_s: float, client: GitHubPulls, github: GitHubStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hf_train.github.client.TIMEOUT_S", 1)
    github.fail("/comments", status, method="POST", after=True, delay_s=delay_s)
    url, problem = client_of(github).upsert_comment(7, KEY, f"{KEY}\none")
    assert problem == ""
    assert url.endswith(f"#issuecomment-{github.comments()[0].id}")
    assert bodies(github) == [f"{KEY}\none"]
    client.upsert_comment(7, KEY, f"{KEY}\ntwo")
    assert bodies(github) == [f"{KEY}\ntwo"]


@pytest.mark.case(91)
def test_two_runs_that_race_leave_one_comment(github: GitHubStub) -> None:
    """Both list, both find nothing, both create: held at the POST until both are there."""
    barrier = threading.Barrier(2)
    held = threading.local()

    def create(issue: Issue, body: str) -> IssueComment:
        if not getattr(held, "was", False):
            held.was = True
            barrier.wait(5)
        return original(issue, body)

    original = Issue.create_comment
    results: list[tuple[str, str]] = []

    def run(text: str) -> None:
        results.append(client_of(github).upsert_comment(7, KEY, f"{KEY}\n{text}"))

    with mock.patch.object(Issue, "create_comment", create):
        threads = [threading.Thread(target=run, args=(text,)) for text in ("one", "two")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(15)
    assert [problem for _, problem in results] == ["", ""]
    assert len(github.comments()) == 1
    assert bodies(github)[0] in {f"{KEY}\none", f"{KEY}\ntwo"}
    client_of(github).upsert_comment(7, KEY, f"{KEY}\nthree")
    assert bodies(github) == [f"{KEY}\nthree"]


BOOM = "def main():\n    return {}['missing']\n\n\nmain()\n"


def test_a_failure_is_pointed_at_in_the_file_where_it_happened(step: Product, github: GitHubStub, repo: Path) -> None:
    """The Job runs a copy of the code somewhere else; the remark is on the repository's own file and line."""
    write(repo, {"src/boom.py": BOOM})
    commit(repo)
    done = step.run("--check", "--", "python", "src/boom.py")
    assert done.code == 1, done.out
    assert done.report["cause-frame"] == {"path": "src/boom.py", "line": 2}
    *_, check = github.state.repos["octo/proj"].checks.values()
    (remark,) = check["output"]["annotations"]
    assert (remark["path"], remark["start_line"], remark["message"]) == ("src/boom.py", 2, "KeyError: 'missing'")
    assert "::error file=src/boom.py,line=2,title=" in done.out
    assert "[`src/boom.py:2`](https://github.com/octo/proj/blob/" in bodies(github)[0]


def marked(run: int, attempt: int, text: str) -> str:
    """A comment of this run of the workflow."""
    return f"{KEY}\n<!-- hf-train-result:{'a' * 16}:{run}.{attempt} -->\n{text}\n"


@pytest.mark.case(91)
def test_a_run_that_was_overtaken_does_not_overwrite_the_newer_one(client: GitHubPulls, github: GitHubStub) -> None:
    newer = marked(12, 2, "new")
    for body in (marked(11, 1, "old"), newer):
        assert client.upsert_comment(7, KEY, body)[1] == ""
    for old in (marked(11, 1, "cancelled"), marked(12, 1, "the attempt before"), marked(9, 9, "late")):
        assert client_of(github).upsert_comment(7, KEY, old) == ("", "a newer run of the workflow has written it")
    assert bodies(github) == [newer]
    assert client.upsert_comment(7, KEY, marked(12, 2, "the same run"))[1] == ""
    assert client.upsert_comment(7, KEY, f"{KEY}\nfrom a laptop")[1] == "", "what has no order is always written"


@pytest.mark.case(91)
def test_of_two_runs_that_race_the_newer_one_stands(client: GitHubPulls, github: GitHubStub) -> None:
    """Both find nothing; the newer one is stored first, and the older one finds it when it has written its own."""
    original, newer = Issue.create_comment, marked(12, 1, "new")

    def create(issue: Issue, body: str) -> IssueComment:
        github.state.add_comment(github.state.repos["octo/proj"], 7, newer, "github-actions[bot]")
        return original(issue, body)

    with mock.patch.object(Issue, "create_comment", create):
        assert client.upsert_comment(7, KEY, marked(11, 1, "old"))[1] != ""
    assert bodies(github) == [newer]


def test_an_unchanged_comment_is_not_written_again(client: GitHubPulls, github: GitHubStub) -> None:
    client.upsert_comment(7, KEY, f"{KEY}\none")
    client.upsert_comment(7, KEY, f"{KEY}\none")
    assert writes(github) == ["POST 201"]


def test_the_check_follows_the_run(step: Product, github: GitHubStub) -> None:
    for words, conclusion in ((OK, "success"), (FAILS, "failure")):
        step.run("--check", "--comment", "never", *words)
        checks = list(github.state.repos["octo/proj"].checks.values())
        assert (checks[-1]["status"], checks[-1]["conclusion"]) == ("completed", conclusion)
        assert checks[-1]["head_sha"] == "1" * 40, "the head that people see, not the merge commit"
    assert [one.method for one in github.requests if one.path.endswith("/check-runs")] == ["POST", "POST"]
    assert github.comments() == []


def test_the_check_points_at_lines(step: Product, client: GitHubPulls, github: GitHubStub) -> None:
    remarks = [
        Annotation(path="src/train.py", line=12, level="failure", title="import" * 100, message="no\nmodule " * 1000),
        Annotation(path=".github", line=1, level="warning", title="Gate not known", message="a >= 1"),
    ]
    assert client.write_check("1" * 40, "train", None, "Running", "text") == ""
    assert client.write_check("1" * 40, "train", "failure", "Failed", "text", remarks) == ""
    (check,) = github.state.repos["octo/proj"].checks.values()
    first, second = check["output"]["annotations"]
    assert (first["path"], first["start_line"], first["end_line"]) == ("src/train.py", 12, 12)
    assert (first["annotation_level"], second["annotation_level"]) == ("failure", "warning")
    assert len(first["title"]) <= 255


def _modes(step: Product, mode: str, *runs: tuple[str, ...]) -> list[Done]:
    return [step.run("--comment", mode, "--reuse", "never", *words) for words in runs]


def test_comment_never_asks_for_no_comment(step: Product, github: GitHubStub) -> None:
    _modes(step, "never", OK, FAILS)
    assert [one.path for one in github.requests if one.method != "GET" or "/issues/" in one.path] == []


def test_comment_on_failure(step: Product, github: GitHubStub) -> None:
    _modes(step, "on-failure", OK)
    assert github.comments() == []
    _modes(step, "on-failure", FAILS)
    assert "exit code 3" in bodies(github)[0]


def test_comment_on_change(step: Product, github: GitHubStub) -> None:
    _modes(step, "on-change", OK)
    (first,) = github.comments()
    _modes(step, "on-change", OK)
    assert github.comments()[0].edits == first.edits
    assert github.comments()[0].body == first.body
    better = ("--path", "none", "--", "sh", "-c", "echo \"{'loss': 0.4}\"")
    _modes(step, "on-change", better)
    assert "| `loss` | 0.4 |" in bodies(github)[0]


@pytest.mark.case(100)
def test_a_github_enterprise_server(step: Product, github: GitHubStub) -> None:
    done = step.run("--check", *OK, env={"GITHUB_API_URL": github.enterprise_url, "GITHUB_SERVER_URL": github.url})
    assert (done.code, done.report["problems"], len(github.comments())) == (0, [], 1)
    assert f"{github.url}/octo/proj/commit/" in bodies(github)[0]


@pytest.mark.case(103)
def test_a_push_has_no_pull_request_to_write_on(product: Product, github: GitHubStub, tmp_path: Path) -> None:
    env = {**on_github(tmp_path), "GITHUB_API_URL": github.url, "HF_TRAIN_GITHUB_TOKEN": "ghs_localworkflow1"}
    assert product.run(*OK, env=env).code == 0
    assert github.requests == []


def test_what_the_hub_refuses_stands_in_the_comment(step: Product, account: Hub, github: GitHubStub) -> None:
    account.fault("POST /api/jobs/* status=402 message='Add credits'")
    assert step.run(*OK).code == 3
    assert "Add credits" in bodies(github)[0]


@pytest.mark.case(92)
def test_a_cancelled_run_closes_its_comment(step: Product, account: Hub, github: GitHubStub) -> None:
    threading.Timer(1.5, account.cancel_all).start()
    done = step.run("--path", "none", "--", "sleep", "30")
    assert done.code == 4
    (body,) = bodies(github)
    assert "ancelled" in body.splitlines()[2]
    assert json.dumps(done.report)


@pytest.mark.case(93)
def test_a_comment_of_nobody_with_our_marker_is_not_ours(client: GitHubPulls, github: GitHubStub) -> None:
    github.state.add_comment(github.state.repos["octo/proj"], 7, f"{KEY}\npasted", "ghost")
    with mock.patch.object(IssueComment, "user", None):
        url, problem = client.upsert_comment(7, KEY, f"{KEY}\none")
        assert (bool(url), problem) == (True, "")
        assert client.previous_comment(7, KEY) == ""


@pytest.mark.case(91)
def test_a_page_instead_of_json_is_a_problem_in_words(step: Product, github: GitHubStub, account: Hub) -> None:
    for path in ("/comments", "/check-runs"):
        github.fail(path, 200, times=-1)
    done = step.run("--check", *OK)
    assert (done.code, done.report["stage"]) == (0, "COMPLETED"), done.out
    assert "The comment could not be written: GitHub does not answer" in done.problems
    assert [job["status"]["stage"] for job in account.jobs()] == ["COMPLETED"]


@pytest.mark.case(91)
@pytest.mark.parametrize("error", [TypeError("x"), AttributeError("x"), AssertionError("x"), KeyError("x")])
def test_what_the_library_raises_over_an_odd_answer_is_not_known(error: Exception) -> None:
    pulls_, people = GitHubPulls("http://x", Secret("t"), "o/p"), GitHubPeople("http://x", Secret("t"), "o/p")
    runs = GitHubRuns("http://x", Secret("t"), "o/p")
    with mock.patch.object(Requester, "requestJsonAndCheck", side_effect=error):
        assert pulls_.commit("main")[0] == pulls_.previous_comment(7, KEY) == ""
        assert (
            pulls_.write_check("a" * 40, "x", "success", "t", "s") == f"GitHub does not answer ({type(error).__name__})"
        )
        assert people.permission("octocat") == ("", f"GitHub does not answer ({type(error).__name__})")
        assert (people.head(7)[0], people.pull_of("a" * 40)[0], runs.is_over("7")) == (None, None, None)
