"""`images/pins.toml`."""

from __future__ import annotations

from datetime import date

import pytest

from hf_train.images.pins import Pin, read_pins, write_pins
from support.paths import ROOT

DIGEST = f"sha256:{'a' * 64}"
PIN = Pin(name="trl", reference="huggingface/trl:latest", digest=DIGEST, date=date(2026, 12, 2), size=9, cuda="12.8")


def test_what_is_written_is_read_back() -> None:
    pins = (
        PIN,
        Pin(name="uv", reference="ghcr.io/astral-sh/uv:x", digest=DIGEST, date=date(2026, 1, 1), python="3.12"),
    )
    assert read_pins(write_pins(pins)) == pins


def test_a_pin_is_an_image_by_digest() -> None:
    assert PIN.image == f"huggingface/trl@{DIGEST}"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("trl = 1", "not the name of an image"),
        ('["a b"]\nreference="a:b"', "not the name of an image"),
        ("[trl]\nreference='a:b'", "date, digest missing"),
        (f"[trl]\nreference='a:b'\ndigest='{DIGEST}'\ndate='2026'", "date is not what a pin has"),
        (f"[trl]\nreference='a:b'\ndigest='{DIGEST}'\ndate=2026-12-02\nx=1", "x is not what a pin has"),
        (f"[trl]\nreference='a'\ndigest='{DIGEST}'\ndate=2026-12-02", "no tag to follow"),
        ("[trl]\nreference='a:b'\ndigest='sha256:1'\ndate=2026-12-02", "64 hex digits"),
        ("[trl", "Expected"),
    ],
)
def test_what_is_wrong_is_said(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read_pins(text)


def test_our_own_file_is_in_order() -> None:
    text = (ROOT / "images" / "pins.toml").read_text(encoding="utf-8")
    pins = read_pins(text)
    assert write_pins(pins) == text
    assert {"base", "transformers", "trl", "axolotl", "unsloth", "uv"} <= {pin.name for pin in pins}
    assert [pin.name for pin in pins] == sorted(pin.name for pin in pins)
