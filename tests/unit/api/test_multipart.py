"""Forms with files: what is taken, and what is refused."""

import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.api.multipart import read_form
from understudy.core.errors import Invalid

KNOWN = frozenset({"file", "slug"})
KIND = "multipart/form-data; boundary=XX"


def part(name: str, data: bytes, more: str = "") -> bytes:
    head = f'--XX\r\nContent-Disposition: form-data; name="{name}"{more}\r\n\r\n'
    return head.encode() + data + b"\r\n"


def refusal(kind: str, body: bytes) -> tuple[str, list[str]]:
    with pytest.raises(Invalid) as problem:
        read_form(kind, body, KNOWN)
    return problem.value.code, [error.pointer for error in problem.value.errors]


def test_a_form_is_read_into_its_fields() -> None:
    file = part("file", b"\0\r\n--X\xff", '; filename="a.zip"')
    form = read_form(KIND, file + part("slug", b"weekly") + b"--XX--\r\n", KNOWN)
    assert form.fields == {"file": b"\0\r\n--X\xff", "slug": b"weekly"}


def test_two_forms_that_say_the_same_have_the_same_digests() -> None:
    one = read_form(KIND, part("file", b"a", '; filename="a.zip"') + b"--XX--", KNOWN)
    body = (part("file", b"a") + b"--XX--").replace(b"XX", b"other")
    again = read_form("multipart/form-data; boundary=other", body, KNOWN)
    different = read_form(KIND, part("file", b"b") + b"--XX--", KNOWN)
    assert one.digests == again.digests != different.digests


def test_nothing_is_a_form_without_fields() -> None:
    assert read_form("", b"", KNOWN).fields == {}


@pytest.mark.parametrize(
    ("kind", "body", "code"),
    [
        ("application/json", b"{}", "unsupported_media_type"),
        ("", b"x", "unsupported_media_type"),
        ("multipart/mixed; boundary=XX", part("file", b"a"), "unsupported_media_type"),
        ("multipart/form-data", part("file", b"a") + b"--XX--", "malformed_form"),
        ('multipart/form-data; boundary=""', part("file", b"a") + b"--XX--", "malformed_form"),
        ("multipart/form-data; boundary=" + "X" * 5000, b"--XX--", "malformed_form"),
        (KIND, b"--YY\r\n\r\n--YY--", "malformed_form"),
        (KIND, part("file", b"cut off"), "malformed_form"),
        (KIND, b"--XX\r\nno colon\r\n\r\na\r\n--XX--", "malformed_form"),
        (KIND, b"--XX\r\n\r\na\r\n--XX--", "unknown_field"),
    ],
)
def test_what_is_no_form_is_refused(kind: str, body: bytes, code: str) -> None:
    assert refusal(kind, body)[0] == code


def test_a_field_that_nobody_asked_for_is_refused_by_name() -> None:
    assert refusal(KIND, part("owner_id", b"bob") + b"--XX--") == ("unknown_field", ["/owner_id"])


def test_a_field_that_is_there_twice_is_refused() -> None:
    twice = part("file", b"a") + part("file", b"b") + b"--XX--"
    assert refusal(KIND, twice) == ("repeated_field", ["/file"])


@pytest.mark.parametrize("filler", [b"\r", b"\r\n", b"\r\n--X", b"\r\n-", b"-", b"x"])
def test_no_content_takes_long(filler: bytes) -> None:
    content = filler * (4 * 1024 * 1024 // len(filler))
    started = time.process_time()
    form = read_form(KIND, part("file", content) + b"--XX--", KNOWN)
    assert form.fields["file"] == content
    assert time.process_time() - started < 2


@given(body=st.lists(st.sampled_from([b"--XX", b"--", b"\r\n", b'name="file"', b":", b"a", b"\0"])))
def test_no_body_raises_anything_but_our_errors(body: list[bytes]) -> None:
    head = b'--XX\r\nContent-Disposition: form-data; name="file"'
    for whole in (b"".join(body), head + b"".join(body)):
        with suppress(Invalid):
            read_form(KIND, whole, KNOWN)
