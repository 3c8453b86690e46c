"""The scan of the guard: applies rules to texts and files, and executes nothing."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final

from understudy.guard.detectors import CHECKS, FileDetector, ScannedFile, TextDetector
from understudy.guard.joins import SignalReading, joined_findings
from understudy.guard.rule import Category, Finding, GuardRule
from understudy.guard.rule_book import rule_book
from understudy.guard.source import (
    ParsedValue,
    ScannedText,
    source_of_names,
    source_of_values,
    sources_of,
)
from understudy.guard.texts import MANIFEST_NAME
from understudy.patterns.linear import has
from understudy.patterns.matcher import Matcher, compiled

# The limit on all texts of a skill except SKILL.md, which is always scanned: a time limit.
MAX_TEXT_CHARS: Final = 2 * 1024 * 1024
# A scan stops after this many findings.
MAX_FINDINGS: Final = 300

Pause = Callable[[], None]


def go_on() -> None:
    """The default `pause`: the scan continues."""


def scan_text(text: str, path: str = MANIFEST_NAME) -> tuple[Finding, ...]:
    """The findings in one text."""
    return scan_bundle({path: text.encode("utf-8", "replace")})


def scan_bundle(
    files: Mapping[str, bytes], *, said: Iterable[ParsedValue] = (), pause: Pause = go_on
) -> tuple[Finding, ...]:
    """The findings in the files of a skill, within one file or between several.

    `said` are values parsed from the files. `pause` is called between rules; it may raise.
    """
    found: set[Finding] = set()
    for one in _findings(files, said, pause):
        found.add(one)
        if len(found) > MAX_FINDINGS:
            break
    return tuple(sorted(found, key=lambda one: (one.path, one.line, one.rule_id)))


def is_whole(found: Sequence[Finding]) -> bool:
    """Whether the findings are complete; False when the scan stopped at the limit."""
    return len(found) <= MAX_FINDINGS


def _findings(
    files: Mapping[str, bytes], said: Iterable[ParsedValue], pause: Pause
) -> Iterator[Finding]:
    names, owners = source_of_names(files)
    for rule, line in _in_source(names, pause):
        yield rule.finding(owners[line - 1], 1)
    for source in _parsed(said):
        yield from (rule.finding(source.path, at) for rule, at in _in_source(source, pause))
    readings: list[SignalReading] = []
    left = MAX_TEXT_CHARS
    # SKILL.md first: it is always scanned.
    for path in sorted(files, key=lambda path: (path != MANIFEST_NAME, path)):
        sources = sources_of(path, files[path])
        size = sum(len(source.text) for source in sources) if path != MANIFEST_NAME else 0
        is_read = size <= left
        yield from _odd_files(ScannedFile(path, files[path], is_read))
        if not is_read:
            continue
        left -= size
        for source in sources:
            yield from (rule.finding(path, at) for rule, at in _in_source(source, pause))
            readings.append(SignalReading(path=path, kind=source.kind, views=source.views))
    yield from joined_findings(readings, pause)


def _parsed(said: Iterable[ParsedValue]) -> Iterator[ScannedText]:
    by_path: dict[str, list[ParsedValue]] = defaultdict(list)
    for one in said:
        by_path[one.path].append(one)
    return (source_of_values(path, values) for path, values in sorted(by_path.items()))


def _in_source(source: ScannedText, pause: Pause) -> Iterator[tuple[GuardRule, int]]:
    """Each rule that matches, with each line number once."""
    for rule in rule_book().rules:
        pause()
        if source.kind in rule.kinds and _reads(rule, source.path):
            seen: set[int] = set()
            for line in _lines(rule, source):
                if line not in seen:
                    seen.add(line)
                    yield rule, line


def _lines(rule: GuardRule, source: ScannedText) -> Iterable[int]:
    check = CHECKS[rule.detector] if rule.detector else None
    if isinstance(check, TextDetector):
        yield from check.lines(source)
    for matcher in matchers(rule.id):
        for view in source.views:
            if not (view.is_bare and rule.category is Category.PROMPT_INJECTION):
                yield from map(view.number_at, matcher.starts(view.text))
        plain = source.views[0]
        if rule.is_speech and source.speech != plain.text:
            yield from map(plain.number_at, matcher.starts(source.speech))


def _odd_files(file: ScannedFile) -> Iterator[Finding]:
    """The findings about a file as a whole, such as a compiled program."""
    for rule, check in _file_checks():
        if _reads(rule, file.path) and check.holds(file) and not _is_harmless(rule, file):
            yield rule.finding(file.path, 1)


def _reads(rule: GuardRule, path: str) -> bool:
    return rule.path is None or has(compiled(rule.path), path.encode("utf-8", "replace"))


def _is_harmless(rule: GuardRule, file: ScannedFile) -> bool:
    if rule.harmless is None:
        return False
    line = compiled(f"^(?:{rule.harmless})$")
    return bool(file.content) and all(has(line, each) for each in file.content.splitlines())


@cache
def _file_checks() -> Sequence[tuple[GuardRule, FileDetector]]:
    checks = [(rule, CHECKS[rule.detector]) for rule in rule_book().rules if rule.detector]
    return [(rule, check) for rule, check in checks if isinstance(check, FileDetector)]


@cache
def _all_matchers() -> Mapping[str, Sequence[Matcher]]:
    return {rule.id: [Matcher(pattern) for pattern in rule.patterns] for rule in rule_book().rules}


def matchers(rule_id: str) -> Sequence[Matcher]:
    """The compiled patterns of a rule."""
    return _all_matchers()[rule_id]


def forget_compiled() -> None:
    """Free the compiled patterns, some 15 MiB; the next scan compiles them again."""
    _all_matchers.cache_clear()
    compiled.cache_clear()
