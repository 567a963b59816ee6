"""What a running Job uses of its GPUs, from the Hub's stream of resource samples: best effort, in the background.

One connection is kept while the Job runs. A sample of about 300 bytes comes each second, so an hour costs one request
and a megabyte, where asking anew each minute would cost sixty. Samples are added up as they come, nothing is kept. The
stream does not end with the Job (huggingface_hub 2.4.0 `hf_api.py`, `fetch_job_metrics`), and answers 406 or 500 when
it does not run yet: a read has 15 seconds, a connection that fails is tried again, and nothing of it is ever an error.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx2

from hf_train.values import GpuUse

SILENCE_S = 15.0
CONNECT_S = 10.0
BACKOFF_S = (5.0, 15.0, 60.0)
MAX_EVENT_BYTES = 1 << 16
MAX_GPUS = 64
MAX_REPLICAS = 16
LARGEST = 1e18
_NEVER = frozenset({401, 403})


class Samples:
    """Bytes of an event stream to samples: `data:` lines that hold a JSON object. Any chunk borders give the same."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> Iterator[Mapping[str, Any]]:
        """Samples that this chunk completes; what is none is left out."""
        lines = (self._rest + chunk).split(b"\n")
        self._rest = lines.pop()[: MAX_EVENT_BYTES + 1]  # of one that is too long, what shows that it is
        for line in lines:
            if line.startswith(b"data:") and len(line) <= MAX_EVENT_BYTES and (sample := _object(line[5:])):
                yield sample


@dataclass(slots=True)
class _Sum:
    count: int = 0
    total_pct: float = 0.0
    max_pct: float = 0.0
    memory_max: int | None = None
    memory_total: int | None = None


class Tally:
    """Adds samples up, GPU by GPU. A Job that starts over (`attempts`) does so elsewhere: the longest start counts."""

    def __init__(self) -> None:
        self._replicas: dict[str, dict[str, _Sum]] = {}

    def add(self, sample: Mapping[str, Any]) -> None:
        """One sample: `{"gpus": {ID: {"utilization", "memory_used_bytes", "memory_total_bytes"}}, "replica": ID}`."""
        gpus = sample.get("gpus")
        if not isinstance(gpus, dict):
            return
        name = str(sample.get("replica") or "")[:64]
        if name not in self._replicas and len(self._replicas) >= MAX_REPLICAS:
            return
        table = self._replicas.setdefault(name, {})
        for gpu, values in list(gpus.items())[:MAX_GPUS]:
            percent = _number(values.get("utilization")) if isinstance(values, dict) else None
            if percent is None or (gpu not in table and len(table) >= MAX_GPUS):
                continue
            one = table.setdefault(gpu, _Sum())
            one.count += 1
            one.total_pct += min(percent, 100.0)
            one.max_pct = max(one.max_pct, min(percent, 100.0))
            one.memory_max = _larger(one.memory_max, _number(values.get("memory_used_bytes")))
            one.memory_total = _larger(one.memory_total, _number(values.get("memory_total_bytes")))

    def use(self) -> tuple[GpuUse, ...]:
        """Each GPU's use so far, in the order in which they were seen."""
        longest = max(
            self._replicas.values(), key=lambda table: max((one.count for one in table.values()), default=0), default={}
        )
        return tuple(
            GpuUse(
                name=name[:64],
                samples=one.count,
                mean_pct=one.total_pct / one.count,
                max_pct=one.max_pct,
                memory_max_bytes=one.memory_max,
                memory_total_bytes=one.memory_total,
            )
            for name, one in longest.items()
        )


class StreamGauge:
    """A `ports.Gauge` over HTTP.

    Args:
        url: Address of the stream.
        token: Token to read it with.
    """

    def __init__(self, url: str, token: str | None) -> None:
        self._url = url
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._tally = Tally()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        threading.Thread(target=self._run, name="job-metrics", daemon=True).start()

    def use(self) -> tuple[GpuUse, ...]:
        """Each GPU's use so far."""
        with self._lock:
            return self._tally.use()

    def close(self) -> None:
        """Stop reading; does not wait. The thread is a daemon and dies with its next sample or time-out."""
        self._stop.set()

    def _run(self) -> None:
        failures = 0
        while not self._stop.is_set():
            try:
                failures = 0 if self._connection() else failures + 1
            except httpx2.HTTPStatusError as error:
                if error.response.status_code in _NEVER:
                    return
                failures += 1
            except Exception:  # noqa: BLE001  (whatever it is: the training is not about this stream)
                failures += 1
            self._stop.wait(BACKOFF_S[min(failures, len(BACKOFF_S)) - 1])

    def _connection(self) -> bool:
        """Read until it fails or is told to stop; whether anything came."""
        samples, received = Samples(), False
        timeout = httpx2.Timeout(SILENCE_S, connect=CONNECT_S)
        with httpx2.stream("GET", self._url, headers=self._headers, timeout=timeout) as answer:
            answer.raise_for_status()
            for chunk in answer.iter_raw():
                if self._stop.is_set():
                    return True
                with self._lock:
                    for sample in samples.feed(chunk):
                        received = True
                        self._tally.add(sample)
        return received


def _object(raw: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < LARGEST else None


def _larger(so_far: int | None, value: float | None) -> int | None:
    return so_far if value is None else max(so_far or 0, int(value))
