"""Executor `docker`: the named image in the Docker Engine, volumes bind-mounted at their mount paths.

The image's ENTRYPOINT is not used, as on the Hub (hub-docs `jobs-configuration`). Containers use the host's network,
so that the Hub on loopback is the Hub inside too; those of a network group get a network of their own, where they have
the names of `network.py`. It lives from the first of its Jobs to the last.
Every container carries our labels; what a killed Hub has left is removed at the next start on the same data folder.
"""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_train.local_hub.executors.base import Ended, Stop, Task, Usage
from hf_train.local_hub.network import names

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.containers import Container

LABEL = "hf-train.local-hub"
"""Its value is the data folder of the Hub that the container belongs to."""
JOB_LABEL = "hf-train.job"
API_S = 60
PULL_S = 20
TICK_S = 0.05
NO_BRIDGE_NOTICE = (
    "hf-train local Hub: this Job is in a network group, so it has a network of its own, where a Hub that listens on "
    "loopback only cannot be reached.\n"
)


class DockerExecutor:
    """Runs Jobs as containers.

    Args:
        data: Data folder of this Hub; it marks its containers.
    """

    def __init__(self, data: Path) -> None:
        self._owner = str(data.resolve())
        self._running: dict[str, Container] = {}
        self._lock = threading.Lock()
        self._members: Counter[str] = Counter()
        self._sweep()

    def run(self, task: Task, emit: Callable[[bytes], None], stop: Stop) -> Ended:
        """Run one attempt to its end, and remove its container."""
        from docker.errors import APIError, DockerException

        try:
            with _engine(API_S) as client:
                missing = _pull_when_missing(client, task.image)
                if missing:
                    return Ended(exit_code=1, message=missing)
                if stop.is_set():
                    return Ended(exit_code=137)
                with self._network(client, task, emit) as network:
                    container = client.containers.create(**self._settings(client, task, network))
                    try:
                        return self._follow(container, task, emit, stop)
                    finally:
                        self._running.pop(task.job_id, None)
                        _remove(container)
        except APIError as error:
            return Ended(exit_code=125, message=f"The container could not be started: {_reason(error)}")
        except DockerException as error:
            return Ended(exit_code=125, message=f"The Docker Engine cannot be reached: {error}")

    def usage(self, job_id: str) -> Usage:
        """What the engine measures for the Job's container."""
        from docker.errors import DockerException

        container = self._running.get(job_id)
        if container is None:
            return Usage()
        try:
            stats: Any = container.stats(stream=False, one_shot=True)
        except DockerException:
            return Usage()
        cpu = stats.get("cpu_stats", {}).get("cpu_usage", {}).get("total_usage", 0)
        return Usage(cpu_s=cpu / 1e9, memory_bytes=stats.get("memory_stats", {}).get("usage", 0))

    def _follow(self, container: Container, task: Task, emit: Callable[[bytes], None], stop: Stop) -> Ended:
        from docker.errors import APIError

        output = container.attach(stream=True, logs=True, stdout=True, stderr=True)
        reader = threading.Thread(target=_pump, args=(output, emit), daemon=True)
        reader.start()
        try:
            container.start()
        except APIError as error:
            reason = _reason(error)
            emit(f"{reason}\n".encode())
            return Ended(exit_code=127 if "not found" in reason or "no such file" in reason.lower() else 126)
        self._running[task.job_id] = container
        while reader.is_alive():
            if stop.wait(TICK_S):
                _kill(container, reader, stop)
            reader.join(TICK_S)
        code = int(container.wait()["StatusCode"])
        container.reload()
        return Ended(exit_code=code, oom=bool(container.attrs["State"].get("OOMKilled")))

    def _settings(self, client: DockerClient, task: Task, network: str) -> dict[str, Any]:
        from docker.types import EndpointConfig, Mount

        settings: dict[str, Any] = {
            "image": task.image,
            "entrypoint": [],
            "command": list(task.command),
            "environment": dict(task.env),
            "labels": {LABEL: self._owner, JOB_LABEL: task.job_id},
            "init": True,
            "mem_limit": task.memory_bytes,
            "memswap_limit": task.memory_bytes,
            "nano_cpus": min(task.hardware.cpus, int(client.info()["NCPU"])) * 1_000_000_000,
            "mounts": [
                Mount(target=one.target, source=str(one.source.resolve()), type="bind", read_only=one.read_only)
                for one in task.mounts
            ],
        }
        if not network:
            return {**settings, "network_mode": "host"}
        aliases = list(names(task.namespace, task.network))
        return {
            **settings,
            "network": network,
            "networking_config": {network: EndpointConfig(client.api.api_version, aliases=aliases)},
        }

    @contextlib.contextmanager
    def _network(self, client: DockerClient, task: Task, emit: Callable[[bytes], None]) -> Iterator[str]:
        """The network of the Job's group, as long as one of it runs; empty for a Job in no group."""
        if not task.network:
            yield ""
            return
        if "//127." in task.env["HF_ENDPOINT"] or "//[::1]" in task.env["HF_ENDPOINT"]:
            emit(NO_BRIDGE_NOTICE.encode())
        name = f"hf-train-{task.namespace}-{task.network['group']}"
        with self._lock:  # two Jobs of a group start, or end, at the same moment
            if not client.networks.list(names=[f"^{name}$"]):
                client.networks.create(name, driver="bridge", labels={LABEL: self._owner})
            self._members[name] += 1
        try:
            yield name
        finally:
            with self._lock:
                self._members[name] -= 1
                if not self._members[name]:
                    _remove_network(client, name)

    def _sweep(self) -> None:
        """Remove containers and networks of an earlier life on this data folder. No engine, nothing to remove."""
        from docker.errors import DockerException

        mine: dict[str, str | list[str] | bool] = {"label": f"{LABEL}={self._owner}"}
        with contextlib.suppress(DockerException), _engine(API_S) as client:
            for container in client.containers.list(all=True, filters=mine):
                _remove(container)
            for network in client.networks.list(filters=mine):
                _remove_network(client, str(network.name))


@contextlib.contextmanager
def _engine(timeout_s: int) -> Iterator[DockerClient]:
    import docker

    client = docker.from_env(timeout=timeout_s)
    try:
        yield client
    finally:
        client.close()


def _pull_when_missing(client: DockerClient, image: str) -> str:
    """Why the image cannot be had; empty when it is there."""
    from docker.errors import APIError, DockerException, ImageNotFound
    from requests.exceptions import RequestException

    try:
        client.images.get(image)
    except ImageNotFound:
        try:
            with _engine(PULL_S) as puller:
                puller.images.pull(image)
        except APIError as error:
            return f"Failed to pull image {image}: {_reason(error)}"
        except (DockerException, RequestException) as error:
            return f"Failed to pull image {image}: {error}"
    except APIError as error:
        return f"Failed to pull image {image}: {_reason(error)}"
    return ""


def _reason(error: Any) -> str:
    return str(error.explanation or error).strip()


def _pump(output: Iterator[bytes], emit: Callable[[bytes], None]) -> None:
    from docker.errors import DockerException
    from requests.exceptions import RequestException

    with contextlib.suppress(DockerException, RequestException, OSError, ValueError):
        for chunk in output:
            emit(chunk)


def _kill(container: Container, reader: threading.Thread, stop: Stop) -> None:
    """SIGTERM, some time to end, then SIGKILL to all that runs in it."""
    from docker.errors import APIError

    with contextlib.suppress(APIError):
        container.kill("SIGTERM")
        reader.join(stop.grace_s)
        if reader.is_alive():
            container.kill("SIGKILL")
            reader.join(5.0)


def _remove(container: Container) -> None:
    from docker.errors import APIError

    with contextlib.suppress(APIError):
        container.remove(force=True, v=True)


def _remove_network(client: DockerClient, name: str) -> None:
    """Remove a group's network, unless a Job is still in it."""
    from docker.errors import APIError

    with contextlib.suppress(APIError):
        for network in client.networks.list(names=[f"^{name}$"]):
            network.remove()
