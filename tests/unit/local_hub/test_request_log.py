"""What the request log keeps."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hf_train.local_hub.around import without_secrets


@given(
    st.dictionaries(st.text(max_size=5), st.text(min_size=3, max_size=5).map(lambda text: f"\x01{text}"), max_size=3)
)
def test_no_secret_at_any_depth(secrets: dict[str, str]) -> None:
    body: dict[str, Any] = {"command": ["x"], "jobSpec": {"secrets": secrets}, "list": [{"secrets": secrets}]}
    kept = json.loads(without_secrets(json.dumps(body).encode()))
    assert kept["jobSpec"]["secrets"] == dict.fromkeys(secrets, "***")
    assert kept["list"] == [{"secrets": dict.fromkeys(secrets, "***")}]
    assert kept["command"] == ["x"]


def test_json_lines_pass() -> None:
    assert without_secrets(b'{"a":1}\n{"b":2}\n') == '{"a":1}\n{"b":2}\n'
