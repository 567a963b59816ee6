"""Adapter: the container engine, by its command line: build, push, look into, try out.

By the command line and not by Docker's SDK: BuildKit has no other door, the classic builder and `docker push` stand
behind the same one, and the action installs nothing for it.
"""

from hf_train.engine.builder import DockerBuilder
from hf_train.engine.verify import verify

__all__ = ["DockerBuilder", "verify"]
