"""The guard report on a stored version: each finding with its line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

from understudy.core.errors import Invalid, UnderstudyError
from understudy.core.records import OMIT, extended
from understudy.core.text import ELLIPSIS
from understudy.guard.rule import Category, Finding
from understudy.guard.scan import is_whole
from understudy.guard.texts import is_text
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.bundles.manifest import parse

MAX_QUOTED_CHARS: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotedFinding:
    """A finding of the guard with its line."""

    rule_id: str
    category: Category
    path: str
    line: int
    reason: str
    # The line with invisible characters written out; None where the file is not text.
    quote: Annotated[str | None, OMIT] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardReport:
    """The findings of the guard in a version of a skill, and the problems of its SKILL.md."""

    skill_id: str
    slug: str
    version: Annotated[int | None, OMIT] = None
    digest: str
    files: int
    findings: tuple[QuotedFinding, ...]
    # False where the scan stopped at its limit.
    is_whole: bool
    # Why the SKILL.md is not valid; empty for a valid one.
    problems: tuple[str, ...]


def report(bundle: Bundle, findings: Sequence[Finding], **about: Any) -> GuardReport:
    """The report on the files of a skill."""
    lines: dict[str, list[str]] = {}
    for path in {one.path for one in findings}:
        data = bundle.get(path)
        if data is not None and is_text(path, data):
            lines[path] = data.decode(errors="replace").splitlines()
    return GuardReport(
        digest=bundle.digest,
        files=len(bundle),
        findings=tuple(
            extended(QuotedFinding, one, quote=_quote(lines.get(one.path, ()), one.line))
            for one in findings
        ),
        is_whole=is_whole(findings),
        problems=manifest_problems(bundle),
        **about,
    )


def manifest_problems(files: Mapping[str, bytes]) -> tuple[str, ...]:
    """The problems that an upload of these files would be refused for; empty for a valid skill."""
    try:
        parse(Bundle(files).manifest_text)
    except Invalid as problem:
        return tuple(error.detail for error in problem.errors) or (problem.detail,)
    except UnderstudyError as problem:
        return (problem.detail,)
    return ()


def _quote(lines: Sequence[str], number: int) -> str | None:
    if not 0 < number <= len(lines):
        return None
    line = lines[number - 1].strip()
    seen = "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in line[: MAX_QUOTED_CHARS + 1]
    )
    return seen if len(seen) <= MAX_QUOTED_CHARS else seen[:MAX_QUOTED_CHARS] + ELLIPSIS
