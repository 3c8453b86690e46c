"""Scans what a skill says and holds; nothing of it is ever run."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Final

from understudy.core.linear import has
from understudy.guard.book import rule_book
from understudy.guard.detectors import DETECTORS
from understudy.guard.joins import Reading, joined_findings
from understudy.guard.places import MANIFEST_NAME, place_of, text_of
from understudy.guard.reading import views_of
from understudy.guard.rule import Category, Finding, Place, Rule
from understudy.guard.search import Matcher, compiled
from understudy.guard.typosquats import typosquats
from understudy.guard.view import View

# How compiled programs begin: Linux, Windows, macOS (four orders), Java and WebAssembly.
_PROGRAMS: Final = (
    b"\x7fELF", b"MZ\x90", b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xfe\xed\xfa\xcf", b"\xca\xfe\xba\xbe", b"\0asm",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class _File:
    """One file of the bundle that holds text."""

    path: str
    text: str

    @cached_property
    def place(self) -> Place:
        return place_of(self.path, self.text)

    @cached_property
    def views(self) -> Sequence[View]:
        return views_of(self.text)


def scan_text(text: str, path: str = MANIFEST_NAME) -> tuple[Finding, ...]:
    """Every line of one text that may not be there."""
    return scan_bundle({path: text.encode("utf-8", "replace")})


def scan_bundle(files: Mapping[str, bytes]) -> tuple[Finding, ...]:
    """Every line of a skill's files that may not be there, alone or with what another one says."""
    found: set[Finding] = set()
    readings: list[Reading] = []
    for path, content in sorted(files.items()):
        found |= set(_odd_files(path, content))
        text = text_of(path, content)
        if text is None:
            continue
        file = _File(path=path, text=text)
        found |= set(_in_file(file))
        readings.append(Reading(path=path, place=file.place, views=file.views))
    found |= set(joined_findings(readings))
    return tuple(sorted(found, key=lambda one: (one.path, one.line, one.rule_id)))


def _in_file(file: _File) -> Iterator[Finding]:
    for rule in rule_book().rules:
        if file.place in rule.places and _reads(rule, file.path):
            for line in sorted(set(_lines(rule, file))):
                yield finding(rule, file.path, line)


def _lines(rule: Rule, file: _File) -> Iterable[int]:
    if rule.detector == "typosquat":
        yield from typosquats(file.views[0], file.path)
    elif detect := DETECTORS.get(rule.detector or ""):
        yield from detect(file.text)
    for matcher in matchers(rule.id):
        for view in file.views:
            if not (view.is_bare and rule.category is Category.PROMPT_INJECTION):
                yield from map(view.number_at, matcher.starts(view.text))


def _odd_files(path: str, content: bytes) -> Iterator[Finding]:
    """What a file is, whatever it says."""
    for rule in rule_book().rules:
        is_odd = (rule.detector == "program" and content.startswith(_PROGRAMS)) or (
            rule.detector == "path" and _reads(rule, path)
        )
        if is_odd:
            yield finding(rule, path, 1)


def _reads(rule: Rule, path: str) -> bool:
    return rule.path is None or has(compiled(rule.path), path.encode("utf-8", "replace"))


def finding(rule: Rule, path: str, line: int) -> Finding:
    """What the rule says of that line."""
    return Finding(
        rule_id=rule.id, category=rule.category, path=path, line=line, reason=rule.reason
    )


@cache
def _all_matchers() -> Mapping[str, Sequence[Matcher]]:
    made: dict[str, list[Matcher]] = defaultdict(list)
    for rule in rule_book().rules:
        made[rule.id] = [Matcher(pattern) for pattern in rule.patterns]
    return made


def matchers(rule_id: str) -> Sequence[Matcher]:
    """The compiled patterns of a rule."""
    return _all_matchers()[rule_id]
