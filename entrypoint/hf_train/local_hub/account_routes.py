"""Small routes around accounts and clients: whoami, token exchange, and what clients ask in passing."""

from __future__ import annotations

import base64
import json
import math
import time
from typing import Any

import yaml
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute

from hf_train.local_hub.access import require_account
from hf_train.local_hub.accounts import Account, Accounts, account_id, jwt_for
from hf_train.local_hub.calls import Call, CallRoute, HubError

_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
# Keys of a card that the Hub checks, and what they may be.
_KINDS: dict[str, tuple[type, ...]] = {
    "license": (str, list),
    "tags": (list,),
    "model-index": (list,),
    "library_name": (str,),
}
_KIND_NAMES: dict[type, str] = {str: "a string", list: "an array"}
_SINCE = "2026-01-01T00:00:00.000Z"  # creation date of every account of a local Hub


class AccountRoutes:
    """Handlers around accounts.

    Args:
        accounts: Who asks.
        endpoint: Address of this Hub: the audience of the identities that it trades.
    """

    def __init__(self, accounts: Accounts, endpoint: str) -> None:
        self.accounts = accounts
        self.endpoint = endpoint

    def routes(self) -> list[BaseRoute]:
        """All routes around accounts."""
        return [
            CallRoute(["GET"], r"/api/whoami-v2", self.whoami),
            CallRoute(["GET"], r"/api/agent-harnesses", self.agent_harnesses),
            CallRoute(["POST"], r"/api/validate-yaml", self.validate_yaml),
            CallRoute(["POST"], r"/oauth/token", self.exchange),
            CallRoute(["GET", "HEAD"], r"/api/telemetry/.*", self.telemetry),
            CallRoute(["GET"], r"/api/users/(?P<name>[^/]+)/overview", self.user),
            CallRoute(["GET"], r"/api/users/[^/]+/likes", self.likes),
            CallRoute(["GET"], r"/api/organizations/(?P<name>[^/]+)/overview", self.organization),
        ]

    def whoami(self, call: Call) -> Response:
        """The account of the token."""
        account = require_account(self.accounts, call)
        token: dict[str, Any] = {"displayName": "local", "role": account.role, "createdAt": _SINCE}
        if account.scopes is not None:
            token["fineGrained"] = _scopes(account)
        return JSONResponse(
            {
                "type": "user",
                "id": account.id,
                "name": account.name,
                "fullname": account.name,
                "email": f"{account.name}@localhost",
                "emailVerified": True,
                "canPay": True,
                "isPro": False,
                "periodEnd": None,
                "avatarUrl": "",
                "orgs": [_org(name) for name in account.orgs],
                "auth": {"type": "access_token", "accessToken": token},
            }
        )

    def agent_harnesses(self, _call: Call) -> Response:
        """Which environment variables give an AI agent away: none that is special."""
        return JSONResponse({"standardEnvVars": ["AI_AGENT", "AGENT"], "harnesses": {}})

    def telemetry(self, _call: Call) -> Response:
        """Take a client's measurements and forget them."""
        return JSONResponse({})

    def validate_yaml(self, call: Call) -> Response:
        """Whether the front matter of a README is YAML, and an object."""
        content = str(call.json().get("content", ""))
        try:
            parsed = yaml.safe_load(front_matter(content) or "{}")
        except yaml.YAMLError as problem:
            return _yaml_error(f"YAML metadata is invalid: {problem}")
        if parsed is not None and not isinstance(parsed, dict):
            return _yaml_error("YAML metadata must be an object")
        for key, kinds in _KINDS.items():
            if (value := (parsed or {}).get(key)) is not None and not isinstance(value, kinds):
                return _yaml_error(f'"{key}" must be {" or ".join(_KIND_NAMES[kind] for kind in kinds)}')
        warnings = [] if parsed else [{"message": "empty or missing yaml metadata in repo card"}]
        return JSONResponse({"errors": [], "warnings": warnings})

    def exchange(self, call: Call) -> Response:
        """Trade an OIDC identity token for an access token that may write to one repo.

        Every identity is a trusted publisher here; what the token says of itself (audience, end) must fit all the same.
        """
        body: dict[str, Any] = call.json()
        if body.get("grant_type") != _EXCHANGE or not body.get("subject_token") or not body.get("resource"):
            raise HubError(400, "invalid_grant: a token exchange needs subject_token and resource")
        claims = _claims(str(body["subject_token"]))
        if claims.get("aud", self.endpoint) != self.endpoint:
            raise HubError(400, f"invalid_grant: the audience of the identity is not {self.endpoint}")
        if claims.get("exp", math.inf) <= time.time():
            raise HubError(400, "invalid_grant: the identity has expired")
        return JSONResponse(
            {
                "access_token": jwt_for(str(body["resource"])),
                "token_type": "bearer",
                "expires_in": 3600,
                "issued_token_type": "urn:ietf:params:oauth:token-type:access_token",
            }
        )

    def user(self, call: Call) -> Response:
        """A user's public page."""
        name = call.params["name"]
        return JSONResponse({"user": name, "fullname": name, "type": "user", "isPro": False, "avatarUrl": ""})

    def likes(self, _call: Call) -> Response:
        """What a user likes: nothing is kept."""
        return JSONResponse([])

    def organization(self, call: Call) -> Response:
        """An organisation's public page."""
        name = call.params["name"]
        if name not in self.accounts.settings.orgs:
            raise HubError(404, "This organization does not exist")
        return JSONResponse({**_org(name), "avatarUrl": ""})


def _claims(token: str) -> dict[str, Any]:
    """What a JSON Web Token says; nothing for a token that is none. Signatures are not checked: nobody signs here."""
    try:
        payload = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except (ValueError, IndexError):
        return {}
    return claims if isinstance(claims, dict) else {}


def front_matter(text: str) -> str | None:
    """The YAML between the first two `---` lines of a README, None when it does not start with one."""
    lines = text.removeprefix("\ufeff").lstrip().splitlines()
    if not lines or lines[0].rstrip() != "---":
        return None
    for number, line in enumerate(lines[1:], start=1):
        if line.rstrip() == "---":
            return "\n".join(lines[1:number])
    return None


def _org(name: str) -> dict[str, Any]:
    return {
        "type": "org",
        "id": account_id(name),
        "name": name,
        "fullname": name,
        "email": None,
        "canPay": True,
        "periodEnd": None,
        "isEnterprise": False,
        "avatarUrl": "",
        "roleInOrg": "write",
    }


def _scopes(account: Account) -> dict[str, Any]:
    """The scopes of a fine-grained token, as `whoami-v2` of the Hub lists them."""
    kinds = {account.name: "user", **dict.fromkeys(account.orgs, "org")}
    scoped = [
        {
            "entity": {"_id": account_id(name), "type": kinds.get(name, "model"), "name": name},
            "permissions": list(permissions),
        }
        for name, permissions in (account.scopes or {}).items()
    ]
    return {"canReadGatedRepos": False, "global": [], "scoped": scoped}


def _yaml_error(message: str) -> Response:
    return JSONResponse({"errors": [{"message": message}], "warnings": []}, status_code=400)
