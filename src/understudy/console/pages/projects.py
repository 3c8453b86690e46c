"""Projects: the board of their tasks with dependencies, and each task."""

from typing import Any, Final
from urllib.parse import quote

from understudy.console.page import ConsolePage, Listing
from understudy.console.task_graph import MOST_TASKS, graph_of_tasks
from understudy.console.visits import Visit

STATUSES: Final = ("pending", "in_progress", "blocked", "completed", "failed", "cancelled")
# Page size; a project has at most ten pages of tasks.
PAGE: Final = 200


async def _project(visit: Visit) -> dict[str, Any]:
    """A project with its tasks by status, and their dependency graph."""
    ids = {"project_id": visit.request.path_params["id"]}
    record = await visit.call("projects.get", **ids)
    tasks = await _tasks(visit, ids)
    lanes = [(status, [task for task in tasks if task["status"] == status]) for status in STATUSES]
    return {
        "record": record,
        "ids": ids,
        "tasks": tasks,
        # Lanes of other final states are shown only if they have tasks.
        "lanes": [lane for lane in lanes if lane[1] or lane[0] in STATUSES[:4]],
        "graph": graph_of_tasks(tasks, f"/projects/{quote(ids['project_id'], safe='')}/tasks"),
        "not_drawn": max(len(tasks) - MOST_TASKS, 0),
        "sessions": [each for each in record["members"] if each["member_kind"] == "session"],
        "twin": ids,
    }


async def _tasks(visit: Visit, ids: dict[str, str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        page = await visit.call("project_tasks.list", limit=PAGE, cursor=cursor, **ids)
        found += page["items"]
        cursor = page.get("next_cursor")
        if cursor is None:
            return found


async def _task(visit: Visit) -> dict[str, Any]:
    path = visit.request.path_params
    ids = {"project_id": path["id"], "project_task_id": path["task_id"]}
    record = await visit.call("project_tasks.get", **ids)
    project = await visit.call("projects.get", project_id=path["id"])
    return {
        "record": record,
        "project": project,
        "ids": ids,
        "sessions": [each for each in project["members"] if each["member_kind"] == "session"],
        "statuses": STATUSES,
        "twin": ids,
    }


PAGES: Final = (
    *Listing(
        name="projects",
        all="projects.list",
        one="projects.get",
        key="project_id",
        columns=("display_name", "status", "task_count", "active_task_count", "updated_at_ms"),
        title="display_name",
        template="project.html",
        load=_project,
    ).pages(),
    ConsolePage(
        path="/projects/{id}/tasks/{task_id}",
        name="projects",
        template="project_task.html",
        twin="project_tasks.get",
        load=_task,
    ),
)
