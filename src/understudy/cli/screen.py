"""Text for people: tables and records from layouts, without terminal control characters."""

import json
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Final, TypeAlias

# Whether tables are shown whole on a terminal, too.
wide: ContextVar[bool] = ContextVar("understudy_wide", default=False)
# Labels with values, and the rows of a table.
Pairs: TypeAlias = list[tuple[str, object]]
Rows: TypeAlias = list[tuple[object, ...]]
# The layout of a record: labels, and for each the path of a field or a function of the record.
Layout: TypeAlias = Mapping[str, str | Callable[[Any], object]]

# Output of models and tools may hold escape sequences and bidirectional controls.
UNPRINTABLE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
LOCATIONS: Final = frozenset({"agent_id", "run_id", "session_id", "timestamp_ms"})
NEVER_CUT: Final = 10_000
GAP: Final = 2
LEAST_LAST_COLUMN: Final = 12
# On a terminal the last column gets so much room where it needs it, and so many lines.
LEAST_TEXT: Final = 32
MOST_LINES: Final = 3
UNITS: Final = ((60, 1, "s"), (3600, 60, "m"), (86_400, 3600, "h"), (30 * 86_400, 86_400, "d"))


def printable(text: str) -> str:
    """The text without control characters, but for line breaks and tabs."""
    return UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))


def visible(text: str) -> str:
    """The text with what cannot be seen written out: nothing hides from who decides about it."""
    return "".join(
        letter
        if letter.isprintable() or letter in "\n\t"
        else letter.encode("unicode_escape").decode()
        for letter in text
    )


def one_line(text: str, limit: int = 0) -> str:
    """The text on one line, cut to `limit` characters if one is given."""
    line = " ".join(text.split())
    return line[: limit - 1] + "…" if limit and len(line) > limit else line


def visible_line(text: str | None, limit: int = 0) -> str:
    """The text on one line with invisible characters written out; empty for None."""
    return one_line(visible(text or ""), limit)


def ago(at_ms: int | None, now_ms: int | None = None) -> str:
    """How long ago a moment was, in one unit; a date when it is long past."""
    if not at_ms:
        return "–"
    now = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    seconds = (now - at_ms) // 1000
    if seconds < 1:
        return "just now"
    for below, unit, name in UNITS:
        if seconds < below:
            return f"{seconds // unit}{name} ago"
    return time.strftime("%Y-%m-%d", time.localtime(at_ms / 1000))


def ahead(at_ms: int | None, now_ms: int | None = None) -> str | None:
    """How far off a moment is, in one unit that is begun: what lasts seven days begins with 7d."""
    if at_ms is None:
        return None
    now = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    seconds = max(_begun(at_ms - now, 1000), 0)
    for below, unit, name in UNITS:
        if (begun := _begun(seconds, unit)) * unit < below:
            return f"in {begun}{name}"
    return f"in {_begun(seconds, 86_400)}d"


def lasted(start_ms: int | None, end_ms: int | None) -> str:
    """A duration such as `0.4s` or `3m 20s`."""
    if not start_ms or not end_ms:
        return "–"
    seconds = (end_ms - start_ms) / 1000
    if seconds < 60:
        return f"{seconds:.1f}s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}m {rest}s"


def count(number: int, noun: str) -> str:
    """A number with its noun, such as `1 event` or `2 events`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, empty: str) -> None:
    """Rows under headings, whole in a pipe and with --wide.

    On a terminal ids are short, and the last column wraps; the columns before it, from the right,
    give way until it has room. The first one always stays.
    """
    # Not the rest of `rich`, whose import lasts longer than most commands do.
    from rich.cells import cell_len

    lines = [[one_line(printable(_words(cell))) for cell in row] for row in rows]
    if not lines:
        print(empty)
        return
    headings = [column.upper() for column in columns]
    fits = sys.stdout.isatty() and not wide.get()
    if fits:
        lines = _with_short_ids(lines)
    widths = [max(map(cell_len, cells)) for cells in zip(headings, *lines, strict=True)]
    kept = _kept(widths, _width()) if fits else [*range(len(widths))]
    *fixed, last = kept
    taken = sum(widths[place] + GAP for place in fixed)
    room = max(min(widths[last], _width() - taken), LEAST_LAST_COLUMN) if fits else widths[last]
    shown = [*(widths[place] for place in fixed), room]
    first, *rest = (
        line for cells in (headings, *lines) for line in _wrapped([cells[i] for i in kept], shown)
    )
    print(_bold(first), *rest, sep="\n")
    if len(kept) < len(widths):
        hidden = ", ".join(columns[i] for i in range(len(columns)) if i not in kept)
        aside(f"--wide shows {hidden}, too")


def _with_short_ids(lines: Sequence[Sequence[str]]) -> list[list[str]]:
    from understudy.cli.ids import shortened

    short = shortened(cell for line in lines for cell in line)
    return [[short.get(cell, cell) for cell in line] for line in lines]


def _kept(widths: Sequence[int], width: int) -> list[int]:
    """The places of the columns that are shown, so that the last one has room for its text."""
    *kept, last = range(len(widths))
    least = min(widths[last], LEAST_TEXT)
    while len(kept) > 1 and sum(widths[i] + GAP for i in kept) + least > width:
        kept.pop()
    return [*kept, last]


def _wrapped(cells: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    """The lines of a row: the last cell goes on under itself, for a few lines."""
    from rich.cells import cell_len, set_cell_size

    *fixed, text = cells
    *columns, room = widths
    begin = (" " * GAP).join(map(set_cell_size, fixed, columns)) + " " * GAP * bool(fixed)
    parts = _parts(text, room)
    if len(parts) > MOST_LINES:
        last = parts[MOST_LINES - 1]
        cut = last if cell_len(last) < room else set_cell_size(last, room - 1)
        parts = [*parts[: MOST_LINES - 1], f"{cut}…"]
    for number, part in enumerate(parts):
        yield f"{' ' * cell_len(begin) if number else begin}{part}".rstrip()


def _parts(text: str, width: int) -> list[str]:
    """A text in lines that are no wider; a longer word is cut."""
    from rich.cells import cell_len, chop_cells

    lines = [""]
    for word in text.split(" "):
        if lines[-1] and cell_len(lines[-1]) + 1 + cell_len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines += chop_cells(word, width) or [""]
    return lines[1:]


def _bold(line: str) -> str:
    is_shown = sys.stdout.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")
    return f"\x1b[1m{line}\x1b[0m" if is_shown else line


def records(items: Iterable[object], layout: Layout, *, empty: str) -> None:
    """Records as a table, in the columns of a layout."""
    table([*layout], rows_of(items, layout), empty=empty)


def record(item: object, layout: Layout) -> None:
    """One record, a field a line; what is empty is left out."""
    fields(pairs_of(item, layout))


def rows_of(items: Iterable[object], layout: Layout) -> Rows:
    """What a table shows of records."""
    return [tuple(value for _, value in pairs_of(item, layout)) for item in items]


def pairs_of(record: object, layout: Layout) -> Pairs:
    """What is shown of a record, by label."""
    return [(label, _shown(record, source)) for label, source in layout.items()]


def fields(pairs: Iterable[tuple[str, object]]) -> None:
    """Names and values, one a line; what is empty is left out."""
    for line in field_lines(pairs):
        print(line)


def field_lines(pairs: Iterable[tuple[str, object]]) -> list[str]:
    """Names and values, one a line; what is empty is left out."""
    shown = [(name, _words(value)) for name, value in pairs if value not in (None, "", [], {}, ())]
    width = max((len(name) for name, _ in shown), default=0)
    lines: list[str] = []
    for name, value in shown:
        first, *rest = printable(value).splitlines() or [""]
        lines.append(f"{name:<{width}}  {first}")
        lines += [f"{'':<{width}}  {line}" for line in rest]
    return lines


def document(text: str) -> None:
    """A whole text: exactly as it is for a file or a pipe, made safe for a terminal."""
    if sys.stdout.isatty():
        print(printable(text).removesuffix("\n"))
    else:
        sys.stdout.write(text)


def aside(text: str, *, is_cut: bool = True) -> None:
    """A quiet line on stderr: what happens beside the reply; cut at the edge of the terminal."""
    from rich.console import Console
    from rich.text import Text

    width = None if sys.stderr.isatty() else NEVER_CUT
    out = Console(stderr=True, width=width, highlight=False, markup=False, emoji=False)
    line = Text(one_line(printable(text)), style="dim")
    out.print(line, no_wrap=is_cut, overflow="ellipsis" if is_cut else "fold")


def compact(value: object) -> str | None:
    """A JSON value on one line; nothing when there is none."""
    return None if value in (None, {}, []) else json.dumps(value, ensure_ascii=False)


def summary(data: Mapping[str, object], limit: int = 160) -> str:
    """What an event says, short enough for a line; where it happened is left out."""
    said = {name: value for name, value in data.items() if name not in LOCATIONS}
    return one_line(printable(" ".join(_part(name, said[name]) for name in said)), limit)


def _shown(record: object, source: str | Callable[[Any], object]) -> object:
    """A part of a record: moments as how long ago they were, objects as JSON on one line."""
    if not isinstance(source, str):
        return source(record)
    value: Any = record
    for name in source.split("."):
        value = None if value is None else getattr(value, name)
    if f".{source}".endswith((".at_ms", "_at_ms")):
        return ago(value)
    return compact(value) if isinstance(value, Mapping) else value


def _begun(amount: int, unit: int) -> int:
    return -(-amount // unit)


def _width() -> int:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else NEVER_CUT


def _part(name: str, value: object) -> str:
    if name in ("text", "type") and isinstance(value, str):
        return value
    return f"{name}={value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"


def _words(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(str(part) for part in value)
    return str(value)
