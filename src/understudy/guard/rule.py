"""Records of the guard: rules, signals, joins and findings."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum, auto

from understudy.patterns.matcher import PatternSpec
from understudy.patterns.rule_book import ProvenRule


class Category(StrEnum):
    """What kind of harm a rule is about."""

    DESTRUCTIVE_SHELL = auto()
    CODE_INJECTION = auto()
    CREDENTIAL_EXFIL = auto()
    PATH_TRAVERSAL = auto()
    SQL_INJECTION = auto()
    PRIVILEGE_ESCALATION = auto()
    PROMPT_INJECTION = auto()


class FileKind(StrEnum):
    """What a file of a skill is for, which decides the rules that read it."""

    MANIFEST = auto()
    DOCUMENT = auto()
    SCRIPT = auto()
    DATA = auto()


class Detector(StrEnum):
    """A check for what no pattern can say; `detectors.py` has each of them."""

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
    """How near to each other the two ends of a join must stand."""

    # A fenced block or a paragraph of a document; all of any other file.
    REGION = auto()
    # What is read is kept in a variable, and the variable reaches the other end.
    FLOW = auto()
    BUNDLE = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardRule(ProvenRule):
    """One thing a skill may not hold, why, and examples that prove the rule."""

    category: Category
    title: str
    reason: str
    patterns: Sequence[PatternSpec] = ()
    detector: Detector | None = None
    kinds: frozenset[FileKind] = frozenset(FileKind)
    # What people say goes over the end of a line: paragraphs of prose are read as one, too.
    is_speech: bool = False
    # Only files at a path like this are read.
    path: str | None = None
    # A file of which each line is like this is let be.
    harmless: str | None = None

    def finding(self, path: str, line: int) -> "Finding":
        """The finding of this rule on a line."""
        return Finding(
            rule_id=self.id, category=self.category, path=path, line=line, reason=self.reason
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinSignal:
    """One end of a join: harmless alone, and telling beside the other end."""

    id: str
    title: str
    patterns: Sequence[PatternSpec]


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """A rule that two signals make together: what is read, and where it goes."""

    rule: GuardRule
    sources: frozenset[str]
    sinks: frozenset[str]
    within: Within
    # One of these must be in the same region as what was read.
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
