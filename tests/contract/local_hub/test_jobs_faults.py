"""Each fault, as a client sees it."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
from huggingface_hub import HfApi

from hf_train.local_hub.pytest import LocalHubHandle

Run = Callable[..., dict[str, Any]]
SPEC = {"command": ["true"], "arguments": [], "environment": {}, "flavor": "cpu-basic", "dockerImage": "i"}


@pytest.fixture
def web(local_hub: LocalHubHandle) -> Iterator[httpx2.Client]:
    headers = {"Authorization": f"Bearer {local_hub.token}"}
    with httpx2.Client(base_url=local_hub.endpoint, headers=headers, timeout=20) as client:
        yield client


def submit(web: httpx2.Client, hub: LocalHubHandle, **more: Any) -> httpx2.Response:
    return web.post(f"/api/jobs/{hub.user}", json={**SPEC, **more})


def test_status_on_the_nth_match(local_hub: LocalHubHandle, web: httpx2.Client) -> None:
    local_hub.fault("POST /api/jobs/* status=503 nth=2 times=2 message='no room' code=Busy header.Retry-After=3")
    answers = [submit(web, local_hub) for _ in range(5)]
    assert [answer.status_code for answer in answers] == [200, 503, 503, 200, 200]
    assert answers[1].json() == {"error": "no room"}
    assert answers[1].headers["Retry-After"] == "3"
    assert (answers[1].headers["X-Error-Code"], answers[1].headers["X-Error-Message"]) == ("Busy", "no room")
    assert len(local_hub.jobs()) == 3
    assert [one["status"] for one in local_hub.requests("POST")] == [200, 503, 503, 200, 200]
    local_hub.clear_faults()
    local_hub.fault('POST /api/** status=402 body=\'{"error":"pay"}\'')
    assert submit(web, local_hub).json() == {"error": "pay"}


def test_an_answer_that_is_lost_after_the_effect(local_hub: LocalHubHandle, web: httpx2.Client) -> None:
    local_hub.fault("POST /api/jobs/* status=502 after-effect times=1")
    assert submit(web, local_hub).status_code == 502
    assert len(local_hub.jobs()) == 1
    local_hub.fault("POST /api/jobs/* delay=1 after-effect times=1")
    began = time.monotonic()
    answer = submit(web, local_hub)
    assert (answer.status_code, time.monotonic() - began > 1) == (200, True)
    assert answer.json()["id"] == local_hub.jobs()[0]["id"]


@pytest.mark.parametrize(("when", "jobs"), [("before", 0), ("after", 1)])
@pytest.mark.parametrize(("word", "error"), [("drop", httpx2.RemoteProtocolError), ("rst", httpx2.ReadError)])
def test_no_answer(
    local_hub: LocalHubHandle, web: httpx2.Client, word: str, error: type[Exception], when: str, jobs: int
) -> None:
    local_hub.fault(f"POST /api/jobs/* {word}={when} times=1")
    with pytest.raises(error):
        submit(web, local_hub)
    assert len(local_hub.jobs()) == jobs
    assert submit(web, local_hub).status_code == 200


def test_a_hub_that_never_answers(local_hub: LocalHubHandle, web: httpx2.Client) -> None:
    local_hub.fault("GET /api/whoami-v2 hang")
    with pytest.raises(httpx2.ReadTimeout):
        web.get("/api/whoami-v2", timeout=0.5)
    local_hub.fault("GET /api/jobs/hardware delay=0.7 times=1")
    began = time.monotonic()
    assert web.get("/api/jobs/hardware").status_code == 200
    assert time.monotonic() - began > 0.7


def test_a_changed_answer(local_hub: LocalHubHandle, web: httpx2.Client) -> None:
    local_hub.fault("GET /api/jobs/hardware unset.unitCostUSD set.accelerator.model='\"X\"' set.unitLabel='\"hour\"'")
    hardware = web.get("/api/jobs/hardware").json()
    assert {one.get("unitCostUSD", "none") for one in hardware} == {"none"}
    assert {one["unitLabel"] for one in hardware} == {"hour"}
    assert {one["accelerator"]["model"] for one in hardware if one["accelerator"]} == {"X"}


def events(web: httpx2.Client, hub: LocalHubHandle, job: str, *, timeout: float = 20, query: str = "") -> list[str]:
    """Raw text between blank lines, as far as the stream came; an error of the connection is the last item."""
    found = b""
    try:
        with web.stream("GET", f"/api/jobs/{hub.user}/{job}/logs{query}", timeout=timeout) as answer:
            assert answer.status_code == 200
            assert answer.headers["Content-Type"].startswith("text/event-stream")
            for chunk in answer.iter_raw():
                found += chunk
    except httpx2.HTTPError as error:
        found += type(error).__name__.encode() + b"\n\n"
    return found.decode("utf-8", "backslashreplace").split("\n\n")[:-1]


def texts(found: list[str]) -> list[str]:
    return [json.loads(one[6:])["data"] if one.startswith("data: {") else one for one in found]


LINES = "for i in 1 2 3 4 5; do echo $i; done"


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("logs cut-after=3", ["START", "1", "2"]),
        ("logs drop-after=3", ["START", "1", "2", "RemoteProtocolError"]),
        ("logs rst-after=3", ["START", "1", "2", "ReadError"]),
        ("logs silent-after=3", ["START", "1", "2", "ReadTimeout"]),
        ("logs never-close", ["START", "1", "2", "3", "4", "5", "ReadTimeout"]),
        ("logs skip=4", ["4", "5"]),
        ("logs reverse", ["5", "4", "3", "2", "1", "START"]),
        ("logs rst-after=0 nth=2", ["START", "1", "2", "3", "4", "5"]),
    ],
)
def test_log_streams(local_hub: LocalHubHandle, web: httpx2.Client, run: Run, fault: str, expected: list[str]) -> None:
    job = run(LINES)["id"]
    local_hub.fault(fault)
    found = texts(events(web, local_hub, job, timeout=1))
    assert ["START" if text.startswith("===== Job started at ") else text for text in found] == expected


@pytest.mark.parametrize("kind", ["cut-json", "no-data", "not-utf8", "surrogate"])
def test_malformed_events(local_hub: LocalHubHandle, web: httpx2.Client, run: Run, kind: str) -> None:
    job = run(LINES)["id"]
    local_hub.fault(f"logs malformed-after=2 malformed={kind} times=1")
    found = events(web, local_hub, job)
    expected = {
        "cut-json": 'data: {"data":"cut in the mid',
        "no-data": 'data: {"timestamp":"2026-01-01T00:00:00.000Z"}',
        "not-utf8": 'data: {"data":"\\xff\\xfe","timestamp":"2026-01-01T00:00:00.000Z"}',
        "surrogate": 'data: {"data":"\\ud800","timestamp":"2026-01-01T00:00:00.000Z"}',
    }
    assert found[2] == expected[kind]
    assert len(found) == 7
    assert len(events(web, local_hub, job)) == 6, "times=1"


def test_the_reset_is_a_reset(local_hub: LocalHubHandle, run: Run) -> None:
    """Seen at the socket: RST is ECONNRESET, an orderly end is an empty read."""
    job = run(LINES)["id"]
    host, port = local_hub.endpoint.removeprefix("http://").split(":")
    path = f"/api/jobs/{local_hub.user}/{job}/logs"
    request = f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {local_hub.token}\r\n\r\n"
    ends = {}
    for word in ("rst-after", "drop-after"):
        local_hub.clear_faults()
        local_hub.fault(f"logs {word}=2")
        with socket.create_connection((host, int(port)), timeout=5) as connection:
            connection.sendall(request.encode())
            try:
                while connection.recv(65536):
                    pass
                ends[word] = "end"
            except ConnectionResetError:
                ends[word] = "reset"
    assert ends == {"rst-after": "reset", "drop-after": "end"}


def test_jobs_on_request(local_hub: LocalHubHandle, api: HfApi, run: Run) -> None:
    local_hub.fault("jobs schedule-seconds=1 schedule-message='Waiting for hardware' listed-after=0.8")
    job = api.run_job(image="i", command=["true"])
    status = api.inspect_job(job_id=job.id).status
    assert (status.stage, status.message) == ("SCHEDULING", "Waiting for hardware")
    assert list(api.list_jobs()) == []
    ended = local_hub.wait(job.id)
    assert ended["durations"]["schedulingSecs"] == 1
    assert [one.id for one in api.list_jobs()] == [job.id]
    local_hub.clear_faults()
    local_hub.fault("jobs final=ERROR message='Job timeout'")
    assert run("true")["status"] == {"stage": "ERROR", "message": "Job timeout", "failureCount": 0}
    local_hub.clear_faults()
    local_hub.fault("jobs final=DELETED")
    assert run("true")["status"]["stage"] == "DELETED"
    local_hub.clear_faults()
    local_hub.fault("jobs stage=PAUSED")
    job = api.run_job(image="i", command=["sleep", "60"])
    assert api.inspect_job(job_id=job.id).status.stage == "PAUSED"
    api.cancel_job(job_id=job.id)
    assert api.inspect_job(job_id=job.id).status.stage == "CANCELED"


def test_a_bad_fault(local_hub: LocalHubHandle) -> None:
    with pytest.raises(ValueError, match="status is an HTTP status"):
        local_hub.fault("POST /api/jobs/* status=many")


def test_library_survives_a_cut_stream(local_hub: LocalHubHandle, api: HfApi) -> None:
    """The one weakness that huggingface_hub itself bridges: no line twice, none lost."""
    local_hub.fault("logs rst-after=3 times=1")
    job = api.run_job(image="i", command=["sh", "-c", f"{LINES}; sleep 1"])
    assert list(api.fetch_job_logs(job_id=job.id, follow=True)) == ["1", "2", "3", "4", "5"]
