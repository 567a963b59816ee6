"""The fixture that forbids the world does forbid it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest


def test_no_socket_can_be_made() -> None:
    with pytest.raises(AssertionError, match="unit layer"):
        socket.create_connection(("127.0.0.1", 9))


def test_no_process_can_be_started() -> None:
    for start in (lambda: subprocess.run([sys.executable, "-V"], check=False), lambda: os.system("true")):
        with pytest.raises(AssertionError, match="unit layer"):
            start()
