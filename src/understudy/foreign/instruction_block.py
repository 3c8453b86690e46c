"""The marked block of an instruction file: standing learnings, and what people changed in it."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from understudy.core.errors import coded_error
from understudy.core.text import one_line
from understudy.learnings.model import Learning

BEGIN: Final = "<!-- understudy:begin -->"
END: Final = "<!-- understudy:end -->"
_HEAD: Final = (
    BEGIN,
    "## Reviewed memory",
    "",
    "Written by `understudy publish`: change a line here, and it comes back as a proposal for review.",
    "",
)
_ENTRY: Final = re.compile(r"[-*+]\s+(?P<text>.*?)\s*(?:<!-- (?P<id>lrn_[\w-]{1,80}) -->)?")
# What would end a comment, or begin one, is written so that it does neither.
_COMMENT: Final = re.compile(r"<(?=!--)|-(?=->)")


class Edit(NamedTuple):
    """A line that a person wrote into the block."""

    text: str
    # The learning that the line was made of; None for a new one.
    learning_id: str | None


def block_of(learnings: Sequence[Learning]) -> str:
    """The block, from marker to marker."""
    entries = (f"- {line_of(it)} <!-- {it.learning_id} -->" for it in learnings)
    return "\n".join((*_HEAD, *entries, END))


def line_of(learning: Learning) -> str:
    """A learning on one line, with nothing that ends the block or a comment."""
    return _COMMENT.sub(lambda found: f"{found[0]}\\", one_line(learning.content))


def digest_of_block(block: str) -> str:
    """The digest of a block, the same with either kind of line ends."""
    return digest(block.replace("\r\n", "\n").encode())


def digest(content: bytes) -> str:
    """The digest of a file, as the lock has it."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def split(path: str, content: bytes) -> tuple[bytes, str | None, bytes]:
    """What stands before the block, the block, and what stands behind it; refuses half a block."""
    begin, end = BEGIN.encode(), END.encode()
    counts = (content.count(begin), content.count(end))
    start, stop = content.find(begin), content.find(end) + len(end)
    if counts == (0, 0):
        return content, None, b""
    if counts != (1, 1) or stop <= start:
        raise coded_error("foreign/damaged_block", path=path)
    try:
        return content[:start], content[start:stop].decode(), content[stop:]
    except UnicodeDecodeError:
        raise coded_error("foreign/damaged_block", path=path) from None


def with_block(path: str, content: bytes | None, block: str) -> bytes:
    """A file with this block; everything around it stays as it is, byte for byte."""
    before, old, behind = split(path, content or b"")
    if old is not None:
        return before + block.encode() + behind
    gap = b"\n" if before and not before.endswith(b"\n") else b""
    return before + gap + block.encode() + b"\n"


def edits(block: str, known: Mapping[str, Learning]) -> Iterator[Edit]:
    """The lines that say something else than the learnings that they were made of."""
    for line in block.splitlines():
        if not line.strip() or line.strip() in (*_HEAD, END):
            continue
        found = _ENTRY.fullmatch(line.strip())
        text, learning_id = (found["text"], found["id"]) if found else (line.strip(), None)
        learning = known.get(learning_id or "")
        # A learning that is gone was erased: its text must not come back.
        is_gone = learning_id is not None and learning is None
        if text and not is_gone and not (learning and line_of(learning) == text):
            yield Edit(text, learning_id)


def ids_in(block: str) -> list[str]:
    """The learnings that the lines of a block name."""
    found = (_ENTRY.fullmatch(line.strip()) for line in block.splitlines())
    return [each["id"] for each in found if each and each["id"]]
