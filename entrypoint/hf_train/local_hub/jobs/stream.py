"""The log stream of one connection: replay from the first event, then follow the file until the Job ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

from starlette.concurrency import run_in_threadpool

from hf_train.local_hub.jobs.job import Job
from hf_train.local_hub.jobs.log import READ, tail

KEEP_ALIVE_S = 30.0
POLL_S = 0.05
NEVER_S = 86_400.0
_BAD = {
    "cut-json": b'data: {"data":"cut in the mid\n\n',
    "no-data": b'data: {"timestamp":"2026-01-01T00:00:00.000Z"}\n\n',
    "not-utf8": b'data: {"data":"\xff\xfe","timestamp":"2026-01-01T00:00:00.000Z"}\n\n',
    "surrogate": b'data: {"data":"\\ud800","timestamp":"2026-01-01T00:00:00.000Z"}\n\n',
}

Close = Callable[[bool], Awaitable[None]]
"""Closes the connection in mid-stream; True for a TCP reset."""


async def log_stream(job: Job, last: int | None, fault: Mapping[str, str], close: Close) -> AsyncIterator[bytes]:
    """Chunks of the stream.

    Args:
        job: The Job.
        last: Only the last so many events before following (the start marker comes all the same); None replays all.
        fault: What goes wrong on this connection (`faults.py`).
        close: Closes the connection.
    """
    head, offset = b"", 0
    if last is not None:
        head, offset = await run_in_threadpool(tail, job.log_path, last)
    source = _file(job, head, offset)
    if fault:
        source = _faulty(job, source, fault, close)
    async for chunk in source:
        yield chunk


async def _file(job: Job, head: bytes, offset: int) -> AsyncIterator[bytes]:
    """The file from an offset, as it grows; a comment line when nothing came for half a minute."""
    quiet = 0.0
    if head:
        yield head
    with job.log_path.open("rb") as stream:
        stream.seek(offset)
        while True:
            ended = job.log_closed
            if chunk := await run_in_threadpool(stream.read, READ):
                quiet = 0.0
                yield chunk
            elif ended:
                return
            else:
                await asyncio.sleep(POLL_S)
                quiet += POLL_S
                if quiet >= KEEP_ALIVE_S:
                    quiet = 0.0
                    yield b": keep-alive\n\n"


async def _faulty(
    job: Job, source: AsyncIterator[bytes], fault: Mapping[str, str], close: Close
) -> AsyncIterator[bytes]:
    """Event by event, until the one where it goes wrong."""
    count, skip = 0, int(fault.get("skip", "0"))
    limit = {name: int(fault[name]) for name in fault if name.endswith("-after")}
    async for event in _events(source, backwards="reverse" in fault):
        if count < skip:
            count += 1
            continue
        if limit.get("malformed-after") == count:
            yield _BAD[fault.get("malformed", "cut-json")]
        if limit.get("silent-after") == count:
            await _silence(job)
            return
        if count in {limit.get("drop-after"), limit.get("rst-after")}:
            await asyncio.sleep(POLL_S)  # let what was sent reach the client before a reset throws it away
            await close(limit.get("rst-after") == count)
            return
        if limit.get("cut-after") == count:
            return
        yield event
        count += 1
    if "never-close" in fault:
        await _silence(job)


async def _silence(job: Job) -> None:
    """Until the Hub ends."""
    while not job.hub_ends:  # noqa: ASYNC110  (set by threads)
        await asyncio.sleep(POLL_S)


async def _events(source: AsyncIterator[bytes], *, backwards: bool) -> AsyncIterator[bytes]:
    """Whole events; those of the first chunk the other way round when asked for."""
    rest = b""
    async for chunk in source:
        parts = (rest + chunk).split(b"\n\n")
        rest = parts.pop()
        for part in reversed(parts) if backwards else parts:
            yield part + b"\n\n"
        backwards = False
