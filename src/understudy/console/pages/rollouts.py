"""Rollouts: procedures on their way to a skill, as a board, and each with its evidence."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from understudy.api.in_process import OperationRefused
from understudy.console.page import ConsolePage
from understudy.console.visits import Visit

Part = Callable[[Visit, Mapping[str, str], Mapping[str, Any]], Awaitable[dict[str, Any]]]
STAGES: Final = ("draft", "verified", "canary", "active", "revoked")
# Cards in a column of the board, and in a column shown alone.
CARDS: Final = 12
ALONE: Final = 50
# Rollouts that are read at once for the whole board.
BOARD: Final = 50
# The two sides of a replay and the recorded runs, each with the tone of its bars.
SIDES: Final = (("recorded", "6"), ("without_skill", "4"), ("with_skill", "1"))


async def _board(visit: Visit) -> dict[str, Any]:
    """A column for each stage, or one of them page by page."""
    chosen = visit.query.get("status")
    learning = visit.query.get("source_learning_id")
    if chosen in STAGES:
        columns = [await _column(visit, chosen, ALONE, visit.query.get("cursor"))]
    else:
        # All at once, as long as that is all there is.
        page = await visit.call("rollouts.list", source_learning_id=learning, limit=BOARD)
        columns = [
            {
                "stage": stage,
                "items": [it for it in page["items"] if it["status"] == stage],
                "next": None,
            }
            for stage in STAGES
        ]
        if page.get("next_cursor") or any(len(it["items"]) > CARDS for it in columns):
            columns = [await _column(visit, stage, CARDS, None) for stage in STAGES]
    return {
        "columns": columns,
        "chosen": chosen,
        "is_empty": not any(column["items"] for column in columns),
    }


async def _column(visit: Visit, stage: str, limit: int, cursor: str | None) -> dict[str, Any]:
    page = await visit.call(
        "rollouts.list",
        status=stage,
        source_learning_id=visit.query.get("source_learning_id"),
        limit=limit,
        cursor=cursor,
    )
    return {"stage": stage, "items": page["items"], "next": page.get("next_cursor")}


async def _rollout(visit: Visit) -> dict[str, Any]:
    """A rollout with the tab that the URL names."""
    ids = {"skill_name": visit.request.path_params["id"]}
    record = await visit.call("rollouts.get", **ids)
    tab = visit.query.get("tab", "")
    tab = tab if tab in TABS else next(iter(TABS))
    operation, load = TABS[tab]
    found = await load(visit, ids, record)
    return {
        "record": record,
        "ids": ids,
        "tab": tab,
        "tabs": tuple(TABS),
        "stages": STAGES,
        "part": found,
        "twin_operation": operation,
        "twin": ids,
    }


async def _evidence(
    _visit: Visit, _ids: Mapping[str, str], record: Mapping[str, Any]
) -> dict[str, Any]:
    return {"evidence": record["evidence_refs"][::-1]}


async def _replays(
    visit: Visit, ids: Mapping[str, str], _record: Mapping[str, Any]
) -> dict[str, Any]:
    """The trials, and the report of the chosen one: by default the newest replay."""
    listed = await visit.call("rollouts.trials", limit=50, **ids)
    replays = [each["trial_id"] for each in listed["items"] if each["cases"]]
    chosen = visit.query.get("trial") or next(iter(replays), None)
    trial = None
    if chosen is not None:
        trial = await visit.call("rollouts.get_trial", trial_id=chosen, **ids)
    report = trial.get("report") if trial else None
    return {
        "trials": listed["items"],
        "trial": trial,
        "report": report,
        "measures": _measures(report) if report else (),
    }


def _measures(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The measures of a replay as bars, one scale for each measure."""
    values: dict[str, Callable[[Mapping[str, Any]], int]] = {
        "success": lambda side: side["successes"],
        "tokens": lambda side: side["input_tokens"] + side["output_tokens"],
        "steps": lambda side: side["tool_calls"],
        "time": lambda side: side["took_ms"],
    }
    measures = []
    for name, value in values.items():
        bars = [(side, tone, value(report[side])) for side, tone in SIDES]
        most = report["recorded"]["tries"] if name == "success" else max(bar[2] for bar in bars)
        measures.append({"name": name, "bars": bars, "most": most})
    return measures


async def _definition(
    visit: Visit, ids: Mapping[str, str], _record: Mapping[str, Any]
) -> dict[str, Any]:
    """The earlier revisions, and the diff of the two chosen ones."""
    history = await visit.call("rollouts.history", limit=50, **ids)
    query = {name: visit.query[name] for name in ("from", "to") if name in visit.query}
    return {
        "history": history["items"],
        "difference": await visit.call("rollouts.diff", **query, **ids),
    }


async def _rollback(
    visit: Visit, ids: Mapping[str, str], _record: Mapping[str, Any]
) -> dict[str, Any]:
    """The changes of a rollback, or the reason why there is none."""
    to_version = visit.query.get("to_version")
    try:
        preview = await visit.call("rollouts.rollback_preview", to_version=to_version, **ids)
    except OperationRefused as refused:
        return {"preview": None, "problem": refused.problem}
    return {"preview": preview, "problem": None}


async def _events(
    visit: Visit, ids: Mapping[str, str], _record: Mapping[str, Any]
) -> dict[str, Any]:
    page = await visit.call("rollouts.events", limit=100, cursor=visit.query.get("cursor"), **ids)
    return {"items": page["items"], "next": page.get("next_cursor")}


TABS: Final[Mapping[str, tuple[str, Part]]] = {
    "evidence": ("rollouts.get", _evidence),
    "replays": ("rollouts.trials", _replays),
    "definition": ("rollouts.history", _definition),
    "rollback": ("rollouts.rollback_preview", _rollback),
    "events": ("rollouts.events", _events),
}
PAGES: Final = (
    ConsolePage(
        path="/rollouts",
        name="rollouts",
        template="rollouts.html",
        twin="rollouts.list",
        load=_board,
    ),
    ConsolePage(
        path="/rollouts/{id}",
        name="rollouts",
        template="rollout.html",
        twin="rollouts.get",
        load=_rollout,
    ),
)
