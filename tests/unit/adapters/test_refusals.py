"""One translation of the Hub's answers: a clear no, worth another try, or gone; each with what to do next."""

from __future__ import annotations

import json

import httpx2
import pytest
from huggingface_hub.errors import HfHubHTTPError, HFValidationError

from hf_train.errors import ExitCode, JobGone, RefusedByHub, TransientHubError
from hf_train.hub_api import refusal, translated

JOBS = "https://hub.test/api/jobs/alice"


def _answer(status: int, url: str = JOBS, message: str = "", **headers: str) -> HfHubHTTPError:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    response = httpx2.Response(status, headers=named, request=httpx2.Request("POST", url))
    return HfHubHTTPError("an answer", response=response, server_message=message)


def _translate(error: Exception) -> None:
    with translated("a new Job"):
        raise error


@pytest.mark.case(68)
@pytest.mark.parametrize(
    ("status", "title", "hint"),
    [
        (400, "Not accepted by the Hub", "flavor"),
        (401, "Token not accepted", "hf-token"),
        (402, "No credit", "credit"),
        (403, "Not allowed", "job.write"),
        (404, "Not found", "namespace"),
        (409, "Conflict", "exists"),
        (410, "Refused by the Hub", ""),
        (413, "Too large", "exclude"),
        (422, "Not accepted by the Hub", "labels"),
        (451, "Refused by the Hub", ""),
    ],
)
def test_a_clear_no_says_what_to_do(status: int, title: str, hint: str) -> None:
    with pytest.raises(RefusedByHub) as caught:
        _translate(_answer(status, message="Because. "))
    error = caught.value
    assert (error.title, error.exit_code) == (title, ExitCode.REFUSED)
    assert error.message == f"The Hub answered {status} for a new Job. Because."
    assert hint in error.hint


def test_a_no_without_a_word() -> None:
    assert refusal("a new Job", 402, "").message == "The Hub answered 402 for a new Job."


@pytest.mark.parametrize("status", [408, 425, 429, 500, 501, 502, 503, 504, 520, 526, 599])
def test_what_may_be_better_next_time(status: int) -> None:
    with pytest.raises(TransientHubError, match=f"HTTP {status} for a new Job") as caught:
        _translate(_answer(status))
    assert caught.value.retry_after_s is None


@pytest.mark.case(76)
@pytest.mark.parametrize(
    ("headers", "pause"),
    [
        ({"Retry_After": "7"}, 7.0),
        ({"RateLimit": '"api";r=0;t=55'}, 55.0),
        ({"Retry_After": "7", "RateLimit": '"api";r=0;t=55'}, 7.0),
        ({"Retry_After": "Wed, 02 Dec 2026 07:00:00 GMT"}, None),
        ({"Retry_After": "9999999"}, None),
        ({"Retry_After": "-1"}, None),
        ({}, None),
    ],
)
def test_the_pause_that_the_hub_asks_for(headers: dict[str, str], pause: float | None) -> None:
    with pytest.raises(TransientHubError) as caught:
        _translate(_answer(429, **headers))
    assert caught.value.retry_after_s == pause


@pytest.mark.parametrize(
    ("url", "error"),
    [(f"{JOBS}/66aa", JobGone), (f"{JOBS}/66aa/cancel", JobGone), (JOBS, RefusedByHub),
     ("https://hub.test/api/models/a/b", RefusedByHub)],
)  # fmt: skip
def test_only_a_job_can_be_gone(url: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        _translate(_answer(404, url))


@pytest.mark.case(67)
@pytest.mark.parametrize("error", [httpx2.ConnectError("x"), httpx2.ReadTimeout("x"), httpx2.RemoteProtocolError("x")])
def test_no_answer_is_worth_another_try(error: httpx2.HTTPError) -> None:
    with pytest.raises(TransientHubError, match=f"{type(error).__name__} for a new Job"):
        _translate(error)


@pytest.mark.case(67, 76)
@pytest.mark.parametrize(
    "error", [json.JSONDecodeError("x", "<html>", 0), KeyError("stage"), TypeError("x"), AttributeError("x")]
)
def test_an_answer_that_cannot_be_read_is_worth_another_try(error: Exception) -> None:
    words = rf"an answer that cannot be read \({type(error).__name__}\) for a new Job"
    with pytest.raises(TransientHubError, match=words):
        _translate(error)


def test_a_name_that_the_library_does_not_send_is_a_clear_no() -> None:
    with pytest.raises(RefusedByHub, match="a new Job: no such name"):
        _translate(HFValidationError("no such name"))


def test_a_bug_of_ours_stays_one() -> None:
    with pytest.raises(ZeroDivisionError):
        _translate(ZeroDivisionError())
