"""The log stream of one connection: replay from the first event, then follow the file until the Job ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping

from starlette.concurrency import run_in_threadpool

from hf_train.local_hub.jobs.log import READ, tail
from hf_train.local_hub.jobs.machine import TERMINAL, Job

KEEP_ALIVE_S = 30.0
POLL_S = 0.05
MALFORMED = b'data: {"data":"cut in the mid\n\n'


class Reset(Exception):  # noqa: N818
    """Close this connection without an end: the middleware aborts the transport."""


async def log_stream(job: Job, last: int | None, fault: Mapping[str, str]) -> AsyncIterator[bytes]:
    """Chunks of the stream.

    Args:
        job: The Job.
        last: Only the last so many events before following; None replays all.
        fault: What goes wrong on this connection (`faults.py`).

    Raises:
        Reset: When the fault says so.
    """
    offset = 0
    if last is not None:
        kept, offset = await run_in_threadpool(tail, job.log_path, last)
        yield b"".join(kept)
    source = _file(job, offset)
    if not fault:
        async for chunk in source:
            yield chunk
        return
    async for chunk in _faulty(source, fault):
        yield chunk


async def _file(job: Job, offset: int) -> AsyncIterator[bytes]:
    """The file from an offset, as it grows; a comment line when nothing came for half a minute."""
    quiet = 0.0
    with job.log_path.open("rb") as stream:
        stream.seek(offset)
        while True:
            ended = job.stage in TERMINAL
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


async def _faulty(source: AsyncIterator[bytes], fault: Mapping[str, str]) -> AsyncIterator[bytes]:
    """Event by event, until the one where it goes wrong."""
    rest, count = b"", 0
    async for chunk in source:
        parts = (rest + chunk).split(b"\n\n")
        rest = parts.pop()
        for part in parts:
            for kind in ("cut-after", "rst-after", "silent-after", "malformed-after"):
                if kind in fault and count == int(fault[kind]):
                    if kind == "malformed-after":
                        yield MALFORMED
                    elif kind == "silent-after":
                        await asyncio.sleep(86_400)
                    elif kind == "rst-after":
                        raise Reset
                    else:
                        return
            yield part + b"\n\n"
            count += 1
