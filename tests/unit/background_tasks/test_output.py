"""What a command prints is cut where no secret is split, and kept in bounds."""

import pytest

from understudy.background_tasks.model import OutputPiece
from understudy.background_tasks.output import (
    LABEL_CHARS,
    MAX_LINE_CHARS,
    MAX_PENDING_CHARS,
    PendingOutput,
)
from understudy.redaction.scrub import scrub

KEY = "sk-" + "proj-" + "0123456789abcdefghijABCDEFGHIJ"
BLOCK = "-----BEGIN " + "PRIVATE KEY-----\n" + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n" * 20
BLOCK_END = "-----END " + "PRIVATE KEY-----\n"


def stored(*chunks: bytes) -> list[OutputPiece]:
    """What is stored when each chunk comes between two looks."""
    output, pieces = PendingOutput(scrub), []
    for number, chunk in enumerate(chunks, start=1):
        output.add(chunk)
        text = output.release(is_end=number == len(chunks))
        if text:
            pieces.append(output.place(scrub(text)))
    return pieces


def text_of(pieces: list[OutputPiece]) -> str:
    return "".join(piece.text for piece in pieces)


@pytest.mark.parametrize("cut", range(1, len(KEY), 7))
def test_a_secret_that_comes_in_two_chunks_is_found(cut: int) -> None:
    line = f"key {KEY} is new\n"
    pieces = stored(b"one\n" + line[: 4 + cut].encode(), line[4 + cut :].encode())
    assert KEY not in text_of(pieces)
    assert text_of(pieces).startswith("one\nkey <redacted")


def test_a_block_of_a_key_is_held_back_until_it_is_whole() -> None:
    pieces = stored(b"one\n" + BLOCK[:200].encode(), BLOCK[200:].encode(), BLOCK_END.encode())
    assert "MIIEvQ" not in text_of(pieces)
    assert pieces[0].text == "one\n"


@pytest.mark.parametrize("label", ["password:", "api_key =", "password: |", "password:\n"])
def test_a_label_waits_for_the_line_that_may_hold_its_secret(label: str) -> None:
    value = "hunter2" + "Secret99x"
    pieces = stored(
        f"one\n{label}\n".encode(), f"  {value[:6]}".encode(), f"{value[6:]}\n".encode()
    )
    assert pieces[0].text == "one\n"
    assert value not in text_of(pieces)


def test_characters_that_come_in_two_chunks_stay_whole_and_odd_ones_are_replaced() -> None:
    word = "việc 后台\n".encode()
    assert text_of(stored(word[:3], word[3:9], word[9:])) == "việc 后台\n"
    assert text_of(stored(b"a\0b\xff\n")) == "a\ufffdb\ufffd\n"


def test_a_progress_bar_is_stored_before_its_line_ends() -> None:
    assert [piece.text for piece in stored(b"10 %\r20 %\r30", b" %\n")] == [
        "10 %\r20 %\r",
        "30 %\n",
    ]


def test_a_long_line_is_released_up_to_a_space() -> None:
    long = "word " * (MAX_LINE_CHARS // 4)
    first, last = stored(long.encode() + b"rest", b" of it\n")
    assert first.text.endswith("word ")
    assert len(first.text) > MAX_LINE_CHARS // 2
    assert first.text + last.text == long + "rest of it\n"


@pytest.mark.parametrize("label", ["password: ", "the password is ", "Authorization: Bearer "])
@pytest.mark.parametrize("back", [0, 8, 20, LABEL_CHARS - 5, LABEL_CHARS, LABEL_CHARS + 30])
def test_a_long_line_is_not_cut_between_a_label_and_its_value(label: str, back: int) -> None:
    """Wherever the label stands before the end of what has come so far."""
    value = "hunter2" + "Secret99x" + "abcdefgh"
    line = "word " * (MAX_LINE_CHARS // 4) + label + value + " more" * 1000
    cut = line.index(value) + back
    pieces = stored(line[:cut].encode(), line[cut:].encode(), b"\n")
    assert len(pieces) > 1
    assert value not in text_of(pieces)
    assert text_of(pieces) == scrub(line + "\n")


def test_more_than_can_be_kept_is_dropped_up_to_the_end_of_a_line() -> None:
    lines = "".join(f"{number:09}\n" for number in range(2 * MAX_PENDING_CHARS // 10))
    [piece] = stored(lines.encode())
    assert piece.text == lines[piece.start :]
    assert len(piece.text) <= MAX_PENDING_CHARS
    assert piece.end == len(lines)


def test_half_a_secret_is_never_stored() -> None:
    """The cut goes through a key: what is left of its line is dropped as well."""
    tail = "x" * (MAX_PENDING_CHARS - 20)
    [piece] = stored(f"before {KEY}\n{tail}".encode(), b"\nend\n")
    assert KEY[-10:] not in piece.text
    assert piece.text.endswith("end\n")


def test_where_a_piece_begins_counts_what_was_dropped_before_it() -> None:
    line = ("y" * 999 + "\n").encode()
    first, second = stored(b"one\n", line * (MAX_PENDING_CHARS // 1000 + 50))
    assert first == OutputPiece(start=0, text="one\n")
    total = 4 + 1000 * (MAX_PENDING_CHARS // 1000 + 50)
    assert second.end == total
    assert second.start > first.end
