"""Tells what nobody can read before it runs: programs, compiled scripts, packed ones."""

from typing import Final

# How compiled programs begin: Linux, Windows, macOS (four orders), Java and WebAssembly.
_PROGRAMS: Final = (
    b"\x7fELF", b"MZ\x90", b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xfe\xed\xfa\xcf", b"\xca\xfe\xba\xbe", b"\0asm",
)  # fmt: skip
# Compiled Python begins with its version, the end of a line, and flags that are mostly zero.
_PYTHON_3: Final = frozenset({0x0C, 0x0D, 0x0E})
_LINE_END: Final = b"\r\n"
_BYTECODE_NAMES: Final = (".pyc", ".pyo")
_CACHE: Final = "__pycache__"
_BY_TIME: Final = bytes(4)
# Python runs any file that has such an archive at its end.
_ARCHIVE_END: Final = b"PK\x05\x06"
_ARCHIVE_END_WITHIN: Final = 65_557
_STARTS_IN: Final = b"__main__.py"


def is_program(content: bytes) -> bool:
    """Whether it is compiled for a machine."""
    return content.startswith(_PROGRAMS)


def is_bytecode(path: str, content: bytes) -> bool:
    """Whether it is a script that was compiled, other than those Python leaves behind."""
    flags = content[4:8]
    if path.lower().endswith(_BYTECODE_NAMES):
        # Python leaves these behind by itself, and takes no notice of one that is not from the very
        # moment of its source. One with other flags it would trust.
        return not (_CACHE in path.split("/") and flags == _BY_TIME)
    return content[2:4] == _LINE_END and content[1] in _PYTHON_3 and b"\0" in flags


def is_packed(content: bytes) -> bool:
    """Whether it is an archive that Python would run."""
    return _ARCHIVE_END in content[-_ARCHIVE_END_WITHIN:] and _STARTS_IN in content
