"""`python -m hf_train.local_hub`, and behind `hf-train local-hub`."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hf_train.local_hub.faults import parse as parse_fault
from hf_train.local_hub.server import DataInUseError, announce, serve
from hf_train.local_hub.settings import HubSettings


def main(argv: Sequence[str] | None = None) -> int:
    """Serve.

    Args:
        argv: Words after the program's name.

    Returns:
        Exit code: 0 after SIGTERM or SIGINT, 2 for bad words or a taken port.
    """
    options = _parser().parse_args(argv)
    if options.data is None:
        with tempfile.TemporaryDirectory(prefix="hf-train-local-hub-") as folder:
            return _serve(options, Path(folder))
    return _serve(options, Path(options.data))


def _serve(options: argparse.Namespace, data: Path) -> int:
    settings = HubSettings(
        data=data.resolve(),
        host=options.host,
        port=options.port,
        executor=options.executor,
        user=options.user,
        orgs=tuple(options.org or ("local-org",)),
        schedule_seconds=options.schedule_seconds,
        faults=tuple(options.fault),
    )
    try:
        return serve(settings, announce)
    except DataInUseError as error:
        print(f"hf-train local-hub: {error.strerror}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"hf-train local-hub: {options.host}:{options.port}: {error.strerror}", file=sys.stderr)
        return 2


def _fault(text: str) -> str:
    try:
        parse_fault(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port (0 to 65535)")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < 86_400:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
    return seconds


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hf-train local-hub",
        description="An embedded Hub on this machine: Jobs, buckets and repos that the real clients can use.",
    )
    parser.add_argument("--port", type=_port, default=0, help="TCP port; 0 takes a free one (default)")
    parser.add_argument("--data", help="folder that keeps its state; by default one that is removed at the end")
    parser.add_argument("--executor", choices=("process", "docker"), default="process", help="what runs Jobs")
    parser.add_argument(
        "--fault", type=_fault, action="append", default=[], metavar="SPEC", help="something that goes wrong on purpose"
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to bind; loopback by default")
    parser.add_argument("--user", default="local-user", help="name of the account behind every token")
    parser.add_argument(
        "--org", action="append", metavar="NAME", help="an organisation that the account may write to (local-org)"
    )
    parser.add_argument("--schedule-seconds", type=_seconds, default=0.3, help="how long Jobs stay in SCHEDULING (0.3)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
