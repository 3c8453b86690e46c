"""Background tasks: the list, and each with its output and its end."""

from typing import Any, Final

from understudy.background_tasks.model import MAX_SLICE_CHARS
from understudy.console.page import Listing
from understudy.console.visits import Visit

SHOWN_CHARS: Final = MAX_SLICE_CHARS // 2


async def _task(visit: Visit) -> dict[str, Any]:
    """A background task with the end of its output."""
    ids = {"task_id": visit.request.path_params["id"]}
    record = await visit.call("background_tasks.get", **ids)
    offset = max(record["output_chars"] - SHOWN_CHARS, 0)
    output = await visit.call("background_tasks.output", offset=offset, **ids)
    return {"record": record, "output": output, "ids": ids, "twin": ids}


PAGES: Final = Listing(
    name="background",
    all="background_tasks.list",
    one="background_tasks.get",
    key="task_id",
    columns=("command", "status", "terminal_reason", "exit_code", "session_id", "created_at_ms"),
    title="task_id",
    template="background_task.html",
    load=_task,
).pages()
