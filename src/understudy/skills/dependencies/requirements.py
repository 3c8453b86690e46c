"""The requirements of a skill's scripts, found by reading and never by running them."""

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from understudy.skills.bundles.bundle import Bundle
from understudy.skills.bundles.document import Value
from understudy.skills.bundles.manifest import Manifest
from understudy.skills.dependencies.names import Dependency, Manager, check_dependency, is_name
from understudy.skills.dependencies.python_imports import package_of, python_imports

SCRIPTS: Final = "scripts/"
# Depth of folders below scripts/ that are scanned.
MAX_LEVELS: Final = 2
MAX_SCRIPT_BYTES: Final = 256 * 1024
MAX_ALL_BYTES: Final = 512 * 1024
_PYTHON: Final = (".py", ".pyw")
_JAVASCRIPT: Final = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx")
_SHEBANG: Final = re.compile(rb"#![ \t]*/usr/bin/env[ \t]+([^\r\n]{1,200})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirements:
    """Programs, packages and optional dependencies; `skipped` files were too long to read."""

    system: tuple[str, ...] = ()
    pip: tuple[str, ...] = ()
    npm: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()

    @property
    def dependencies(self) -> tuple[Dependency, ...]:
        """All dependencies, programs first."""
        return tuple(
            Dependency(manager=manager, name=name)
            for manager, names in (
                (Manager.SYSTEM, self.system),
                (Manager.PIP, self.pip),
                (Manager.NPM, self.npm),
            )
            for name in names
        )

    @property
    def listed(self) -> tuple[str, ...]:
        """The dependencies in written form: `ffmpeg`, `pip:x`, `npm:y`."""
        return tuple(dependency.label for dependency in self.dependencies)


@dataclass(slots=True)
class _Found:
    """The requirements found so far."""

    needed: set[Dependency] = field(default_factory=set)
    optional: set[Dependency] = field(default_factory=set)
    skipped: list[str] = field(default_factory=list)

    def add(self, manager: Manager, name: str, *, optional: bool = False) -> None:
        if is_name(manager, name):
            found = self.optional if optional else self.needed
            found.add(Dependency(manager=manager, name=name))


def find_requirements(bundle: Bundle, manifest: Manifest) -> Requirements:
    """The requirements of a bundle; `deps` in the front matter replaces, `exclude_deps` removes."""
    found = _scan(bundle) if manifest.deps is None else _Found()
    found.needed.update(map(check_dependency, manifest.deps or ()))
    for name in _bins(manifest.extra.get("requires", "")):
        found.add(Manager.SYSTEM, name)
    without = {label.casefold() for label in manifest.exclude_deps}
    needed = {one for one in found.needed if one.label.casefold() not in without}
    return Requirements(
        system=_names(needed, Manager.SYSTEM),
        pip=_names(needed, Manager.PIP),
        npm=_names(needed, Manager.NPM),
        optional=tuple(sorted(one.label for one in found.optional - found.needed)),
        skipped=tuple(found.skipped),
    )


def _names(needed: set[Dependency], manager: Manager) -> tuple[str, ...]:
    return tuple(sorted({one.name for one in needed if one.manager is manager}, key=str.casefold))


def _bins(requires: Value) -> tuple[str, ...]:
    bins = requires.get("bins", ()) if isinstance(requires, Mapping) else ()
    return tuple(map(str, bins)) if isinstance(bins, tuple) else ()


def _scan(bundle: Bundle) -> _Found:
    found = _Found()
    scripts = {path: data for path, data in bundle.items() if _is_script(path)}
    local = _local_modules(scripts)
    left = MAX_ALL_BYTES
    for path, data in scripts.items():
        _shebang(data, found)
        if not path.endswith((*_PYTHON, *_JAVASCRIPT)):
            continue
        if len(data) > min(left, MAX_SCRIPT_BYTES):
            found.skipped.append(path)
            continue
        left -= len(data)
        text = data.decode(errors="replace")
        if path.endswith(_PYTHON):
            _python(text, local, found)
        else:
            _javascript(text, found)
    return found


def _is_script(path: str) -> bool:
    return path.startswith(SCRIPTS) and path.count("/") <= MAX_LEVELS + 1


def _local_modules(paths: Mapping[str, bytes]) -> frozenset[str]:
    """Names of the skill's own folders and Python modules."""
    parts = [path.split("/") for path in paths]
    folders = {folder for path in parts for folder in path[:-1]}
    modules = {path[-1].rpartition(".")[0] for path in parts if path[-1].endswith(_PYTHON)}
    return frozenset(folders | modules)


def _shebang(data: bytes, found: _Found) -> None:
    match = _SHEBANG.match(data)
    if match is None:
        return
    # The program follows flags and variables.
    words = match[1].decode("ascii", errors="replace").split()
    program = next((word for word in words if not word.startswith("-") and "=" not in word), None)
    if program is not None:
        found.add(Manager.SYSTEM, program)


def _python(text: str, local: frozenset[str], found: _Found) -> None:
    imports = python_imports(text)
    for package in imports.packages:
        found.add(Manager.PIP, package)
    for modules, optional in ((imports.required, False), (imports.optional, True)):
        for module in modules:
            top = module.partition(".")[0]
            if top not in sys.stdlib_module_names and top not in local:
                found.add(Manager.PIP, package_of(module), optional=optional)
    if imports.required or imports.optional or imports.packages:
        found.add(Manager.SYSTEM, "python3")


def _javascript(text: str, found: _Found) -> None:
    packages = javascript_imports(text)
    for package in packages:
        found.add(Manager.NPM, package)
    if packages:
        found.add(Manager.SYSTEM, "node")


# Each alternative consumes as much as it can, so that no position is scanned twice.
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
# A longer regex literal is taken for something else, to bound the search for its end.
_MAX_REGEX: Final = 120
# After these a slash begins a regex literal; after anything else it divides.
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
# Maximum tokens between `import` or `export` and the package name.
_MAX_CLAUSE: Final = 400

_Token = tuple[str, str]


def javascript_imports(source: str) -> set[str]:
    """The npm packages that a file imports, without relative files and built-in modules."""
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
    # A colon means a URL or a built-in module.
    if match is None or ":" in specifier or len(match[0]) > 200:
        return None
    return None if match[0] in BUILTINS else match[0]
