"""What kind of file something is, and what it may be called."""

import pytest

from understudy.assets.media import (
    DOCUMENTS,
    MAGIC,
    MAX_NAME_CHARS,
    TEXTS,
    MediaKind,
    clean_name,
    kind_of,
    media_type_of,
    sniff,
)
from understudy.core.errors import Invalid

BYTES = {
    "image/png": b"\x89PNG\r\n\x1a\n\x00\x00",
    "image/jpeg": b"\xff\xd8\xff\xe0\x00\x10JFIF",
    "image/gif": b"GIF89a\x01\x00",
    "image/webp": b"RIFF\x24\x00\x00\x00WEBPVP8 ",
    "application/pdf": b"%PDF-1.7\n%",
}


def typed(data: bytes, declared: str | None = None, file_name: str = "file") -> str:
    return media_type_of(data, declared=declared, file_name=file_name)


def refused(data: bytes, declared: str) -> Invalid:
    with pytest.raises(Invalid) as problem:
        typed(data, declared)
    assert problem.value.domain == "assets"
    assert problem.value.errors[0].pointer == "/media_type"
    return problem.value


def test_every_type_with_a_magic_is_tried() -> None:
    assert set(BYTES) == set(MAGIC)


@pytest.mark.parametrize("kind", BYTES)
def test_an_image_or_pdf_is_known_by_its_bytes(kind: str) -> None:
    assert sniff(BYTES[kind]) == kind
    assert typed(BYTES[kind]) == kind
    assert typed(BYTES[kind], kind) == kind
    assert typed(BYTES[kind], "application/octet-stream", "wrong.txt") == kind


@pytest.mark.parametrize("kind", BYTES)
def test_bytes_of_another_type_are_refused(kind: str) -> None:
    others = [data for other, data in BYTES.items() if other != kind]
    for data in (*others, b"hello", b"\x00", b"<svg/>", BYTES[kind][:2]):
        assert refused(data, kind).code == "media_type_mismatch"


@pytest.mark.parametrize("declared", ["text/plain", "application/json", "application/zip"])
def test_an_image_does_not_pass_for_something_else(declared: str) -> None:
    assert refused(BYTES["image/png"], declared).code == "media_type_mismatch"


@pytest.mark.parametrize(
    ("declared", "normal"),
    [
        ("image/JPG", "image/jpeg"),
        (" Image/Jpeg ; q=1", "image/jpeg"),
        ("image/pjpeg", "image/jpeg"),
    ],
)
def test_a_type_goes_by_its_usual_name(declared: str, normal: str) -> None:
    assert typed(BYTES["image/jpeg"], declared) == normal


@pytest.mark.parametrize("declared", ["text/plain; charset=utf-8", "TEXT/plain"])
def test_parameters_and_case_make_no_other_type(declared: str) -> None:
    assert typed(b"hello", declared) == "text/plain"


@pytest.mark.parametrize(
    "declared",
    [
        "",
        " ",
        "png",
        "image/",
        "/png",
        "a b/c",
        "image/png/x",
        "text/pl\nain",
        "é/x",
        "x/" + "y" * 200,
    ],
)
def test_what_is_no_media_type_is_refused(declared: str) -> None:
    assert refused(b"hello", declared).code == "invalid_media_type"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("a.csv", "text/csv"),
        ("A.JSON", "application/json"),
        ("notes.md", "text/markdown"),
        ("notes", "text/plain"),
        ("main.py", "text/plain"),
        ("cat.png", "text/plain"),
    ],
)
def test_an_undeclared_text_goes_by_its_name(name: str, found: str) -> None:
    assert typed(b"a,b\n1,2\n", file_name=name) == found


@pytest.mark.parametrize("data", [b"a\x00b", b"\xff\xfe\xfd", b"\x80abc"])
def test_undeclared_bytes_that_are_no_text_have_no_known_type(data: bytes) -> None:
    assert typed(data, file_name="a.json") == "application/octet-stream"


@pytest.mark.parametrize(
    ("media_type", "kind"),
    [
        ("image/png", MediaKind.IMAGE),
        ("application/pdf", MediaKind.DOCUMENT),
        ("text/html", MediaKind.TEXT),
        ("application/ld+json", MediaKind.TEXT),
        ("image/svg+xml", MediaKind.TEXT),
        ("image/tiff", MediaKind.OTHER),
        ("application/zip", MediaKind.OTHER),
        ("", MediaKind.OTHER),
        *((name, MediaKind.TEXT) for name in sorted(TEXTS)),
        *((name, MediaKind.DOCUMENT) for name in sorted(DOCUMENTS)),
    ],
)
def test_a_type_says_what_a_model_can_do_with_it(media_type: str, kind: MediaKind) -> None:
    assert kind_of(media_type) is kind


@pytest.mark.parametrize(
    ("given", "clean"),
    [
        ("cat.png", "cat.png"),
        ("/home/me/cat.png", "cat.png"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\me\\cat.png", "cat.png"),
        ("a\\b/c\\d", "d"),
        ("  two   words .txt ", "two words .txt"),
        ("line\nbreak\x00\x1b[31m.txt", "line break [31m.txt"),
        ("\u202egnp.exe", "gnp.exe"),
        (".hidden", ".hidden"),
        ("été 猫.png", "été 猫.png"),
    ],
)
def test_a_name_loses_its_path_and_what_cannot_be_shown(given: str, clean: str) -> None:
    assert clean_name(given) == clean


@pytest.mark.parametrize(
    "given", ["", " ", "/", "a/", "..", "../..", "...", "\\", "\x00", "\u202e"]
)
def test_a_name_must_be_left(given: str) -> None:
    with pytest.raises(Invalid) as problem:
        clean_name(given, pointer="/input_items/2/file_name")

    assert problem.value.code == "invalid_file_name"
    assert problem.value.errors[0].pointer == "/input_items/2/file_name"


def test_a_long_name_is_cut_and_keeps_its_extension() -> None:
    cut = clean_name("x" * 4000 + ".png")

    assert len(cut) == MAX_NAME_CHARS
    assert cut.endswith("x.png")
    assert len(clean_name("y." + "x" * 4000)) == MAX_NAME_CHARS
