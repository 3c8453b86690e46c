"""Text encodings, and atomic writes: a file is replaced whole or not at all."""

import codecs
import os
import secrets
from contextlib import suppress
from typing import Final

from understudy.tools.base import ToolError

MAX_WRITE_BYTES: Final = 1024 * 1024

_NEW_FILE_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def decode(content: bytes, *, is_cut: bool = False) -> str:
    """The text of a file, or a `ToolError` when it is binary."""
    # A cut may split a character; the decoder then leaves the incomplete one out.
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        text = decoder.decode(content, final=not is_cut)
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise ToolError("the file is binary or not UTF-8 text", code="not_text")
    return text


def encode(content: str) -> bytes:
    """The bytes to write, or a `ToolError` when they are no valid text or too many."""
    try:
        encoded = content.encode()
    except UnicodeEncodeError:
        raise ToolError("content is not valid Unicode text", code="not_text") from None
    check_size(len(encoded))
    return encoded


def check_size(size: int) -> None:
    """Refuse to write more bytes than a tool may."""
    if size > MAX_WRITE_BYTES:
        raise ToolError(
            f"content has {size} bytes; at most {MAX_WRITE_BYTES} can be written",
            code="file_too_large",
        )


def replace(folder: int, name: str, content: bytes, *, mode: int | None) -> None:
    """Write a temporary file and rename it over the target: readers see the old or the new one.

    A rename replaces a symlink that appeared meanwhile, it does not write through it.
    """
    temporary = f".understudy-{secrets.token_hex(8)}.tmp"
    descriptor = os.open(temporary, _NEW_FILE_FLAGS, 0o666, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            if mode is not None:
                os.fchmod(descriptor, mode)
            stream.write(content)
            stream.flush()
            os.fsync(descriptor)
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)
        raise
    os.fsync(folder)


def size_of(content: bytes) -> str:
    """How long a file is, in words."""
    return "1 byte" if len(content) == 1 else f"{len(content)} bytes"
