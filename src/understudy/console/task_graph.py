"""The tasks of a project as a dependency graph: each to the right of the tasks that block it."""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from understudy.console.lineage_graph import (
    COLUMN,
    HEIGHT,
    ROW,
    WIDTH,
    GraphNode,
    LineageGraph,
    short,
)

# The most tasks that are drawn; the board below has all of them.
MOST_TASKS: Final = 60


def graph_of_tasks(tasks: Sequence[Mapping[str, Any]], path: str) -> LineageGraph:
    """Boxes in columns by dependency depth, and an edge from each task to those that it blocks."""
    drawn = tasks[:MOST_TASKS]
    known = {task["project_task_id"]: task for task in drawn}
    columns: dict[int, int] = {}
    nodes: dict[str, GraphNode] = {}
    depths: dict[str, int] = {}
    for task in drawn:
        depth = _depth(task["project_task_id"], known, depths)
        row = columns[depth] = columns.get(depth, 0) + 1
        nodes[task["project_task_id"]] = GraphNode(
            x=depth * COLUMN,
            y=(row - 1) * ROW,
            kind=task["status"],
            label=short(task["title"]),
            detail=task["status"],
            href=f"{path}/{quote(task['project_task_id'], safe='')}",
        )
    edges = [
        (before.x + WIDTH, before.y + HEIGHT // 2, after.x, after.y + HEIGHT // 2)
        for task_id, after in nodes.items()
        for name in known[task_id]["blocked_by"]
        if (before := nodes.get(name)) is not None
    ]
    return LineageGraph(
        nodes=tuple(nodes.values()),
        edges=tuple(edges),
        width=max(columns, default=0) * COLUMN + WIDTH,
        height=max(columns.values(), default=1) * ROW - (ROW - HEIGHT),
    )


def _depth(task_id: str, known: Mapping[str, Mapping[str, Any]], depths: dict[str, int]) -> int:
    """The length of the longest chain of blocking tasks before one; there are no cycles."""
    ahead = [task_id]
    while ahead:
        current = ahead[-1]
        before = [each for each in known[current]["blocked_by"] if each in known]
        open_ones = [each for each in before if each not in depths]
        if open_ones:
            ahead += open_ones
            continue
        depths[current] = max((depths[each] + 1 for each in before), default=0)
        ahead.pop()
    return depths[task_id]
