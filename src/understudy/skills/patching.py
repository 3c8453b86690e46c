"""Replacing text in a SKILL.md: exact, counted, and never more than a SKILL.md may hold."""

from dataclasses import dataclass

from understudy.skills import caller_errors, content_errors
from understudy.skills.bundles.limits import MAX_MANIFEST_BYTES
from understudy.skills.drafting import written


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """What to look for and what to put there; without `replace_all` only the first is replaced."""

    find: str
    replace: str
    replace_all: bool = False
    # Refuse a text that is there more than once, unless all are meant.
    strict: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Patched:
    """The text as it is then, how often the searched text was in it, and how many were replaced."""

    text: str
    matches: int
    replaced: int


def check_patch(patch: Patch) -> None:
    """Refuse a patch that does not say where."""
    if not patch.find:
        raise caller_errors.no_find()
    written(patch.find, pointer="/find")
    written(patch.replace, pointer="/replace")


def patched(text: str, patch: Patch) -> Patched:
    """The text with the patch in it, or why it cannot be."""
    matches = text.count(patch.find)
    if matches == 0:
        raise caller_errors.text_not_found()
    if patch.strict and matches > 1 and not patch.replace_all:
        raise caller_errors.text_ambiguous(matches)
    replaced = matches if patch.replace_all else 1
    # Before it is made: a hundred thousand replacements of a hundred kilobytes each fit nowhere.
    growth = len(patch.replace.encode()) - len(patch.find.encode())
    size = len(text.encode()) + replaced * growth
    if size > MAX_MANIFEST_BYTES:
        raise content_errors.manifest_too_large(size, limit=MAX_MANIFEST_BYTES)
    changed = text.replace(patch.find, patch.replace, replaced)
    return Patched(text=changed, matches=matches, replaced=replaced)
