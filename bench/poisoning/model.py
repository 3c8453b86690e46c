"""An obedient model: it does what any text in its prompt says, and believes all of it."""

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from understudy.learnings.extraction import INSTRUCTIONS as EXTRACTION
from understudy.learnings.quotations import OTHERS
from understudy.review.judge import INSTRUCTIONS as JUDGE
from understudy.testing.answers import Answer, FakeCall, SeenRequest

ORDER: Final = re.compile(r"CALL (\w+) (\{.*?\}) END", re.DOTALL)
# What an honest user asks for, and the calls that do it.
WISHES: Final[tuple[tuple[str, Callable[[str], FakeCall]], ...]] = (
    (r"read (\S+\.txt)", lambda it: FakeCall(name="read_file", arguments={"path": it})),
    (r"list my files()", lambda _: FakeCall(name="list_files")),
    (r"search the files for (\S+)", lambda it: _call("search_files", pattern=it)),
    (r"fetch (http\S+)", lambda it: _call("fetch_url", url=it)),
    (r"look up (\S+)", lambda it: _call("lookup", ticket=it)),
    (r"follow the skill (\S+)", lambda it: _call("use_skill", name=it)),
    (r"helper look into (\S+[^.\s])", lambda it: _call("spawn_sidechain", task=f"inquiry {it}")),
)
_TOKEN: Final = re.compile(r"zq\d{3}[a-z]x")
_SENTENCE: Final = re.compile(r"[^.!?\n\u3002]*(?:zq\d{3}[a-z]x|hx\d{3})[^.!?\n\u3002]*")
# The marks around the words of others.
_UNMARKED: Final = str.maketrans("", "", OTHERS)
_LEAD: Final = re.compile(
    r"^(?:.*?[:\uff1a]\s*|.*?\b(?:remember|note) that |By the way, |For the record, |From now on, )"
)


def _call(tool: str, /, **arguments: str) -> FakeCall:
    return FakeCall(name=tool, arguments=arguments)


@dataclass
class ObedientModel:
    """Answers runs, extraction and the judge; remembers the prompts of runs by their last words."""

    # Whether it names strangers' words as the user's, and as a judge finds that they are.
    quotes: bool = False
    # What sub-agents find, by the words of their task.
    findings: dict[str, str] = field(default_factory=dict)
    # What users have their agent write down, by its name.
    notes: dict[str, str] = field(default_factory=dict)
    # The tokens of orders that it carried out, or proposed to keep.
    obeyed: set[str] = field(default_factory=set)
    # The system text of each run, by what its user said.
    prompts: dict[str, str] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, seen: SeenRequest) -> Answer:
        """What it says or does next."""
        answer = self._answer(seen)
        said = (answer.text, *(it.raw_arguments for it in answer.calls))
        with self._lock:
            self.obeyed.update(_TOKEN.findall(" ".join(said)))
        return answer

    def _answer(self, seen: SeenRequest) -> Answer:
        if seen.system == EXTRACTION:
            found = _proposals(json.loads(seen.last_user), quotes=self.quotes)
            return Answer(text=json.dumps(found))
        if seen.system == JUDGE:
            verdict = {"action": "publish_active", "reason": "fine", "supported": self.quotes}
            return Answer(text=json.dumps(verdict))
        with self._lock:
            self.prompts[seen.last_user] = seen.system
        return self._work(seen)

    def _work(self, seen: SeenRequest) -> Answer:
        tools = (it["function"].get("description", "") for it in seen.body.get("tools") or ())
        turns = (turn.text for turn in seen.turns if turn.role != "assistant")
        said = "\n".join((*turns, *tools))
        if found := next(
            (it for task, it in self.findings.items() if task in seen.last_user), None
        ):
            return Answer(text=found)
        made = list(_made(seen.body))
        for name, text in self.notes.items():
            if f"write {name} into" in seen.last_user and "write_file" not in dict(made):
                return Answer(calls=(_call("write_file", path="HEARTBEAT.md", content=text),))
            if f"make a task of {name}" in seen.last_user and "project_tasks" not in dict(made):
                task = {"action": "create", "title": "Look at it", "description": text}
                return Answer(calls=(FakeCall(name="project_tasks", arguments=task),))
        if re.search(r"write keep-|make a task of keep-", seen.last_user):
            return Answer(text="It is kept.")
        for wanted in (*_wished(seen), *_ordered(said)):
            if (wanted.name, wanted.raw_arguments) not in made:
                return Answer(calls=(_named(wanted, seen.body),))
        if made and made[-1][0] == "spawn_sidechain":
            return Answer(calls=(FakeCall(name="wait_sidechain"),))
        believed = dict.fromkeys(it.strip() for it in _SENTENCE.findall(ORDER.sub(_plain, said)))
        return Answer(text="Done. " + ". ".join(believed))


def _plain(order: re.Match[str]) -> str:
    """The words of an order, as a believer repeats them."""
    try:
        words = json.loads(order[2])
    except ValueError:
        return order[2]
    return " ".join(str(it) for it in words.values())


def _ordered(said: str) -> Iterator[FakeCall]:
    for name, raw in dict.fromkeys(ORDER.findall(said)):
        try:
            yield FakeCall(name=name, arguments=json.loads(raw, strict=False))
        except ValueError:
            continue


def _wished(seen: SeenRequest) -> Iterator[FakeCall]:
    for pattern, make in WISHES:
        if found := re.search(pattern, seen.last_user):
            yield make(found[1])


def _named(wanted: FakeCall, body: Mapping[str, Any]) -> FakeCall:
    """The call by the name that the request offers: tools of MCP servers have a prefix."""
    names = [it["function"]["name"] for it in body.get("tools") or ()]
    full = next((it for it in names if it.endswith(wanted.name)), wanted.name)
    return FakeCall(name=full, arguments=wanted.arguments)


def _made(body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The calls of the conversation, with sorted out prefixes."""
    for message in body.get("messages") or ():
        for each in message.get("tool_calls") or ():
            name = str(each["function"]["name"])
            yield "lookup" if name.endswith("lookup") else name, each["function"]["arguments"]


def _proposals(material: Mapping[str, Any], *, quotes: bool) -> dict[str, Any]:
    """Every sentence with a token in it, whoever said it, with `quotes` as the user's own words."""
    text = f"{material['request']}\n{material['outcome']}".translate(_UNMARKED)
    found = dict.fromkeys(
        _LEAD.sub("", it.strip(" >-\"'")).strip() for it in _SENTENCE.findall(text)
    )
    said = [it for it in found if it][: int(material["max_candidates"])]
    made = [{"kind": "fact", "content": it, "confidence": 99} for it in said]
    if quotes:
        return {"candidates": [{**it, "quote": it["content"]} for it in made]}
    return {f"candidate_{number}": it for number, it in enumerate(made, 1)}
