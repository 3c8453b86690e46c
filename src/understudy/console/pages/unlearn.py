"""Unlearning: the preview of everything derived from a target, the unlearning, and its receipt."""

from typing import Any, Final

from understudy.api.in_process import OperationRefused
from understudy.console.page import ConsolePage
from understudy.console.visits import Visit
from understudy.unlearn.model import TargetKind

# Page size of the list.
PAGE: Final = 30
MOST_SHOWN: Final = 200


async def _unlearn(visit: Visit) -> dict[str, Any] | str:
    """The form, the preview for the target in the URL, and earlier unlearnings."""
    named = visit.form or visit.query
    target = {"kind": named.get("kind", TargetKind.RUN), "id": named.get("id", "")}
    preview, problem, status = None, None, 200
    try:
        if visit.form.get("mode"):
            body = {
                "target": target,
                "mode": visit.form["mode"],
                "reason": visit.form.get("reason") or None,
            }
            started = await visit.call("unlearn.start", body=body)
            return f"/unlearn/{started['unlearn_id']}"
        if target["id"]:
            preview = await visit.call("unlearn.preview", body={"target": target})
    except OperationRefused as refused:
        problem, status = refused.problem, refused.status
    before = await visit.call("unlearn.list", limit=PAGE)
    return {
        "target": target,
        "kinds": list(TargetKind),
        "preview": preview,
        "most": MOST_SHOWN,
        "problem": problem,
        "http_status": status,
        "items": before["items"],
        "twin": {"limit": PAGE},
    }


async def _one(visit: Visit) -> dict[str, Any]:
    ids = {"unlearn_id": visit.request.path_params["id"]}
    return {"record": await visit.call("unlearn.get", **ids), "twin": ids}


PAGES: Final = (
    ConsolePage(
        path="/unlearn",
        name="unlearn",
        template="unlearn.html",
        twin="unlearn.list",
        load=_unlearn,
        takes_forms=True,
    ),
    ConsolePage(
        path="/unlearn/{id}",
        name="unlearn",
        template="unlearned.html",
        twin="unlearn.get",
        load=_one,
    ),
)
