"""Skills: instructions, files, versions, grants, guard findings, and usage of each."""

import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final
from urllib.parse import quote

from understudy.api.in_process import OperationRefused
from understudy.console.page import ConsolePage
from understudy.console.visits import Visit
from understudy.core.clock import DAY_MS

Part = Callable[[Visit, Mapping[str, Any]], Awaitable[dict[str, Any]]]
MANIFEST: Final = "SKILL.md"
# A longer file is cut on the page; its JSON twin has all of it.
MAX_SHOWN_CHARS: Final = 200_000
PERIODS: Final = (7, 30, 90)


async def _list(visit: Visit) -> dict[str, Any]:
    page = await visit.call("skills.list", **{"limit": 50, **visit.query})
    drafts = await visit.call("inbox.list", kind="skill_draft", limit=200)
    return {
        "items": page["items"],
        "drafts": {each["id"]: each["version"] for each in drafts["items"]},
        "next": page.get("next_cursor"),
        "filters": await visit.filters("skills.list"),
    }


async def _plain(operation: str, visit: Visit) -> dict[str, Any]:
    page = await visit.call(operation, **{"limit": 50, **visit.query})
    return {"items": page["items"], "next": page.get("next_cursor")}


async def _skill(visit: Visit) -> dict[str, Any]:
    """A skill with the tab that the URL names."""
    ref = visit.request.path_params["id"]
    record = await visit.call("skills.get", skill_id=ref)
    tab = visit.query.get("tab", "")
    tab = tab if tab in TABS else next(iter(TABS))
    operation, load = TABS[tab]
    found = await load(visit, record)
    twin = found.pop("twin", {})
    return {
        "record": record,
        "tab": tab,
        "tabs": tuple(TABS),
        "part": found,
        # The redirect after an action: the tab stays open.
        "here": f"/skills/{quote(ref, safe='')}" + (f"?tab={tab}" if "tab" in visit.query else ""),
        "twin_operation": operation,
        "twin": {"skill_id": ref, **twin},
    }


async def _document(visit: Visit, record: Mapping[str, Any]) -> dict[str, Any]:
    skill_id = record["id"]
    is_raw = visit.query.get("view") == "raw"
    raw = None
    if is_raw or "patch" in record["actions"]:
        raw = await visit.call("skills.file", skill_id=skill_id, path=MANIFEST)
    return {"is_raw": is_raw, "raw": raw}


async def _files(visit: Visit, record: Mapping[str, Any]) -> dict[str, Any]:
    of = {"skill_id": record["id"], "version": visit.query.get("version")}
    listed = await visit.call("skills.files", limit=500, **of)
    chosen = visit.query.get("file", MANIFEST)
    try:
        file = await visit.call("skills.file", path=chosen, **of)
    except OperationRefused as refused:
        return {
            "items": listed["items"],
            "chosen": chosen,
            "file": None,
            "problem": refused.problem,
        }
    text = file["content"] if file["encoding"] == "utf-8" else None
    return {
        "items": listed["items"],
        "chosen": chosen,
        "file": file,
        "text": None if text is None else text[:MAX_SHOWN_CHARS],
        "is_cut": text is not None and len(text) > MAX_SHOWN_CHARS,
        "twin": {"path": chosen, **({"version": of["version"]} if of["version"] else {})},
    }


async def _versions(visit: Visit, record: Mapping[str, Any]) -> dict[str, Any]:
    """The versions, and the diff of the two chosen ones: by default the newest two."""
    skill_id = record["id"]
    query = {"cursor": visit.query.get("cursor")}
    listed = await visit.call("skills.versions", skill_id=skill_id, limit=50, **query)
    newest = [each["version"] for each in listed["items"][:2]]
    new = visit.query.get("to") or (newest[0] if newest else None)
    old = visit.query.get("from") or (newest[1] if len(newest) > 1 else None)
    difference = None
    if old is not None and new is not None:
        difference = await visit.call("skills.diff", **{"from": old, "to": new}, skill_id=skill_id)
    return {
        "listed": listed,
        "old": old,
        "new": new,
        "difference": difference,
        "before": _before(visit, record, listed["items"]),
    }


def _before(visit: Visit, record: Mapping[str, Any], listed: list[Mapping[str, Any]]) -> int | None:
    """The version that was current before the last action, if it can be restored."""
    served = {str(each["version"]): each for each in listed if each["state"] == "served"}
    was = served.get(visit.query.get("was", ""))
    is_undone = was is None or was["version"] == record["version"]
    return None if was is None or is_undone else int(was["version"])


async def _grants(visit: Visit, record: Mapping[str, Any]) -> dict[str, Any]:
    """The grants, and the access check for the chosen agent and user."""
    skill_id = record["id"]
    asked = {name: visit.query.get(name) for name in ("agent_id", "user_id")}
    found: dict[str, Any] = {"asked": asked, "access": None, "items": None, "problem": None}
    try:
        listed = await visit.call("skills.grants", skill_id=skill_id, limit=200)
        found["items"] = listed["items"]
        if any(asked.values()):
            found["access"] = await visit.call("skills.access", skill_id=skill_id, **asked)
    except OperationRefused as refused:
        found["problem"] = refused.problem
    agents = await visit.call("agents.list", limit=100)
    return {**found, "agents": [each["agent_id"] for each in agents["items"]]}


async def _guard(visit: Visit, record: Mapping[str, Any]) -> dict[str, Any]:
    version = visit.query.get("version")
    report = await visit.call("skills.guard_report", skill_id=record["id"], version=version)
    return {"report": report, "twin": {"version": version} if version else {}}


async def _usage(visit: Visit, record: Mapping[str, Any]) -> dict[str, Any]:
    days = next((each for each in PERIODS if str(each) == visit.query.get("days")), PERIODS[1])
    usage = await visit.call("skills.usage", skill_id=record["id"], days=days)
    return {
        "usage": usage,
        "days": days,
        "periods": PERIODS,
        "series": _series(usage["by_day"], days),
        "twin": {"days": str(days)},
    }


def _series(used: list[dict[str, Any]], days: int) -> list[dict[str, Any]]:
    """A bar for each day of a period, also for days without a use."""
    today = time.time_ns() // 1_000_000 // DAY_MS
    by_day = {each["day_at_ms"] // DAY_MS: each for each in used}
    nothing = {"used": 0, "succeeded": 0, "failed": 0, "abandoned": 0}
    return [
        by_day.get(day) or {"day_at_ms": day * DAY_MS, **nothing}
        for day in range(today - days + 1, today + 1)
    ]


TABS: Final[Mapping[str, tuple[str, Part]]] = {
    "document": ("skills.get", _document),
    "files": ("skills.file", _files),
    "versions": ("skills.versions", _versions),
    "grants": ("skills.grants", _grants),
    "guard": ("skills.guard_report", _guard),
    "usage": ("skills.usage", _usage),
}
PAGES: Final = (
    ConsolePage(
        path="/skills", name="skills", template="skills.html", twin="skills.list", load=_list
    ),
    *(
        ConsolePage(
            path=f"/skills/{name}",
            name="skills",
            template=f"skill_{name}.html",
            twin=f"skills.{name}",
            load=partial(_plain, f"skills.{name}"),
        )
        for name in ("trash", "roots")
    ),
    ConsolePage(
        path="/skills/{id}", name="skills", template="skill.html", twin="skills.get", load=_skill
    ),
)
