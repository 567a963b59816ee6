"""The grammar of single values: what is taken, what it means, and what is refused in words."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from huggingface_hub.errors import HfUriError
from huggingface_hub.utils._hf_uris import parse_hf_mount
from huggingface_hub.utils._validators import validate_repo_id
from hypothesis import assume, example, given
from hypothesis import strategies as st

from hf_train.inputs import grammar
from hf_train.values import LocalVolume, Volume


@pytest.mark.case(16)
@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30m", 1800),
        ("1.5h", 5400),
        ("90", 90),
        ("90s", 90),
        ("1d", 86400),
        ("30 m", 1800),
        ("1h30m", 5400),
        ("1h 30m", 5400),
        (" 2H ", 7200),
        ("1d12h", 129_600),
        ("30d", 30 * 86400),
        ("1", 1),
    ],
)
def test_a_duration_means_seconds(text: str, seconds: int) -> None:
    assert grammar.duration(text) == seconds


@pytest.mark.case(16)
@pytest.mark.parametrize(
    "text",
    ["0", "-5", "2w", "1e3", "abc", "", "m", "1.h", ".5h", "1h1h", "31d", "0.5s", "9" * 400, "1 30m", "3 0",
     "\u0663m", "1:30", "30m;rm", "30m\n2h x", "inf", "nan", "0x10"],
)  # fmt: skip
def test_what_is_no_duration_is_refused_and_quoted(text: str) -> None:
    with pytest.raises(ValueError, match=r"duration|between") as caught:
        grammar.duration(text)
    assert repr(text) in str(caught.value)


@given(st.integers(1, 23), st.integers(1, 59), st.integers(1, 59))
def test_parts_of_a_duration_add_up(hours: int, minutes: int, seconds: int) -> None:
    assert grammar.duration(f"{hours}h{minutes}m{seconds}s") == hours * 3600 + minutes * 60 + seconds


@pytest.mark.case(16)
@pytest.mark.parametrize("text", ["true", "TRUE", " false "])
def test_a_boolean_is_one_of_two_words(text: str) -> None:
    assert grammar.boolean(text) is (text.strip().lower() == "true")


@pytest.mark.case(16)
@pytest.mark.parametrize("text", ["", "yes", "1", "0", "on", "truthy", "'true'"])
def test_what_only_looks_like_a_boolean_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="neither true nor false"):
        grammar.boolean(text)


@pytest.mark.parametrize("text", ["0", "-1", "101", "1.0", "1e1", "", "9" * 5000, "\u0663"])
def test_a_count_is_a_whole_number_up_to_a_hundred(text: str) -> None:
    assert grammar.positive_int("7") == 7
    with pytest.raises(ValueError, match="whole number"):
        grammar.positive_int(text)


@pytest.mark.parametrize("text", ["-1", "5 USD", "$5", "1e3", "inf", "nan", "9" * 400, "1_0", ""])
def test_an_amount_is_digits_and_never_infinite(text: str) -> None:
    assert grammar.money("2.50") == 2.5
    assert grammar.money("0") == 0
    with pytest.raises(ValueError, match="amount"):
        grammar.money(text)


@pytest.mark.case(15)
@pytest.mark.parametrize(
    "text",
    ["python:3.12", "ghcr.io/a/b:1", "localhost:5000/x@sha256:" + "a" * 64, "hf.co/spaces/alice/demo", "a/b+c"],
)
def test_an_image_reference(text: str) -> None:
    assert grammar.image(text) == text


@pytest.mark.case(15)
@pytest.mark.parametrize("text", ["--flavor", "-x", "a b", "", "a\nb", "$(id)", "a;b", "é"])
def test_a_lost_option_is_no_image(text: str) -> None:
    with pytest.raises(ValueError, match="not an image"):
        grammar.image(text)


@pytest.mark.parametrize(("text", "good"), [("a10g-small", True), ("h200x8", True), ("-x", False), ("A10G", False)])
def test_a_flavor_name(text: str, good: bool) -> None:
    if good:
        assert grammar.flavor(text) == text
    else:
        with pytest.raises(ValueError, match="not a flavor"):
            grammar.flavor(text)


@given(st.from_regex(r"[A-Za-z0-9._-]{1,8}/[A-Za-z0-9._-]{1,8}(\.git)?", fullmatch=True))
def test_a_repo_id_is_one_for_the_library_too(text: str) -> None:
    try:
        grammar.repo(text)
    except ValueError:
        return
    validate_repo_id(text)


@pytest.mark.parametrize(
    "text",
    [
        "alice",
        "alice/m/x",
        "a/b--c",
        "a/b..c",
        "a/b.",
        "a-/b",
        "a/b.git",
        "/m",
        "alice/",
        "a b/c",
        "-a/b",
        "alice/" + "x" * 97,
    ],
)
def test_a_repo_id_has_an_owner_and_a_name(text: str) -> None:
    assert grammar.repo("alice/m.1_x-y") == "alice/m.1_x-y"
    with pytest.raises(ValueError, match="OWNER/NAME"):
        grammar.repo(text)


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\n")))
def test_the_value_of_an_assignment_is_kept_byte_for_byte(value: str) -> None:
    assert grammar.assignment(f"LR={value}") == ("LR", value)


@pytest.mark.parametrize("text", ["LR", "=1", "1A=2", "A-B=1", "A B=1"])
def test_an_assignment_has_a_name(text: str) -> None:
    with pytest.raises(ValueError, match=r"KEY=VALUE|name of an environment"):
        grammar.assignment(text)


@pytest.mark.case(7)
@pytest.mark.parametrize("name", ["HF_TOKEN", "WANDB_API_KEY", "AWS_SECRET_ACCESS_KEY", "PASSWORD", "my_secret"])
def test_what_is_named_like_a_secret_may_not_stand_in_clear(name: str) -> None:
    with pytest.raises(ValueError, match="looks like a secret"):
        grammar.assignment(f"{name}=x")


@pytest.mark.parametrize(
    ("text", "path"), [("/data", "/data"), ("/data/", "/data"), ("//a//b/.", "/a/b"), ("/a b", "/a b")]
)
def test_a_mount_is_an_absolute_path(text: str, path: str) -> None:
    assert grammar.mount(text) == path


@pytest.mark.parametrize("text", ["data", "/", "//", "/a/../b", "/a:b", "/a\nb", "/a\0", "/a\x1b[0m", ""])
def test_what_is_no_mount_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a mount path"):
        grammar.mount(text)


# ---- volumes, beside the library's own reader ----

_NAME = st.from_regex(r"[A-Za-z0-9]([._-]?[A-Za-z0-9_]){0,20}", fullmatch=True).filter(lambda name: name[-4:] != ".git")
_SEGMENT = st.from_regex(r"[A-Za-z0-9_.@ +=,%~-]{1,12}", fullmatch=True).filter(lambda text: text not in {".", ".."})
_REVISION = st.one_of(
    st.none(),
    st.sampled_from(["main", "refs/pr/3", "refs/convert/parquet", "refs/heads/x", "feature/a b", "v1.0", "pr/1"]),
    st.from_regex(r"[A-Za-z0-9._/-]{1,20}", fullmatch=True),
)  # fmt: skip
_PATH = st.lists(_SEGMENT, max_size=3).map("/".join)
_MOUNT = st.lists(st.from_regex(r"[A-Za-z0-9_. -]{1,8}", fullmatch=True), min_size=1, max_size=3).map(
    lambda parts: "/" + "/".join(parts)
)


@st.composite
def _volumes(draw: st.DrawFn) -> Volume:
    kind = draw(st.sampled_from(["bucket", "model", "dataset", "space"]))
    mount = draw(_MOUNT)
    assume(not any(part in {".", ".."} for part in mount.split("/")))
    return Volume(
        kind=kind,  # type: ignore[arg-type]
        source=f"{draw(_NAME)}/{draw(_NAME)}",
        mount=mount,
        read_only=draw(st.sampled_from([None, True, False] if kind == "bucket" else [None, True])),
        path=draw(_PATH),
        revision=None if kind == "bucket" else draw(_REVISION),
    )


@given(_volumes())
@example(Volume(kind="model", source="a/b", mount="/m", revision="refs/heads/x", path="y"))
@example(Volume(kind="dataset", source="a/b", mount="/m", revision="refs/pr/3", path="pr/4"))
def test_a_volume_survives_its_own_option(volume: Volume) -> None:
    assert grammar.volume(volume.as_option()) == volume


@given(_volumes())
def test_a_volume_is_read_as_the_library_reads_it(volume: Volume) -> None:
    theirs = parse_hf_mount(volume.as_option())
    ours = grammar.volume(volume.as_option())
    assert isinstance(ours, Volume)
    assert (ours.kind, ours.source, ours.revision, ours.path) == (
        theirs.source.type,
        theirs.source.id,
        theirs.source.revision,
        theirs.source.path_in_repo,
    )
    assert (ours.mount, ours.read_only) == (theirs.mount_path, theirs.read_only)


_PIECES = st.lists(
    st.sampled_from(
        ["hf://", "models", "datasets", "buckets", "bucket", "kernels", "/", "//", "a", "b-c", "@", "refs/pr/1",
         "refs/pr/x", "refs", "main", "%2F", "..", ":", ":/data", "/m", ":ro", ":rw", " ", "x@y"]
    ),
    max_size=9,
).map("".join)  # fmt: skip


@given(_PIECES)
@example("hf://a/b@refs/pr/x/y:/m")
@example("hf://kernels/a/b:/m")
def test_what_we_take_the_library_takes_and_means_the_same(text: str) -> None:
    try:
        ours = grammar.volume(text)
    except ValueError:
        return
    if isinstance(ours, LocalVolume):
        assert not text.startswith("hf://")
        return
    try:
        theirs = parse_hf_mount(text)
    except HfUriError as error:
        raise AssertionError(f"{text!r} is taken by us and refused by hf: {error}") from error
    assert (ours.kind, ours.source, ours.revision) == (theirs.source.type, theirs.source.id, theirs.source.revision)
    assert ours.path == theirs.source.path_in_repo.strip("/")
    assert ours.read_only == theirs.read_only


@pytest.mark.parametrize(
    ("text", "volume"),
    [
        ("./dir:/dir", LocalVolume(folder="./dir", mount="/dir", read_only=True)),
        ("dir:/dir:rw", LocalVolume(folder="dir", mount="/dir", read_only=False)),
        ("a:b:/dir:ro", LocalVolume(folder="a:b", mount="/dir", read_only=True)),
    ],
)
def test_a_local_folder_is_read_only_unless_told(text: str, volume: LocalVolume) -> None:
    assert grammar.volume(text) == volume


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("hf://buckets/a/b", "no mount path|not a mount"),
        ("/data", "no mount path"),
        (":/data", "no mount path"),
        ("hf://bucket/a/b:/x", "plural"),
        ("hf://kernels/a/b:/x", "kernel"),
        ("hf://datasets/a:/x", "OWNER/NAME"),
        ("hf://a/b@:/x", "empty revision"),
        ("hf://buckets/a/b@main:/x", "no revisions"),
        ("hf://datasets/a/b:/x:rw", "only a bucket"),
        ("hf://datasets/a/b:x", "not a mount path"),
        ("hf://datasets/a/../b:/x", "OWNER/NAME"),
    ],
)
def test_a_bad_volume_is_refused_in_words(text: str, word: str) -> None:
    with pytest.raises(ValueError, match=word):
        grammar.volume(text)


def test_a_revision_with_a_slash_is_quoted_where_the_library_would_cut_it() -> None:
    volume = Volume(kind="model", source="a/b", mount="/m", revision="feature/x")
    assert volume.as_option() == f"hf://models/a/b@{quote('feature/x', safe='')}:/m"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("none", "none"),
        ("run:16588214930", "run:16588214930"),
        (f"job:{'6' * 24}", f"job:{'6' * 24}"),
        ("branch:release/1", "branch:release/1"),
        ("tag:v1.0", "tag:v1.0"),
        ("commit:abc1234", "commit:abc1234"),
        (f"commit:{'a' * 40}", f"commit:{'a' * 40}"),
        ("model:alice/best", "model:alice/best"),
        ("model:alice/best@v1", "model:alice/best@v1"),
        ("model:alice/best@refs/pr/3", "model:alice/best@refs/pr/3"),
        ("metrics/base.json", "file:metrics/base.json"),
        ("file:base", "file:base"),
    ],
)
def test_baselines(text: str, meant: str) -> None:
    assert grammar.baseline(text) == meant


@pytest.mark.parametrize(
    "text",
    [
        "main",
        "release/1",
        "brnch:main",
        "branch:",
        "branch:a b",
        "branch:a..b~1",
        "run:abc",
        "run:",
        "job:123",
        f"job:{'g' * 24}",
        "commit:abc",
        "commit:main",
        f"commit:{'a' * 41}",
        "tag:",
        "model:best",
        "model:alice/best@",
        "model:alice/best@a b",
        "file:",
        "None",
        "none:1",
    ],
)
def test_what_is_no_baseline_gets_the_whole_grammar(text: str) -> None:
    with pytest.raises(ValueError, match=r"write run:ID .*, job:ID, branch:NAME, .*model:.*, or none"):
        grammar.baseline(text)
