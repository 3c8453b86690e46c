"""The lineage of a learning as a graph: from its source run to the prompts it was injected into."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

# The size of a box, and the distance between columns and between rows.
WIDTH: Final = 168
HEIGHT: Final = 48
COLUMN: Final = 200
ROW: Final = 64
# The maximum of prompts and earlier learnings drawn; the list below the graph has the rest.
MOST_USES: Final = 6
MOST_REPLACED: Final = 3
# The maximum of characters that fit into a box.
CHARS: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphNode:
    """A box that links to its page."""

    x: int
    y: int
    # run, candidate, learning, this, use, more
    kind: str
    label: str
    detail: str
    href: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LineageGraph:
    """Boxes in columns, and the edges between them."""

    nodes: tuple[GraphNode, ...]
    # From the right side of one box to the left side of another: x and y of both ends.
    edges: tuple[tuple[int, int, int, int], ...]
    width: int
    height: int


def graph_of(lineage: Mapping[str, Any]) -> LineageGraph:
    """The graph of a lineage; an empty column is left out."""
    columns = [column for column in _columns(lineage) if column]
    rows = max(len(column) for column in columns)
    height = rows * ROW - (ROW - HEIGHT)
    placed: list[list[GraphNode]] = []
    for at, column in enumerate(columns):
        top = (height - (len(column) * ROW - (ROW - HEIGHT))) // 2
        placed.append(
            [GraphNode(x=at * COLUMN, y=top + row * ROW, **box) for row, box in enumerate(column)]
        )
    edges = [
        (one.x + WIDTH, one.y + HEIGHT // 2, two.x, two.y + HEIGHT // 2)
        for left, right in pairwise(placed)
        for one in left
        for two in right
    ]
    return LineageGraph(
        nodes=tuple(node for column in placed for node in column),
        edges=tuple(edges),
        width=(len(columns) - 1) * COLUMN + WIDTH,
        height=height,
    )


def _columns(lineage: Mapping[str, Any]) -> Sequence[list[dict[str, str]]]:
    learning, candidate = lineage["learning"], lineage.get("candidate")
    run, uses = lineage.get("source_run"), lineage["uses"]["items"]
    replaced = [_learning(it) for it in reversed(lineage["replaced"][:MOST_REPLACED])]
    told = [
        _box("use", each["session_id"], each["run_id"], f"/runs/{each['run_id']}")
        for each in uses[:MOST_USES]
    ]
    if (more := lineage["use_count"] - len(told)) > 0:
        told.append(_box("more", f"+ {more}", "", "#uses"))
    return (
        [_box("run", run["session_id"], run["run_id"], f"/runs/{run['run_id']}")] if run else [],
        [_candidate(candidate)] if candidate else [],
        *([it] for it in replaced),
        [_box("this", learning["content"], learning["status"], "")],
        *([_learning(it)] for it in lineage["replaced_by"][:1]),
        told,
    )


def _candidate(candidate: Mapping[str, Any]) -> dict[str, str]:
    href = f"/review/{candidate['candidate_id']}"
    return _box("candidate", candidate["content"], candidate["state"], href)


def _learning(learning: Mapping[str, Any]) -> dict[str, str]:
    href = f"/learnings/{learning['learning_id']}"
    return _box("learning", learning["content"], learning["status"], href)


def _box(kind: str, label: str, detail: str, href: str) -> dict[str, str]:
    return {"kind": kind, "label": short(label), "detail": short(detail), "href": href}


def short(text: str) -> str:
    """A text cut to fit into a box."""
    line = " ".join(text.split())
    return line if len(line) <= CHARS else line[: CHARS - 1] + "…"
