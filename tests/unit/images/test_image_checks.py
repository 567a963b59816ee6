"""The checks of `image verify`: what the script says is read, what an image prints beside it is not believed."""

from __future__ import annotations

import pytest

from hf_train.images.checks import Check, Wish, read_checks, script, user_script, why_not_started


def test_each_wish_is_one_more_line() -> None:
    assert "torchrun" not in script(Wish())
    whole = script(Wish(library="trl", multi_gpu=True, uv=True))
    assert "try trl python3" in whole
    assert "command -v torchrun" in whole
    assert "try uv uv --version" in whole


def test_a_library_is_no_shell_code() -> None:
    assert "try '$(touch x)' python3" in script(Wish(library="$(touch x)"))


def test_only_whole_lines_of_ours_count() -> None:
    lines = [
        "hft-check\tpython3\tok\t3.12.1",
        "x hft-check\ta\tok\t",
        "hft-check\ta\tmaybe\t",
        "hft-check\tHOME\tno\tdenied ",
    ]
    assert read_checks(lines) == [
        Check(name="python3", ok=True, detail="3.12.1"),
        Check(name="HOME", ok=False, detail="denied"),
    ]
    assert not read_checks(["hft-check\ta\tno\t"], required=False)[0].required


def test_another_user_is_asked_about_writing_only() -> None:
    assert user_script().count("try 'writable") == 2
    assert "python3" not in user_script()


@pytest.mark.case(118, 120)
@pytest.mark.parametrize(
    ("words", "name", "detail"),
    [
        ("exec /bin/sh: exec format error", "platform", "another machine"),
        ('exec: "/bin/sh": stat /bin/sh: no such file or directory: unknown.', "shell", "there is no /bin/sh"),
        ("something else", "shell", "something else"),
    ],
)
def test_an_image_that_does_not_start(words: str, name: str, detail: str) -> None:
    found = why_not_started(words)
    assert (found.name, found.ok) == (name, False)
    assert detail in found.detail
