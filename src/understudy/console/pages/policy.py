"""Policy: the learning policy, the run-memory policy and the runtime document."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from understudy.api.in_process import OperationRefused
from understudy.console import documents
from understudy.console.charts import stacked
from understudy.console.forms import number_of
from understudy.console.page import ConsolePage
from understudy.console.pages.overview import agreement_of
from understudy.console.visits import Visit

Parts = dict[str, Any]
CONFLICT: Final = 409
REVISIONS: Final = 64
DAYS: Final = 7
AGREEMENT_DAYS: Final = 30
AGREEMENT: Final = {"agreed": "good", "disagreed": "bad"}
RULES: Final = "/publication/rules"
QUARANTINE: Final = "/publication/quarantined_rule_names"


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyDocument:
    """A policy or the runtime document, and the operations on it."""

    get: str
    set: str
    revisions: str
    rollback: str
    dry_run: str = ""
    # The fields of the runtime document that are edited; a policy is edited whole.
    names: tuple[str, ...] = ()

    def of(self, view: Mapping[str, Any]) -> Parts:
        """The document in an answer of the API."""
        if not self.names:
            return dict(view["policy"])
        return {name: view[name] for name in self.names if name in view}

    def at(self, revision: Mapping[str, Any]) -> Parts:
        """The document as of a revision."""
        return dict(revision["document"]) if self.names else dict(revision["policy"])

    def body(self, document: object, expected_revision: int | str) -> Parts:
        """The request body that saves the document."""
        if self.names and isinstance(document, dict):
            return {**document, "expected_revision": expected_revision}
        return {"policy": document, "expected_revision": expected_revision}


TABS: Final[Mapping[str, PolicyDocument]] = {
    "learning": PolicyDocument(
        get="learning_policy.get",
        set="learning_policy.set",
        revisions="learning_policy.revisions",
        rollback="learning_policy.rollback",
        dry_run="learning_policy.dry_run",
    ),
    "run_memory": PolicyDocument(
        get="run_memory_policy.get",
        set="run_memory_policy.set",
        revisions="run_memory_policy.revisions",
        rollback="run_memory_policy.rollback",
        dry_run="run_memory_policy.dry_run",
    ),
    "runtime": PolicyDocument(
        get="runtime.get",
        set="runtime.change",
        revisions="runtime.revisions",
        rollback="runtime.rollback",
        names=("default_route", "debug_level"),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyDraft:
    """An edited document that is not saved yet."""

    document: object
    text: str
    # The line at which the text is not valid JSON.
    wrong_line: int | None = None


async def _policy(visit: Visit) -> Parts | str:
    tab = visit.query.get("tab", "learning")
    tab = tab if tab in TABS else "learning"
    kind = TABS[tab]
    view = await visit.call(kind.get)
    schema = _schema(visit, kind)
    current = kind.of(view)
    draft = PolicyDraft(document=current, text=documents.text_of(current))
    outcome: Parts = {}
    if visit.form:
        draft = _edited(visit.form, schema, current)
        done = await _act(visit, tab, draft)
        if isinstance(done, str):
            return done
        outcome = done
    listed = await visit.call(kind.revisions, limit=REVISIONS)
    revisions = [{**each, "text": documents.text_of(kind.at(each))} for each in listed["items"]]
    choices = {}
    if kind.names:
        routes = (await visit.call("routes.list"))["items"]
        choices = {"/default_route": [each["route_id"] for each in routes]}
    return {
        "tab": tab,
        "tabs": tuple(TABS),
        "kind": kind,
        "view": view,
        "form": documents.part_of(schema, draft.document, choices=choices),
        "draft": draft,
        "now": documents.text_of(current),
        "revisions": revisions,
        "chosen": _chosen(visit, revisions),
        "began_with": _began_with(visit, revisions),
        "days": visit.form.get("days", str(DAYS)),
        "errors": {},
        "problem": None,
        "dry_run": None,
        **outcome,
        "twin_operation": kind.get,
        "twin": {},
    }


async def _agreement(visit: Visit) -> Parts:
    """What automation would have decided against what people did, day by day.

    The policy page asks for it when somebody gets there: it reads far more than the policy.
    """
    days = (await visit.call("overview.read", days=AGREEMENT_DAYS))["learning"]
    agreed, number = agreement_of(days)
    return {
        "chart": stacked(days, AGREEMENT),
        "share": round(agreed * 100 / number) if number else None,
        "number": number,
        "days": AGREEMENT_DAYS,
        "twin": {"days": str(AGREEMENT_DAYS)},
    }


def _schema(visit: Visit, kind: PolicyDocument) -> Mapping[str, Any]:
    """The JSON schema of the document: a policy's is one field of its request body."""
    schema = visit.surface.schema(kind.set)
    if not kind.names:
        found: Mapping[str, Any] = schema["anyOf"][0]["properties"]["policy"]
        return found
    properties = {name: schema["properties"][name] for name in kind.names}
    return {"properties": properties, "required": kind.names}


def _edited(form: Mapping[str, str], schema: Mapping[str, Any], current: Parts) -> PolicyDraft:
    """The text of a form with its changed fields merged in, and the change of a button applied."""
    text = form.get("text", "")
    try:
        document = json.loads(text)
        base = json.loads(form.get("base", "")) if form.get("base") else current
    except (ValueError, RecursionError) as problem:
        line = problem.lineno if isinstance(problem, json.JSONDecodeError) else 1
        return PolicyDraft(document=current, text=text, wrong_line=line)
    made = documents.merged(document, base, form, schema)
    action, _, where = form.get("_do", "").partition(":")
    match action:
        case "up":
            made = documents.moved(made, where, -1)
        case "down":
            made = documents.moved(made, where, 1)
        case "remove":
            made = documents.without(made, where)
        case "add":
            made = documents.with_item(made, where, schema)
        case "quarantine":
            made = documents.toggled(made, QUARANTINE, where)
    return PolicyDraft(document=made, text=documents.text_of(made))


async def _act(visit: Visit, tab: str, draft: PolicyDraft) -> Parts | str:
    """Dry-run or save a draft, if a button asks for it; return values to show, or a redirect."""
    kind, action = TABS[tab], visit.form.get("_do", "")
    if draft.wrong_line is not None or action not in ("dry_run", "save"):
        return {}
    try:
        if action == "dry_run":
            days = {"days": number_of(visit.form.get("days", ""))} if tab == "learning" else {}
            return {
                "dry_run": await visit.call(kind.dry_run, body={"policy": draft.document, **days})
            }
        expected = number_of(visit.form.get("revision", ""))
        saved = await visit.call(kind.set, body=kind.body(draft.document, expected))
    except OperationRefused as refused:
        return {
            "problem": refused.problem,
            "is_conflict": refused.status == CONFLICT,
            "http_status": refused.status,
            "errors": {
                each["pointer"].removeprefix("/policy"): each["detail"]
                for each in refused.problem.get("errors", ())
            },
        }
    return f"/policy?{urlencode({'tab': tab, 'saved': saved['revision']})}"


def _chosen(visit: Visit, revisions: list[Parts]) -> Parts | None:
    """The revision that the URL names."""
    wanted = visit.query.get("revision", "")
    return next((each for each in revisions if str(each["revision"]) == wanted), None)


def _began_with(visit: Visit, revisions: list[Parts]) -> Parts | None:
    """The revision that a draft is based on: the newest up to the one that its form names."""
    wanted = number_of(visit.form.get("revision", ""))
    if isinstance(wanted, str):
        return None
    return next((each for each in revisions if each["revision"] <= wanted), None)


PAGES: Final = (
    ConsolePage(
        path="/policy",
        name="policy",
        template="policy.html",
        twin="learning_policy.get",
        load=_policy,
        takes_forms=True,
    ),
    ConsolePage(
        path="/policy/agreement",
        name="policy",
        template="policy_agreement.html",
        twin="overview.read",
        load=_agreement,
    ),
)
