"""Submit, look, list, cancel: the only room that does."""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import httpx2
from huggingface_hub import JobInfo, close_session, get_token
from huggingface_hub import Volume as HubVolume
from huggingface_hub.utils._headers import build_hf_headers
from huggingface_hub.utils._http import hf_raise_for_status

from hf_train.errors import JobGone, RefusedByHub, TransientHubError
from hf_train.hub.access import account_of
from hf_train.hub.logs import StreamFeed
from hf_train.hub.metrics import StreamGauge
from hf_train.hub.repos import Life, published, results
from hf_train.hub_api import TRANSIENT, UNREADABLE, make_api, refusal, translated
from hf_train.ports import Account, Gauge, LogFeed, Published
from hf_train.values import Flavor, JobRef, JobSpec, JobState, Secret, Stage, Volume

CANCEL_S = 1.2
GLANCE_S = 0.8
LIST_S = 10.0
"""Longest time for a list of Jobs, all pages of it: a signal may wait for it."""


class HuggingFaceHub:
    """The `ports.Hub` of a real run.

    Args:
        endpoint: Base address, `https://huggingface.co` or the local Hub's.
        token: The token that launches.
        job_token: The token that the Job gets as `HF_TOKEN`, None when it gets none.
    """

    def __init__(self, endpoint: str, token: Secret | None, job_token: Secret | None = None) -> None:
        self._endpoint = endpoint.rstrip("/")
        self._token = token
        self._job_token = job_token
        self._api = make_api(endpoint, token)

    @property
    def endpoint(self) -> str:
        """Base address without a slash at its end."""
        return self._endpoint

    def whoami(self) -> Account:
        """Owner of the launch token."""
        if self._token is None:
            raise RefusedByHub("No token", "There is no Hub token.", "Set the variable HF_TOKEN, or use --local.")
        with translated("whoami"):
            return account_of(self._api.whoami())

    def job_owner(self) -> str:
        """Owner of the token that the Job gets; empty when it gets none or the Hub does not know it."""
        if self._job_token is None:
            return ""
        try:
            with translated("whoami"):
                return account_of(self._api.whoami(token=self._job_token.reveal())).name
        except (RefusedByHub, TransientHubError):
            return ""

    def hardware(self) -> Sequence[Flavor]:
        """Flavors and prices."""
        with translated("the hardware list"):
            return tuple(_flavor(item) for item in self._api.list_jobs_hardware())

    def submit(self, spec: JobSpec, secrets: Mapping[str, Secret]) -> JobState:
        """Start a Job; one POST, never repeated here."""
        values = {name: secrets[name].reveal() for name in spec.secrets}
        with translated("the launch"):
            info = self._api.run_job(
                image=spec.image,
                command=list(spec.command),
                env=dict(spec.env),
                secrets=values,
                flavor=spec.flavor,
                timeout=spec.timeout_s,
                attempts=spec.attempts,
                labels=dict(spec.labels),
                volumes=[hub_volume(volume) for volume in spec.volumes],
                network_group=spec.network.group if spec.network else None,
                network_aliases=list(spec.network.aliases) if spec.network else None,
                namespace=spec.namespace,
            )
            return self._state(info)

    def look(self, ref: JobRef) -> JobState:
        """The Job now."""
        with translated("the Job's stage"):
            return self._state(self._api.inspect_job(job_id=ref.id, namespace=ref.namespace))

    def glance(self, ref: JobRef) -> JobState | None:
        """The Job now, within a second and on a connection of its own; None when that cannot be had."""
        found: list[JobState] = []

        def ask() -> None:
            headers = {"Authorization": f"Bearer {self._token.reveal()}"} if self._token else {}
            url = f"{self._endpoint}/api/jobs/{ref.namespace}/{ref.id}"
            with contextlib.suppress(Exception):  # a cancel waits for this answer, and does without
                answer = httpx2.get(url, headers=headers, timeout=GLANCE_S).raise_for_status()
                found.append(self._state(JobInfo(**answer.json(), endpoint=self._endpoint)))

        thread = threading.Thread(target=ask, daemon=True)  # a time-out of the client bounds each read, not the answer
        thread.start()
        thread.join(GLANCE_S)
        return found[0] if found else None

    def find(self, namespace: str, labels: Mapping[str, str]) -> Sequence[JobState]:
        """Jobs with all of these labels, newest first."""
        found: list[JobState] = []
        unread = ""
        with translated("the list of Jobs"):
            items = self._list(namespace, labels)
        for item in items:
            try:
                owner = item.get("owner") or {"id": "", "name": namespace, "type": ""}
                found.append(self._state(JobInfo(**{**item, "owner": owner, "endpoint": self._endpoint})))
            except UNREADABLE as error:
                unread = type(error).__name__
        if unread and not found:  # else "there is none" would be said of the Job that is asked for
            raise TransientHubError(f"an answer that cannot be read ({unread}) for the list of Jobs")
        return sorted(found, key=lambda state: state.created_at.timestamp() if state.created_at else 0.0, reverse=True)

    def _list(self, namespace: str, labels: Mapping[str, str]) -> list[Any]:
        """Rows of the list, by a request of our own, on a connection of its own.

        The library's retries five times by itself, for as long as the Hub says, also while a signal waits; and it reads
        all rows or none (huggingface_hub 2.4.0 `utils/_pagination.py`, `hf_api.py` `list_jobs`).
        """
        until = time.monotonic() + LIST_S
        headers = build_hf_headers(token=self._token.reveal() if self._token else False, library_name="hf-train")
        params = [("label", f"{name}={value}") for name, value in labels.items()]
        url: httpx2.URL | str = httpx2.URL(f"{self._endpoint}/api/jobs/{namespace}", params=params)
        rows: list[Any] = []
        with httpx2.Client(headers=headers, follow_redirects=True) as client:
            while url:
                if (left := until - time.monotonic()) <= 0:
                    raise TransientHubError(f"no end within {LIST_S:.0f} s for the list of Jobs")
                answer = client.get(url, timeout=left)
                hf_raise_for_status(answer)
                rows += _rows(answer.json())
                url = answer.links.get("next", {}).get("url", "")
        return rows

    def cancel(self, ref: JobRef) -> None:
        """Cancel, on a connection of its own: the shared one may be stuck in the call that a signal interrupted."""
        close_session()
        headers = {"Authorization": f"Bearer {self._token.reveal()}"} if self._token else {}
        url = f"{self._endpoint}/api/jobs/{ref.namespace}/{ref.id}/cancel"
        with translated("the cancel"):
            answer = httpx2.post(url, headers=headers, timeout=CANCEL_S)
            if answer.status_code == 404:
                raise JobGone(ref.id)
            if answer.status_code in TRANSIENT:
                raise TransientHubError(f"HTTP {answer.status_code}")
            if not answer.is_success:
                raise refusal("the cancel", answer.status_code, answer.headers.get("X-Error-Message", ""))

    def relabel(self, ref: JobRef, labels: Mapping[str, str]) -> None:
        """Replace all labels of a Job."""
        with translated("the labels"):
            self._api.update_job_labels(job_id=ref.id, labels=dict(labels), namespace=ref.namespace)

    def follow(self, ref: JobRef) -> LogFeed:
        """Start to read the log."""
        token = self._token.reveal() if self._token else None
        return StreamFeed(f"{self._endpoint}/api/jobs/{ref.namespace}/{ref.id}/logs", token)

    def gauge(self, ref: JobRef) -> Gauge:
        """Start to read the samples of what the Job uses."""
        token = self._token.reveal() if self._token else None
        return StreamGauge(f"{self._endpoint}/api/jobs/{ref.namespace}/{ref.id}/metrics", token)

    def published(
        self, kind: str, repo: str, since: datetime, until: datetime, extra: Sequence[str], author: str = ""
    ) -> Published:
        """What a repo got from a Job."""
        with translated(f"the repo {repo}"):
            return published(self._api, kind, repo, Life(since=since, until=until, author=author), extra)

    def results(self, repo: str, revision: str | None, extra: Sequence[str] = ()) -> Published:
        """The result files of a model repo at a revision."""
        with translated(f"the repo {repo}"):
            return results(self._api, repo, revision, extra)

    def _state(self, info: JobInfo) -> JobState:
        stage, text = _stage(str(info.status.stage))
        durations = info.durations
        return JobState(
            ref=JobRef(id=str(info.id), namespace=info.owner.name, url=info.url),
            stage=stage,
            stage_text=text,
            message=str(info.status.message or ""),
            created_at=info.created_at,
            started_at=info.started_at,
            finished_at=info.finished_at,
            queued_s=_seconds(durations.scheduling_secs if durations else None),
            running_s=_seconds(durations.running_secs if durations else None),
            labels={str(name): str(value) for name, value in (info.labels or {}).items()},
            image=info.docker_image or info.space_id or "",
            command=tuple(info.command or ()),
            flavor=str(getattr(info.flavor, "value", info.flavor) or ""),
            env=info.environment or {},
            secrets=tuple(info.secrets or ()),
            volumes=tuple(_volume(one) for one in info.volumes or ()),
        )


def _rows(body: object) -> list[Any]:
    if not isinstance(body, list):
        raise TypeError(type(body).__name__)
    return body


def stored_token() -> Secret | None:
    """The token of `hf auth login` on this machine, None when there is none."""
    token = get_token()
    return Secret(token) if token else None


def _flavor(item: object) -> Flavor:
    """One row; the price is per minute unless the Hub says another unit, and then it is not known to us."""
    accelerator = getattr(item, "accelerator", None)
    per_minute = getattr(item, "unit_label", "") == "minute"
    price = getattr(item, "unit_cost_usd", None)
    quantity = str(getattr(accelerator, "quantity", "") or "")
    return Flavor(
        name=str(getattr(item, "name", "")),
        title=str(getattr(item, "pretty_name", "")),
        cpu=str(getattr(item, "cpu", "")),
        ram=str(getattr(item, "ram", "")),
        accelerator=f"{quantity}x {accelerator.model} ({accelerator.vram})" if accelerator else "",
        gpus=int(quantity) if quantity.isdecimal() else 0,
        disk_gb=_gigabytes(str(getattr(item, "ephemeral_storage", ""))),
        usd_per_minute=float(price) if per_minute and isinstance(price, int | float) else None,
    )


def _gigabytes(text: str) -> float | None:
    """`110 GB` or `1.5 TB`; None for what is neither (`N/A`)."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?([GT])B", text.strip())
    return float(found[1]) * (1000 if found[2] == "T" else 1) if found else None


def hub_volume(volume: Volume) -> HubVolume:
    """A volume as the library takes it."""
    return HubVolume(
        type=volume.kind,
        source=volume.source,
        mount_path=volume.mount,
        revision=volume.revision,
        read_only=volume.read_only,
        path=volume.path or None,
    )


def _volume(seen: HubVolume) -> Volume:
    return Volume(
        kind=seen.type,
        source=seen.source,
        mount=seen.mount_path,
        revision=seen.revision,
        read_only=seen.read_only,
        path=seen.path or "",
    )


def _stage(text: str) -> tuple[Stage, str]:
    try:
        return Stage(text), ""
    except ValueError:
        return Stage.UNKNOWN, text


def _seconds(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
