"""What the two adapters that talk to the Hub share: a client with time limits, and one translation of its errors."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping

import httpx2
from huggingface_hub import HfApi, set_client_factory
from huggingface_hub.errors import HfHubHTTPError, HFValidationError
from huggingface_hub.utils._http import default_client_factory

from hf_train.errors import JobGone, RefusedByHub, TransientHubError
from hf_train.values import Secret

CONNECT_S = 10.0
READ_S = 30.0
TRANSIENT = frozenset({408, 425, 429, *range(500, 1000)} - {507})
"""Each status of a server that failed is no answer, whichever proxy made it up (520 to 526): a clear no is a 4xx.
But a full storage (507, RFC 4918) is not emptied by asking again."""
UNREADABLE = (ValueError, LookupError, TypeError, AttributeError)
"""What reading an answer of 200 raises that is not the expected JSON: a proxy's page, a field that is missing."""
_UNPROCESSABLE = ("Not accepted by the Hub", "Check flavor, image, labels and volumes.")
_REFUSALS = {
    400: _UNPROCESSABLE,
    401: ("Token not accepted", "Check that the secret behind hf-token is a valid, unexpired Hub token."),
    402: ("No credit", "Add credit under the namespace's billing settings, or choose another namespace."),
    403: (
        "Not allowed",
        "The token needs the right to start and manage Jobs (job.write) in this namespace and to write its buckets.",
    ),
    404: ("Not found", "Check the namespace and the names of repos and buckets, and that the token can see them."),
    409: ("Conflict", "Something of this name exists already."),
    413: ("Too large", "Send less: set path or exclude."),
    422: _UNPROCESSABLE,
    507: ("No storage left", "Free or buy storage in the namespace's settings, or choose another namespace."),
}


def make_api(endpoint: str, token: Secret | None) -> HfApi:
    """A client of the Hub whose requests end.

    The library's own has no time limit at all (huggingface_hub 2.4.0 `utils/_http.py`, `default_client_factory`), so
    a Hub that accepts and is silent would hold the step, and the bill, for ever.
    """
    set_client_factory(_client_with_limits)
    return HfApi(endpoint=endpoint.rstrip("/"), token=token.reveal() if token else False, library_name="hf-train")


def _client_with_limits() -> httpx2.Client:
    client = default_client_factory()
    client.timeout = httpx2.Timeout(READ_S, connect=CONNECT_S)
    return client


@contextlib.contextmanager
def translated(what: str) -> Iterator[None]:
    """Translate foreign exceptions at the edge.

    Args:
        what: What is asked, for people.

    Raises:
        JobGone: A 404 on a Job or a scheduled one.
        RefusedByHub: A clear no.
        TransientHubError: An answer that may be better next time, or none.
    """
    try:
        yield
    except HfHubHTTPError as error:
        status = error.response.status_code
        if status in TRANSIENT:
            raise TransientHubError(f"HTTP {status} for {what}", _pause(error.response.headers)) from error
        if status == 404 and re.search(r"/api/(?:scheduled-)?jobs/[^/]+/[^/]+", str(error.response.request.url)):
            raise JobGone(what) from error
        raise refusal(what, status, error.server_message or "") from error
    except httpx2.HTTPError as error:
        raise TransientHubError(f"{type(error).__name__} for {what}") from error
    except HFValidationError as error:  # a ValueError: the library sends no such name
        raise RefusedByHub("Not accepted by the Hub", f"{what}: {error}", "") from error
    except (ConnectionError, TimeoutError, PermissionError, RuntimeError) as error:
        raise _of_xet(what, error) from error
    except UNREADABLE as error:
        raise TransientHubError(f"an answer that cannot be read ({type(error).__name__}) for {what}") from error


def _of_xet(what: str, error: Exception) -> RefusedByHub | TransientHubError:
    """hf_xet 1.8 speaks to the store by itself and raises Python's own errors; the status stands in their text."""
    found = re.search(r"\bHTTP status client error \((\d{3})", str(error))
    status = int(found[1]) if found else 401 if isinstance(error, PermissionError) else 0
    if status and status not in TRANSIENT:
        return refusal(what, status, "")
    return TransientHubError(f"{type(error).__name__} for {what}")


def refusal(what: str, status: int, message: str) -> RefusedByHub:
    """The error for a status that is a clear no.

    Args:
        what: What was asked, for people.
        status: HTTP status.
        message: The Hub's own words, may be empty.
    """
    title, hint = _REFUSALS.get(status, ("Refused by the Hub", ""))
    words = f" {message.strip().rstrip('.')}." if message else ""
    return RefusedByHub(title, f"The Hub answered {status} for {what}.{words}", hint)


def _pause(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait by the answer's own word (RFC 9110 `Retry-After` in seconds, or `RateLimit: ...;t=55`)."""
    retry_after = headers.get("Retry-After", "")
    if re.fullmatch(r"\d{1,5}", retry_after):
        return float(retry_after)
    match = re.search(r"\bt=(\d{1,5})", headers.get("RateLimit", ""))
    return float(match[1]) if match else None
