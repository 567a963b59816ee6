"""What runs inside the Job. It imports nothing of the rest; the rest only sends it along."""

from collections.abc import Mapping
from importlib.resources import files

SUMS = "SHA256SUMS"
EXECUTABLES = "executables"
LINKS = "links"
"""Files that `start.sh` reads beside itself: checksums, paths with an execute bit, `target<TAB>link` lines."""


def programs() -> Mapping[str, bytes]:
    """Name and bytes of what is sent: `start.sh`, which verifies and copies, and the launcher that it hands over to."""
    return {name: files(__name__).joinpath(name).read_bytes() for name in ("start.sh", "launcher.py")}
