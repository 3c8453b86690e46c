"""The memory inspector: the memory injected into the next prompt, word for word, and why."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from understudy.console.page import ConsolePage
from understudy.console.visits import Visit

# The number of sessions, agents and runs to choose from.
CHOICES: Final = 50
VIEWS: Final = ("chosen", "prompt", "then")
# Colours of the prompt sections; all others share one.
TONES: Final = {
    "Base instructions": "6",
    "Persona": "5",
    "Context files": "3",
    "Skills": "4",
    "learned_context": "1",
    "recovered_memory": "2",
}

# The prompt section of each kind of entry.
SECTIONS: Final = {"learnings": "learned_context", "runs": "recovered_memory"}


async def _memory(visit: Visit) -> dict[str, Any]:
    """The prompt of a session or an agent for an input, and the entries chosen for it."""
    sessions = (await visit.call("sessions.list", limit=CHOICES))["items"]
    agents = (await visit.call("agents.list", limit=CHOICES))["items"]
    of = _chosen(visit.query, sessions, agents)
    if of is None:
        return {"of": None, "twin_operation": "sessions.list", "twin": {}}
    noun, id_ = of
    ids = {f"{noun}_id": id_}
    operation = f"{noun}s.prompt_preview"
    runs = (await visit.call("runs.list", limit=CHOICES, **ids))["items"]
    run = next((each for each in runs if each["run_id"] == visit.query.get("run_id")), None)
    asked = {**ids, "query": visit.query.get("query") or _input_of(run)}
    prompt = await visit.call(operation, **asked)
    report = await visit.call("runs.memory_report", run_id=run["run_id"]) if run else None
    tab = visit.query.get("tab", VIEWS[0])
    entries = prompt["memory"]["entries"]
    return {
        "of": of,
        "sessions": sessions,
        "agents": agents,
        "runs": runs,
        "run": run,
        "query": asked["query"],
        "prompt": prompt,
        "parts": _parts(prompt),
        "groups": (
            _group("learnings", "learning", prompt, most="max_learned_entries"),
            _group("runs", "recovered_run", prompt, most="max_prompt_entries"),
        ),
        "skills": _in_and_out(prompt["skills"], "listed"),
        "report": report,
        "changes": _changes(report, entries) if report else (),
        "tab": tab if tab in VIEWS else VIEWS[0],
        "twin_operation": operation,
        "twin": asked,
    }


def _chosen(
    query: Mapping[str, str],
    sessions: Iterable[Mapping[str, Any]],
    agents: Iterable[Mapping[str, Any]],
) -> tuple[str, str] | None:
    """The session or agent to inspect: from the URL, else the newest session, else an agent."""
    noun, _, named = query.get("of", "").partition(":")
    if noun in ("session", "agent") and named:
        return noun, named
    for noun, those in (("session", sessions), ("agent", agents)):
        if asked := query.get(f"{noun}_id"):
            return noun, asked
        if first := next(iter(those), None):
            return noun, first[f"{noun}_id"]
    return None


def _input_of(run: Mapping[str, Any] | None) -> str:
    """The input of the run that the page compares with."""
    return str(run["request"].get("text_preview") or "") if run else ""


def _parts(prompt: Mapping[str, Any]) -> list[tuple[str, int, str]]:
    """The parts of a prompt with their tokens and colours."""
    return [
        *((it["name"], it["tokens"], TONES.get(it["name"], "5")) for it in prompt["sections"]),
        ("tools", prompt["tool_tokens"], "look"),
        ("messages", prompt["message_tokens"], "good"),
    ]


def _group(name: str, kind: str, prompt: Mapping[str, Any], *, most: str) -> dict[str, Any]:
    """The entries of one kind, their tokens, and the limit on their number."""
    memory = prompt["memory"]
    told, others = _in_and_out([it for it in memory["entries"] if it["kind"] == kind], "injected")
    section = SECTIONS[name]
    used = sum(it["tokens"] for it in prompt["sections"] if it["name"] == section)
    return {"name": name, "told": told, "others": others, "used": used, "most": memory[most]}


def _in_and_out(entries: Iterable[Any], is_in: str) -> tuple[list[Any], list[Any]]:
    """The entries in the prompt, and the others: those over a limit come first."""
    listed = list(entries)
    out = [each for each in listed if not each[is_in]]
    out.sort(key=lambda each: not any(code.startswith("over_") for code in each["reasons"]))
    return [each for each in listed if each[is_in]], out


def _changes(
    report: Mapping[str, Any], entries: Iterable[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """The entries injected into a run against those of the next: added, removed, unchanged."""
    learned = report.get("learned", {}).get("entries", ())
    then = {each["learning_id"]: each for each in learned}
    then |= {each["run_id"]: each for each in report["entries"]}
    now = {each["source_id"]: each for each in entries}
    ids = [id_ for id_, each in now.items() if each["injected"]]
    ids += [id_ for id_, each in then.items() if each["injected"] and id_ not in ids]
    rows = [_change(id_, then.get(id_), now.get(id_)) for id_ in ids]
    return sorted(rows, key=lambda row: ("in", "out", "same").index(row["change"]))


def _change(
    id_: str, then: Mapping[str, Any] | None, now: Mapping[str, Any] | None
) -> Mapping[str, Any]:
    was, is_ = bool(then and then["injected"]), bool(now and now["injected"])
    return {
        "id": id_,
        "change": "same" if was == is_ else ("in" if is_ else "out"),
        "noun": "runs" if id_.startswith("run_") else "learnings",
        "text": now.get("text") if now else None,
        "then": then["explanation"] if then else None,
        "now": now["explanation"] if now else None,
    }


PAGES: Final = (
    ConsolePage(
        path="/memory",
        name="memory",
        template="memory.html",
        twin="sessions.prompt_preview",
        load=_memory,
    ),
)
