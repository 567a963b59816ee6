"""Who asks: from a token to an account, and what that account may do.

Any token is taken as the account `HubSettings.user`, since a local Hub has no secrets to guard from its own user.
Tokens of a few shapes stand for the other cases that clients must cope with:

| token | account |
|---|---|
| `hf_local_as_NAME` | user NAME with role write (a text after a dot is ignored: `hf_local_as_alice.ci`) |
| `hf_local_read…` | the default user with role read: 403 on every write |
| `hf_local_read_as_NAME` | user NAME with role read |
| what `fine_token` gives | a fine-grained token: only what its scopes permit, and `whoami` lists them |
| `hf_jwt_local_…` | what `POST /oauth/token` gives: may write to the one repo it was asked for |
| any with `invalid` in it | nobody: 401 |
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from hf_train.local_hub.calls import HubError
from hf_train.local_hub.settings import HubSettings

Role = Literal["read", "write", "fineGrained"]

_JWT = "hf_jwt_local_"
_FINE = "hf_local_fine_"
_INVALID = "Invalid credentials in Authorization header"


@dataclass(frozen=True, kw_only=True, slots=True)
class Account:
    """The account behind a token.

    Attributes:
        name: User name.
        role: `read` refuses every write.
        orgs: Organisations that the account may write to.
        scopes: Permissions by user, organisation or repo (`acme`, `acme/model`); None when the token has no such list.
        scope: When not None, the only repo (`acme/model`, `datasets/acme/x`, `buckets/acme/b`) that it may write to.
    """

    name: str
    role: Role = "write"
    orgs: tuple[str, ...] = ()
    scope: str | None = None
    scopes: Mapping[str, tuple[str, ...]] | None = None

    @property
    def id(self) -> str:
        """24 hex digits that stay the same for a name."""
        return account_id(self.name)

    def sees(self, namespace: str) -> bool:
        """Whether private things in this namespace are visible."""
        return namespace == self.name or namespace in self.orgs

    def may_write(self, namespace: str, full_id: str | None = None) -> bool:
        """Whether the account may write in this namespace (to `full_id`, for a token bound to one repo)."""
        if self.role == "read" or not self.sees(namespace):
            return False
        if self.scopes is not None:
            return self._permits("repo.write", namespace, full_id)
        return self.scope is None or self.scope == full_id

    def may_run(self, namespace: str) -> bool:
        """Whether the account may start and manage Jobs in this namespace."""
        if self.scopes is not None:
            return self.sees(namespace) and self._permits("job.write", namespace, None)
        return self.may_write(namespace)

    def _permits(self, permission: str, namespace: str, full_id: str | None) -> bool:
        repo = (full_id or "").removeprefix("datasets/").removeprefix("spaces/")
        return any(permission in (self.scopes or {}).get(entity, ()) for entity in (namespace, repo))


def account_id(name: str) -> str:
    """The id of a user or organisation: 24 hex digits from its name."""
    return hashlib.sha256(name.encode()).hexdigest()[:24]


def jwt_for(resource: str) -> str:
    """The access token of a token exchange for one repo."""
    return _JWT + base64.urlsafe_b64encode(resource.encode()).decode().rstrip("=")


def fine_token(user: str, scopes: Mapping[str, Sequence[str]]) -> str:
    """A fine-grained token of a user, with permissions by entity: `{"acme": ["job.write", "repo.write"]}`."""
    words = json.dumps({"user": user, "scopes": {entity: list(names) for entity, names in scopes.items()}})
    return _FINE + base64.urlsafe_b64encode(words.encode()).decode().rstrip("=")


class Accounts:
    """Reads the `Authorization` header.

    Args:
        settings: Names of the default user and of its organisations.
    """

    def __init__(self, settings: HubSettings) -> None:
        self.settings = settings

    def of_token(self, token: str) -> Account:
        """The account of a token.

        Raises:
            HubError: 401 for a token that is refused.
        """
        if not token or "invalid" in token:
            raise HubError(401, _INVALID)
        user, orgs = self.settings.user, self.settings.orgs
        if token.startswith(_JWT):
            scope = _decoded(token.removeprefix(_JWT))
            return Account(name=scope.rpartition("/")[0].rpartition("/")[2] or user, orgs=orgs, scope=scope)
        if token.startswith(_FINE):
            return _fine(_decoded(token.removeprefix(_FINE)), orgs)
        role: Role = "read" if token.startswith("hf_local_read") else "write"
        for prefix in ("hf_local_as_", "hf_local_read_as_"):
            if token.startswith(prefix):
                name = token.removeprefix(prefix).partition(".")[0]
                return Account(name=name, role=role, orgs=orgs if name == user else ())
        return Account(name=user, role=role, orgs=orgs)

    def of_header(self, authorization: str | None) -> Account | None:
        """The account of an `Authorization` header, None without one.

        Raises:
            HubError: 401 for a header that is no bearer token or a token that is refused.
        """
        if authorization is None:
            return None
        kind, _, token = authorization.partition(" ")
        if kind.lower() != "bearer":
            raise HubError(401, _INVALID)
        return self.of_token(token.strip())


def _fine(text: str, orgs: tuple[str, ...]) -> Account:
    try:
        words = json.loads(text)
        scopes = {str(entity): tuple(map(str, names)) for entity, names in words["scopes"].items()}
        return Account(name=str(words["user"]), role="fineGrained", orgs=orgs, scopes=scopes)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise HubError(401, _INVALID) from error


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise HubError(401, _INVALID) from error
