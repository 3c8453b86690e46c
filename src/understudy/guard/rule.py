"""Records of the guard: rules, signals, joins and findings."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum, auto

from understudy.patterns.matcher import PatternSpec
from understudy.patterns.rule_book import ProvenRule


class Category(StrEnum):
    """The kind of harm that a rule prevents."""

    DESTRUCTIVE_SHELL = auto()
    CODE_INJECTION = auto()
    CREDENTIAL_EXFIL = auto()
    PATH_TRAVERSAL = auto()
    SQL_INJECTION = auto()
    PRIVILEGE_ESCALATION = auto()
    PROMPT_INJECTION = auto()


class FileKind(StrEnum):
    """The purpose of a file in a skill, which selects the rules that scan it."""

    MANIFEST = auto()
    DOCUMENT = auto()
    SCRIPT = auto()
    DATA = auto()


class Detector(StrEnum):
    """A check that no pattern can express; implemented in `detectors.py`."""

    BIDI = auto()
    NUL = auto()
    TAGS = auto()
    ZERO_WIDTH = auto()
    SELECTORS = auto()
    FAR_RIGHT = auto()
    TYPOSQUAT = auto()
    PROGRAM = auto()
    BYTECODE = auto()
    PACKED = auto()
    PATH = auto()
    UNREAD = auto()


class Within(StrEnum):
    """The required proximity of source and sink of a join."""

    # The same fenced block or paragraph of a document; any other file as a whole.
    REGION = auto()
    # The value from the source flows through variables or files to the sink.
    FLOW = auto()
    BUNDLE = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardRule(ProvenRule):
    """One kind of forbidden content, the reason, and examples that test the rule."""

    category: Category
    title: str
    reason: str
    patterns: Sequence[PatternSpec] = ()
    detector: Detector | None = None
    kinds: frozenset[FileKind] = frozenset(FileKind)
    # Sentences wrap over lines: paragraphs of prose are scanned as one line, too.
    is_speech: bool = False
    # A pattern: only files at a matching path are scanned.
    path: str | None = None
    # A pattern: a file whose lines all match is exempt.
    harmless: str | None = None

    def finding(self, path: str, line: int) -> "Finding":
        """The finding of this rule on a line."""
        return Finding(
            rule_id=self.id, category=self.category, path=path, line=line, reason=self.reason
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinSignal:
    """The source or the sink of a join: harmless alone."""

    id: str
    title: str
    patterns: Sequence[PatternSpec]


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """A rule over two signals: a source that is read, and a sink that it reaches."""

    rule: GuardRule
    sources: frozenset[str]
    sinks: frozenset[str]
    within: Within
    # One of these signals must be in the same region as the source.
    beside: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardBook:
    """The rules, signals and joins of `rules.toml`."""

    rules: Sequence[GuardRule]
    signals: Sequence[JoinSignal] = field(default=())
    joins: Sequence[Join] = field(default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A finding: the line of a file that breaks a rule, and the reason."""

    rule_id: str
    category: Category
    path: str
    line: int
    reason: str
