"""Which packages a JavaScript or TypeScript file imports, found by reading its words."""

import re
from collections.abc import Iterator
from typing import Final

# Each alternative takes all that it can, up to the end of the file, so that no place is seen twice.
_TOKEN: Final = re.compile(
    r"""
      (?P<comment> //[^\n]* | /\*(?:[^*]|\*(?!/))*+(?:\*/)? | \#![^\n]* )
    | (?P<string> "(?:[^"\\\n]|\\.)*+"? | '(?:[^'\\\n]|\\.)*+'? )
    | (?P<template> `(?:[^`\\]|\\.)*+`? )
    | (?P<word> [A-Za-z_$][\w$]*+ )
    | (?P<number> \d[\w.]*+ )
    | (?P<slash> / )
    | (?P<mark> [^\s\w$] )
    """,
    re.VERBOSE | re.DOTALL,
)
_REGEX: Final = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*+\])++/[a-z]*")
# One that is longer is taken for something else: looking for its end must not take for ever.
_MAX_REGEX: Final = 120
# Behind these a slash begins a pattern; behind anything else it divides.
_BEFORE_REGEX: Final = frozenset({*"(,=:[!&|?{};+-*%<>~^", "return", "typeof", "case"})
_LOADS: Final = frozenset({"import", "export"})
BUILTINS: Final = frozenset(
    {
        *("assert", "async_hooks", "buffer", "child_process", "cluster", "console", "constants"),
        *("crypto", "dgram", "diagnostics_channel", "dns", "domain", "events", "fs", "http"),
        *("http2", "https", "inspector", "module", "net", "os", "path", "perf_hooks", "process"),
        *("punycode", "querystring", "readline", "repl", "stream", "string_decoder", "sys", "test"),
        *("timers", "tls", "trace_events", "tty", "url", "util", "v8", "vm", "wasi"),
        *("worker_threads", "zlib"),
    }
)
_PACKAGE: Final = re.compile(r"(@[A-Za-z0-9][\w.-]*/)?[A-Za-z0-9][\w.-]*(?=/|$)")
# How far the name of a package may stand behind `import` or `export`, in words and marks.
_MAX_CLAUSE: Final = 400

_Token = tuple[str, str]


def javascript_imports(source: str) -> set[str]:
    """The packages that a file needs; its own files and what Node brings are left out."""
    found = (_package(specifier) for specifier in _specifiers(list(_tokens(source))))
    return {name for name in found if name is not None}


def _tokens(source: str) -> Iterator[_Token]:
    at, before = 0, "("
    while (match := _TOKEN.search(source, at)) is not None:
        kind, text, at = str(match.lastgroup), match[0], match.end()
        if kind == "comment":
            continue
        if kind == "slash" and before in _BEFORE_REGEX:
            pattern = _REGEX.match(source, match.start(), match.start() + _MAX_REGEX)
            if pattern is not None:
                kind, text, at = "regex", "/", pattern.end()
        before = text
        yield kind, text


def _specifiers(tokens: list[_Token]) -> Iterator[str]:
    for at, (kind, text) in enumerate(tokens):
        if kind != "word" or (at and tokens[at - 1][1] == "."):
            continue
        if text == "require":
            yield from _called(tokens, at + 1)
        elif text in _LOADS:
            yield from _called(tokens, at + 1) if _is(tokens, at + 1, "(") else _clause(tokens, at)


def _called(tokens: list[_Token], at: int) -> Iterator[str]:
    """`require("x")`, `require.resolve("x")`, `import("x")`."""
    if _is(tokens, at, ".") and _is(tokens, at + 1, "resolve"):
        at += 2
    if _is(tokens, at, "(") and _kind(tokens, at + 1) in {"string", "template"}:
        yield tokens[at + 1][1][1:-1]


def _clause(tokens: list[_Token], at: int) -> Iterator[str]:
    """`import "x"`, `import … from "x"`, `export … from "x"`; types alone need no package."""
    if _kind(tokens, at + 1) == "string" and tokens[at][1] == "import":
        yield tokens[at + 1][1][1:-1]
        return
    if (
        _is(tokens, at + 1, "type")
        and not _is(tokens, at + 2, "from")
        and not _is(tokens, at + 2, ",")
    ):
        return
    for place in range(at + 1, min(at + _MAX_CLAUSE, len(tokens))):
        kind, text = tokens[place]
        if text == "from" and _kind(tokens, place + 1) == "string":
            yield tokens[place + 1][1][1:-1]
            return
        if not (kind == "word" or text in "{},*" or kind == "string") or text in _LOADS:
            return


def _is(tokens: list[_Token], at: int, text: str) -> bool:
    return at < len(tokens) and tokens[at][1] == text


def _kind(tokens: list[_Token], at: int) -> str:
    return tokens[at][0] if at < len(tokens) else ""


def _package(specifier: str) -> str | None:
    match = _PACKAGE.match(specifier)
    # With a colon it is an address, or says itself that Node brings it.
    if match is None or ":" in specifier or len(match[0]) > 200:
        return None
    return None if match[0] in BUILTINS else match[0]
