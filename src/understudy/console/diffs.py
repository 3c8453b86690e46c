"""Differences of two texts, line by line, with the words that changed."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

# Longer texts are compared up to this line, and the page says so.
MAX_LINES: Final = 2_000
# Context lines that are shown around a change.
AROUND: Final = 3
# Comparing words takes quadratic time: longer lines are marked whole, and so are changed lines
# after the first hundred.
MAX_WORDS: Final = 150
MAX_COMPARED_LINES: Final = 100
HUNK: Final = re.compile(r"@@ -(\d{1,9})(?:,\d{1,9})? \+(\d{1,9})(?:,\d{1,9})? @@")
WORD: Final = re.compile(r"\s+|\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class DiffPart:
    """A piece of a line, and whether only this side has it."""

    text: str
    is_changed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffRow:
    """A line of both texts side by side; a side that has no such line has number 0."""

    # same, changed, removed, added, gap
    kind: str
    old_number: int = 0
    new_number: int = 0
    old: tuple[DiffPart, ...] = ()
    new: tuple[DiffPart, ...] = ()


def difference(old: str, new: str, *, around: int = AROUND) -> list[DiffRow]:
    """The rows of a comparison; a `gap` stands for lines that are equal and far from a change."""
    before, after = old.splitlines()[:MAX_LINES], new.splitlines()[:MAX_LINES]
    rows: list[DiffRow] = []
    compared = MAX_COMPARED_LINES
    # `autojunk` stays on, so frequent lines are no anchors: without it this would take minutes.
    matcher = SequenceMatcher(None, before, after)
    for at, group in enumerate(matcher.get_grouped_opcodes(around)):
        if at or group[0][1]:
            rows.append(DiffRow(kind="gap"))
        for tag, i1, i2, j1, j2 in group:
            made = list(_rows(tag, before[i1:i2], after[j1:j2], i1, j1, compared))
            compared -= sum(row.kind == "changed" for row in made)
            rows += made
    return rows


def patch_rows(patch: str) -> list[DiffRow]:
    """The rows of a unified diff as the API answers it."""
    rows: list[DiffRow] = []
    old: list[str] = []
    new: list[str] = []
    old_at = new_at = 0
    compared = MAX_COMPARED_LINES
    is_in_hunk = False

    def flush() -> None:
        nonlocal old_at, new_at, compared
        made = list(_rows("replace", old, new, old_at, new_at, compared))
        compared -= sum(row.kind == "changed" for row in made)
        rows.extend(made)
        old_at, new_at = old_at + len(old), new_at + len(new)
        old.clear()
        new.clear()

    for line in patch.split("\n"):
        hunk = HUNK.match(line)
        if hunk is not None:
            flush()
            old_at, new_at = max(int(hunk[1]) - 1, 0), max(int(hunk[2]) - 1, 0)
            if is_in_hunk or old_at:
                rows.append(DiffRow(kind="gap"))
            is_in_hunk = True
        elif not is_in_hunk:
            # The names of the two files.
            continue
        elif line.startswith("-"):
            old.append(line[1:])
        elif line.startswith("+"):
            new.append(line[1:])
        elif line.startswith(" "):
            flush()
            rows.extend(_rows("equal", [line[1:]], [line[1:]], old_at, new_at, 0))
            old_at, new_at = old_at + 1, new_at + 1
    flush()
    return rows


def _rows(
    tag: str, old: Sequence[str], new: Sequence[str], old_at: int, new_at: int, compared: int
) -> Iterator[DiffRow]:
    for offset in range(max(len(old), len(new))):
        has_old, has_new = offset < len(old), offset < len(new)
        left: tuple[DiffPart, ...]
        right: tuple[DiffPart, ...]
        if tag == "equal":
            left = right = (DiffPart(old[offset]),)
            kind = "same"
        elif has_old and has_new:
            left, right = _words(old[offset], new[offset], is_compared=offset < compared)
            kind = "changed"
        else:
            left = (DiffPart(old[offset], is_changed=True),) if has_old else ()
            right = (DiffPart(new[offset], is_changed=True),) if has_new else ()
            kind = "removed" if has_old else "added"
        yield DiffRow(
            kind=kind,
            old_number=old_at + offset + 1 if has_old else 0,
            new_number=new_at + offset + 1 if has_new else 0,
            old=left,
            new=right,
        )


def _words(
    old: str, new: str, *, is_compared: bool
) -> tuple[tuple[DiffPart, ...], tuple[DiffPart, ...]]:
    before, after = WORD.findall(old), WORD.findall(new)
    if not is_compared or max(len(before), len(after)) > MAX_WORDS:
        return (DiffPart(old, is_changed=True),), (DiffPart(new, is_changed=True),)
    left, right = list[DiffPart](), list[DiffPart]()
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        is_changed = tag != "equal"
        if i2 > i1:
            left.append(DiffPart("".join(before[i1:i2]), is_changed))
        if j2 > j1:
            right.append(DiffPart("".join(after[j1:j2]), is_changed))
    return tuple(left), tuple(right)
