"""Signed tokens of the local Hub: for the xet store, and in links that need no `Authorization` header."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from pathlib import Path

from hf_train.local_hub.state import write_atomic

LIFETIME_SECONDS = 3600


class Signer:
    """Signs short texts with a secret that lies in the data folder, so that a restart keeps tokens valid.

    Args:
        secret_file: Where the secret lies; made when missing.
    """

    def __init__(self, secret_file: Path) -> None:
        if not secret_file.exists():
            write_atomic(secret_file, secrets.token_bytes(32))
        self._secret = secret_file.read_bytes()

    def sign(self, text: str) -> str:
        """The signature of a text: 32 hex digits."""
        return hmac.new(self._secret, text.encode(), hashlib.sha256).hexdigest()[:32]

    def check(self, text: str, signature: str) -> bool:
        """Whether a signature belongs to the text."""
        return hmac.compare_digest(self.sign(text), signature)

    def xet_token(self, scope: str) -> tuple[str, int]:
        """A token of the xet store for `read` or `write`, and when it ends (Unix time, seconds)."""
        expires = int(time.time()) + LIFETIME_SECONDS
        return f"xet_local.{scope}.{expires}.{self.sign(f'xet {scope} {expires}')}", expires

    def xet_scope(self, token: str) -> str | None:
        """`read` or `write` for a xet token that is ours and has not ended, else None."""
        parts = token.split(".")
        if len(parts) != 4 or parts[0] != "xet_local" or not parts[2].isdecimal():
            return None
        _, scope, expires, signature = parts
        if not self.check(f"xet {scope} {expires}", signature) or int(expires) < time.time():
            return None
        return scope
