"""Bundles: which files may be in one, how large they may be, and what they are known by."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.skill_texts import companions
from understudy.core.errors import Invalid, LimitExceeded, UnderstudyError
from understudy.guard.texts import is_text
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.bundles.limits import MAX_BUNDLE_BYTES, MAX_FILES, MAX_MANIFEST_BYTES

MANIFEST = b"---\nname: x\n---\n"


def bundle(**files: bytes) -> Bundle:
    return Bundle({"SKILL.md": MANIFEST, **files})


REFUSED = {
    "upwards": "../x",
    "upwards inside": "a/../../x",
    "upwards and back": "a/../b",
    "absolute": "/etc/x",
    "drive": "C:/x",
    "drive with a back-slash": "C:\\x",
    "back-slash": "..\\x",
    "server": "\\\\host\\x",
    "NUL": "a\0b",
    "control": "a\nb",
    "direction of writing": "a\u202egpj.exe",
    "zero width": "a\u200bb",
    "half a character": "a\udc80",
    "trailing dot": "a.",
    "trailing dot of a folder": "a./b",
    "trailing space": "a /b",
    "device": "con",
    "device with an extension": "docs/AUX.tar.gz",
    "device as a folder": "Nul/x",
    "device with a number": "com1.txt",
    "device with a raised number": "LPT\u00b2",
    "device with a space": "prn .txt",
    "empty": "",
    "only dots": "./.",
    "long name": "a" * 256,
    "long name in bytes": "ä" * 128,
    "long path": "/".join(["a" * 200] * 6),
    "too deep": "d/" * 11 + "x",
}


@pytest.mark.parametrize("path", REFUSED.values(), ids=REFUSED.keys())
def test_a_path_that_leads_elsewhere_or_hides_something_is_refused(path: str) -> None:
    with pytest.raises(Invalid) as refused:
        bundle(**{path: b"x"})

    assert refused.value.code == "invalid_skill_path"


@pytest.mark.parametrize(
    "path",
    [
        *(
            "notes..md",
            "a/b..c/d",
            "...hidden",
            ".env.example",
            "d/" * 10 + "x",
            "ünï/文.md",
            "a b.md",
        ),
        *("console.md", "icon", "null.txt", "com.md", "com10", "x.con", ".aux"),
    ],
)
def test_an_unusual_name_is_kept(path: str) -> None:
    assert path in bundle(**{path: b"x"})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a.md", "A.md"),
        ("caf\u00e9.md", "cafe\u0301.md"),
        ("stra\u00dfe", "STRASSE"),
        ("skill.md", "x.md"),
        ("a", "a/b"),
        ("A/b", "a"),
        ("x", "./x"),
        ("a/b", "a//b"),
    ],
)
def test_two_files_that_a_file_system_may_confuse_are_refused(one: str, other: str) -> None:
    with pytest.raises(Invalid):
        bundle(**{one: b"1", other: b"2"})


@pytest.mark.parametrize(
    "path",
    ["__MACOSX/._a.md", "._x", ".DS_Store", "a/.DS_Store", "Thumbs.db", "a/desktop.ini",
     ".Spotlight-V100/x", ".Trashes/y", ".fseventsd/z"],
)  # fmt: skip
def test_what_systems_leave_behind_is_left_out(path: str) -> None:
    assert list(bundle(**{path: b"x"})) == ["SKILL.md"]


def test_an_artifact_that_leads_upwards_is_refused_all_the_same() -> None:
    with pytest.raises(Invalid):
        bundle(**{"__MACOSX/../../x": b""})


def test_a_bundle_needs_its_manifest() -> None:
    with pytest.raises(Invalid) as refused:
        Bundle({"README.md": b"x"})

    assert refused.value.code == "skill_manifest_missing"


@pytest.mark.parametrize(
    ("size", "fits"), [(MAX_MANIFEST_BYTES, True), (MAX_MANIFEST_BYTES + 1, False)]
)
def test_the_manifest_may_have_so_many_bytes(size: int, fits: bool) -> None:
    files = {"SKILL.md": b"x" * size}

    if fits:
        assert Bundle(files).size == size
    else:
        with pytest.raises(LimitExceeded, match=f"{size} bytes"):
            Bundle(files)


def test_the_companions_may_have_so_many_bytes_besides_the_manifest() -> None:
    largest = b"\0" * MAX_BUNDLE_BYTES

    assert bundle(data=largest).size == MAX_BUNDLE_BYTES + len(MANIFEST)
    with pytest.raises(LimitExceeded) as refused:
        bundle(data=largest, more=b"x")
    assert refused.value.code == "bundle_too_large"


def test_there_may_be_so_many_files() -> None:
    files = {f"f{number}": b"" for number in range(MAX_FILES - 1)}

    assert len(bundle(**files)) == MAX_FILES
    with pytest.raises(LimitExceeded):
        bundle(**files, one_more=b"")


def test_the_digest_does_not_depend_on_the_order_of_files() -> None:
    one = Bundle({"SKILL.md": MANIFEST, "a": b"1", "b": b"2"})
    other = Bundle({"b": b"2", "a": b"1", "SKILL.md": MANIFEST})

    assert one == other
    assert list(one) == ["SKILL.md", "a", "b"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": b"1", "b": b"2"}, {"a": b"2", "b": b"1"}),
        ({"a": b"bc"}, {"ab": b"c"}),
        ({"a": b"", "b": b"x"}, {"a": b"x", "b": b""}),
        ({"a": b""}, {}),
    ],
)
def test_bundles_that_differ_have_different_digests(
    one: dict[str, bytes], other: dict[str, bytes]
) -> None:
    assert bundle(**one).digest != bundle(**other).digest


def test_a_bundle_with_another_manifest_keeps_its_companions() -> None:
    old = bundle(a=b"1")
    new = old.with_manifest("---\nname: y\n---\n")

    assert companions(new) == companions(old) == {"a": b"1"}
    assert old.manifest_text == MANIFEST.decode()
    assert new.digest != old.digest


def test_a_manifest_that_is_no_text_cannot_be_read_as_text() -> None:
    with pytest.raises(Invalid) as refused:
        Bundle({"SKILL.md": b"\xff\xfe"}).manifest_text  # noqa: B018

    assert refused.value.code == "skill_not_text"


@pytest.mark.parametrize(
    ("path", "data", "text"),
    [
        ("a.py", b"\xff", True),
        ("run", b"#!/bin/sh\n\xff", True),
        ("LICENSE", b"words", True),
        ("words", ("ä" * 40_000).encode(), True),
        ("odd", b"a" * 65_535 + "ä".encode(), True),
        ("image.png", b"\x89PNG\r\n\0", False),
        ("latin", b"caf\xe9 au lait", False),
        ("empty", b"", True),
    ],
)
def test_text_is_known_by_its_name_or_its_bytes(path: str, data: bytes, text: bool) -> None:
    assert is_text(path, data) is text


@settings(max_examples=100)
@given(st.dictionaries(st.text(max_size=40), st.binary(max_size=20), max_size=6))
def test_no_files_make_anything_but_a_bundle_or_an_error_of_ours(files: dict[str, bytes]) -> None:
    try:
        made = Bundle({"SKILL.md": MANIFEST, **files})
    except UnderstudyError:
        return
    assert all(".." not in path.split("/") and not path.startswith("/") for path in made)
