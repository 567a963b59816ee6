"""What runs inside the Job. It imports nothing of the rest; the rest only sends it along."""

from importlib.resources import files

SUMS = "SHA256SUMS"
EXECUTABLES = "executables"
LINKS = "links"
"""Files that `start.sh` reads beside itself: checksums, paths with an execute bit, `target<TAB>link` lines."""


def start_script() -> bytes:
    """The POSIX shell script that starts the command in a writable, verified copy of the code."""
    return files(__name__).joinpath("start.sh").read_bytes()
