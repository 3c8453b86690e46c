"""Patterns that a model gives, read by an engine whose time grows with the text alone."""

from typing import Any, Final

import re2

from understudy.patterns.linear import options
from understudy.tools.base import ToolError

# Bounds the program a pattern becomes, and so the work per byte.
_MAX_MEMORY: Final = 256 * 1024

# `^` and `$` are the ends of lines.
_BY_LINE: Final = "(?m)"
# What stands for something in a glob, longest first.
_GLOB_MARKS: Final = (("**/", r"(?:.*/)?"), ("**", r".*"), ("*", r"[^/]*"), ("?", r"[^/]"))


def compile_pattern(text: str, *, is_regex: bool, ignore_case: bool) -> Any:
    """A pattern that is searched for in bytes, line by line."""
    try:
        return re2.compile(
            _BY_LINE + text if is_regex else text,
            _options(literal=not is_regex, case_sensitive=not ignore_case, never_nl=True),
        )
    except re2.error as problem:
        reason = problem.args[0] if problem.args else "it cannot be read"
        said = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        said = said.replace(_BY_LINE, "", 1)[:200]
        raise ToolError(f"the regular expression is wrong: {said}", code="bad_pattern") from None


def compile_glob(glob: str) -> Any:
    """A glob that is matched against whole paths, as bytes; without '/' against names."""
    pattern, rest = "", glob
    while rest:
        mark, meaning = next(
            (pair for pair in _GLOB_MARKS if rest.startswith(pair[0])),
            (rest[0], re2.escape(rest[0])),
        )
        pattern, rest = pattern + meaning, rest[len(mark) :]
    return re2.compile(f"(?s){pattern}", _options())


def _options(**changed: bool) -> Any:
    chosen = options(_MAX_MEMORY)
    chosen.never_capture = True
    for name, value in changed.items():
        setattr(chosen, name, value)
    return chosen
