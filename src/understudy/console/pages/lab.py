"""The lab: the result of every scanner and parser for a pasted text."""

from typing import Any, Final

from understudy.api.in_process import OperationRefused
from understudy.console.forms import number_of
from understudy.console.page import ConsolePage
from understudy.console.visits import Visit

FLAGS: Final = ("from_api", "derived_from_untrusted")


async def _lab(visit: Visit) -> dict[str, Any]:
    form, report, problem, status = visit.form, None, None, 200
    if form:
        body = {
            "text": form.get("text", ""),
            "other": form.get("other") or None,
            "kind": form.get("kind", "fact"),
            "confidence": number_of(form.get("confidence", "")),
            **{name: form.get(name) == "true" for name in FLAGS},
        }
        try:
            report = await visit.call("lab.inspect", body=body)
        except OperationRefused as refused:
            problem, status = refused.problem, refused.status
    kinds = next(each for each in visit.surface.fields("lab.inspect") if each.name == "kind")
    return {
        "report": report,
        "problem": problem,
        "http_status": status,
        "kinds": kinds.choices,
        # The pasted text is not stored, so it has no URL.
        "twin_operation": "learning_policy.get",
        "twin": {},
    }


PAGES: Final = (
    ConsolePage(
        path="/lab",
        name="lab",
        template="lab.html",
        twin="learning_policy.get",
        load=_lab,
        takes_forms=True,
    ),
)
