"""What is learned of the corpora: by rules alone, and by a daemon whose model is good, bad or broken.

*Offline* is what the rules say. *Pipeline* is a run over HTTP, the capture of a model double, the policy and
verification, up to the learning that a later prompt is given. The public corpora are guards and no measure.
"""

import gzip
import itertools
import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx2

from bench.report import figure, heading
from tests.support.daemon import DaemonProcess, wait_for
from understudy.learnings.assertion import is_said_by_user
from understudy.learnings.extraction import INSTRUCTIONS as EXTRACTION
from understudy.learnings.keys import obvious_relation
from understudy.learnings.neighbours import INSTRUCTIONS as COMPARE
from understudy.learnings.proof import quoted_words
from understudy.learnings.quotations import sentences
from understudy.review.judge import INSTRUCTIONS as JUDGE
from understudy.testing.answers import SeenRequest
from understudy.testing.fake_model import FakeModel

Row = Mapping[str, Any]
# What a double answers when it is asked about a row: the extraction's payload in, its answer out.
Double = Callable[[Row, Mapping[str, Any]], str]
LANGUAGES: Final = ("en", "vi", "zh")
KINDS: Final = ("fact", "preference", "decision")
POLICY: Final = "/v1/runtime/learning-policy"
WORKSPACE: Final = {"kind": "workspace", "id": "default"}
AT_ONCE: Final = 6
PATIENCE_S: Final = 120.0
QUICK: Final = 10
# Most of the words of a statement are in the learning that tells it.
SHARE: Final = 0.8
JUDGED: Final = {"action": "publish_active", "reason": "plain", "supported": True}
# Rows of which nothing may be told, whatever a model quotes; of the others only a reader can tell.
NEVER_TOLD: Final = {
    "strangers' words": ("quoted", "page", "mail", "code", "config", "table", "unsupported.quoted"),
    "questions": ("question", "unsupported.asked"),
    "conditions": ("unsupported.conditional",),
    "retractions": ("unsupported.taken_back",),
}
# The person of a statement, as a model that speaks of the user writes it.
_THIRD: Final = (
    (re.compile(r"\b(?:I|We)\b|^we\b"), "the user"),
    (re.compile(r"\b(?:my|our)\b", re.IGNORECASE), "the user's"),
    (re.compile(r"\b(?:tôi|mình|chúng tôi)\b", re.IGNORECASE), "người dùng"),
    (re.compile("我们|我"), "用户"),
)
_OTHERS: Final = re.compile("\u27e6(.*?)\u27e7", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Told:
    """A row, what was to be learned of it, and the learnings that prompts are given of it."""

    row: Row
    # Of each statement the wordings that will do.
    wanted: tuple[tuple[str, ...], ...]
    learned: tuple[str, ...]

    @property
    def found(self) -> int:
        """How many of the wanted statements are told."""
        return sum(
            any(_says(it, text) for it in self.learned for text in texts) for texts in self.wanted
        )


@dataclass
class Pipeline:
    """A daemon, and the doubles that its model plays."""

    client: httpx2.Client
    rows: dict[str, tuple[Row, Double]] = field(default_factory=dict)
    # The relation of a new statement to a known one, where the double of relations names one.
    relations: dict[tuple[str, str], str] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def answer(self, seen: SeenRequest) -> str | None:
        """What the model of the daemon says."""
        if seen.system == JUDGE:
            return json.dumps(JUDGED)
        if seen.system not in {EXTRACTION, COMPARE}:
            return "Noted."
        asked = json.loads(seen.last_user)
        if seen.system == EXTRACTION:
            row, double = self.rows[asked["session_id"]]
            return double(row, asked)
        named = ((it["id"], self.relations.get((asked["statement"], it["content"])))
                 for it in asked["known"])  # fmt: skip
        return json.dumps({"relations": [{"id": id_, "is": it} for id_, it in named if it]})

    def call(self, method: str, path: str, body: object = None) -> Any:
        """The answer to a call that must succeed."""
        answer = self.client.request(method, path, json=body)
        if not answer.is_success:
            raise RuntimeError(f"{method} {path}: {answer.text[:400]}")
        return answer.json()

    def policy(self, *, route: str, judge: bool = False) -> None:
        """Publish facts, preferences and decisions at once, found and compared on a route."""
        model = {"provider": route}
        rules = [{"name": it, "kind": it, "action": "publish_active"} for it in KINDS]
        policy = {
            "mode": "enabled",
            "capture": {
                "run_summary_candidates": False,
                "semantic_candidates": {"enabled": True, "model": model},
            },
            "publication": {"rules": rules},
            "judge": {"enabled": judge, "model": {"provider": "fake"}},
            "conflicts": {"model": model},
        }
        self.call("POST", POLICY, {"policy": policy})

    def told(self, rows: Sequence[Row], double: Double) -> list[Told]:
        """What prompts are given of each row, each in a session of its own."""
        with ThreadPoolExecutor(AT_ONCE) as pool:
            return list(pool.map(lambda row: self._told(row, double), rows))

    def _told(self, row: Row, double: Double) -> Told:
        session = f"bench-{next(self._numbers)}"
        self.rows[session] = row, double
        self.call("POST", "/v1/sessions", {"session_id": session})
        sent = {"content": row["request"]}
        run_id = self.call("POST", f"/v1/sessions/{session}/runs", sent)["run_id"]
        here = f"scope_kind=session&scope_id={session}&limit=50"

        def is_decided() -> bool:
            answer = self.client.get(f"/v1/run-memories/{run_id}")
            if not answer.is_success or answer.json()["capture"]["state"] == "pending":
                return False
            found = self.call("GET", f"/v1/learning-candidates?{here}")["items"]
            return all("automation_review" in it for it in found)

        wait_for(is_decided, PATIENCE_S, what=f"{row['id']} to be reviewed")
        learned = self.call("GET", f"/v1/learnings?{here}&status=active")["items"]
        expected = row.get("expected") or [{"content": it} for it in _gold(row)]
        wanted = tuple((it["content"], *it.get("alt", ())) for it in expected)
        said = tuple((*texts, *map(_third_person, texts)) for texts in wanted)
        return Told(row, said, tuple(it["content"] for it in learned))

    def relation(self, row: Row, known_id: str) -> str:
        """What comes of learning the second statement of a pair beside the whole store."""
        new = {"content": row["b"], "kind": row["kind"], "scope": WORKSPACE}
        answer = self.client.post("/v1/learnings", json=new)
        if answer.status_code == httpx2.codes.CONFLICT:
            refused = answer.json().get("params", {}).get("learning_id")
            return "conflict" if refused == known_id else "conflict with another"
        learning = answer.json()
        if learning.get("already"):
            return "same"
        self.call("POST", f"/v1/learnings/{learning['learning_id']}/revoke", {})
        return "unrelated"


def _gold(row: Row) -> tuple[str, ...]:
    """What a perfect model finds in a row."""
    if "statement" in row:
        return (row["statement"],)
    return tuple(it["content"] for it in row["expected"])


def _third_person(text: str) -> str:
    for found, instead in _THIRD:
        text = found.sub(instead, text)
    return text


def _says(learned: str, wanted: str) -> bool:
    have, words = set(quoted_words(learned)), quoted_words(wanted)
    return bool(words) and sum(it in have for it in words) >= SHARE * len(words)


def _quote(request: str, statement: str) -> str:
    """The statement's own span in a request, else the sentence with most of its words."""
    at = request.casefold().find(statement.casefold())
    if at >= 0:
        return request[at : at + len(statement)]
    words = set(quoted_words(statement))
    parts = [request[start:end].strip() for start, end in sentences(request)] or [request]
    return max(parts, key=lambda it: len(words & set(quoted_words(it))))


def _candidates(*found: Mapping[str, Any]) -> str:
    return json.dumps({"candidates": [{"confidence": 95, **it} for it in found]})


def right(row: Row, asked: Mapping[str, Any], say: Callable[[str], str] = str) -> str:
    """A model that finds what was said, and quotes it."""
    kinds = [it["kind"] for it in row.get("expected", ())] or [row.get("kind")]
    said = zip(kinds, _gold(row), strict=True)
    found = ((kind, say(text), _quote(row["request"], text)) for kind, text in said)
    return _candidates(*(dict(zip(("kind", "content", "quote"), it, strict=True)) for it in found))


def third_person(row: Row, asked: Mapping[str, Any]) -> str:
    """The same, as a sentence about the user."""
    return right(row, asked, _third_person)


def eager(row: Row, asked: Mapping[str, Any]) -> str:
    """A model that takes something wrong from every request, and quotes it from there."""
    if "statement" in row:
        return right(row, asked)
    parts = [row["request"][start:end].strip() for start, end in sentences(row["request"])]
    wrong = [it for it in parts if any(text in it for text in row["forbidden"])]
    said = max(wrong or parts or [row["request"]], key=len)
    return _candidates({"kind": "fact", "content": said, "quote": said})


def strangers(row: Row, asked: Mapping[str, Any]) -> str:
    """A model that quotes what others wrote, or the agent answered, as the user's."""
    others = " ".join(_OTHERS.findall(asked["request"])).strip() or str(asked["outcome"])
    said = max((others[start:end].strip() for start, end in sentences(others)), key=len)
    return _candidates({"kind": "fact", "content": said, "quote": said})


def malformed(row: Row, asked: Mapping[str, Any]) -> str:
    """A model that never answers in the agreed form."""
    return '{"candidates": "The user said'


def main(*, quick: bool = False, corpora: Path) -> bool:
    """Measure every corpus that is there; answers whether every target was met."""
    heading("What is learned, offline and by the pipeline")
    met: list[bool] = []
    with _pipeline() as pipeline:
        for name, measure in (
            ("capture", _capture),
            ("verification", _verification),
            ("contradiction", _contradiction),
        ):
            path = corpora / f"{name}.jsonl.gz"
            if not path.is_file():
                print(f"  skipped: no {path.name} in {corpora} (name another place with --corpora)")
                continue
            with gzip.open(path, "rt", encoding="utf-8") as lines:
                rows = [json.loads(line) for line in lines]
            met += measure(pipeline, rows[::QUICK] if quick else rows)
    return all(met)


@contextmanager
def _pipeline() -> Iterator[Pipeline]:
    with tempfile.TemporaryDirectory() as folder, FakeModel() as fake:
        fake.script_captures = True
        config = (
            f'default_route = "fake"\n[routes.fake]\nprovider = "openai"\nmodel = "fake"\n'
            f'base_url = "{fake.url}"\n[routes.offline]\nprovider = "scripted"\n'
        )
        with (
            DaemonProcess(Path(folder) / "home", config=config) as daemon,
            daemon.client(timeout=PATIENCE_S) as client,
        ):
            pipeline = Pipeline(client)
            fake.rule = pipeline.answer
            yield pipeline


def _capture(pipeline: Pipeline, rows: Sequence[Row]) -> list[bool]:
    heading("Capture: what users said in their runs")
    said, nothing = [it for it in rows if it["expected"]], [it for it in rows if not it["expected"]]
    pipeline.policy(route="offline")
    _by_language("offline, labels alone: told", _found(pipeline.told(said, right)))
    _share("offline, something told of nothing", pipeline.told(nothing, right))
    met = []
    for judge, name, least in ((False, "judge off", 90.0), (True, "judge says supported", 95.0)):
        pipeline.policy(route="fake", judge=judge)
        for person, double in (("right", right), ("third person", third_person)):
            found = _found(pipeline.told(said, double))
            met += _by_language(f"{person}, {name}: told", found, at_least=least)
    pipeline.policy(route="fake")
    _by_language("a malformed model: told", _found(pipeline.told(said, malformed)))
    met += _never_told("an eager model", pipeline.told(nothing, eager))
    met += _never_told("a model that quotes strangers", pipeline.told(nothing, strangers))
    return met


def _verification(pipeline: Pipeline, rows: Sequence[Row]) -> list[bool]:
    heading("Verification: what the user's words support")
    held = [it for it in rows if it["label"] == "supported"]
    loose = [it for it in rows if it["label"] != "supported"]
    offline = [
        _percent(sum(is_said_by_user(it["statement"], it["request"]) for it in some), len(some))
        for some in (held, loose)
    ]
    figure("offline: supported found", offline[0], "%")
    met = [figure("offline: false support", offline[1], "%", at_most=2.0)]
    for judge, name in ((False, "judge off"), (True, "judge says supported")):
        pipeline.policy(route="fake", judge=judge)
        _by_language(f"{name}: supported told", _found(pipeline.told(held, right)))
        # Also with a judge that says yes to everything.
        met += _never_told(name, pipeline.told(loose, eager))
    return met


def _contradiction(pipeline: Pipeline, rows: Sequence[Row]) -> list[bool]:
    heading("Contradictions: the second statement of each pair, beside all the first ones")
    words = {"contradicts": "conflict", "same": "same"}
    offline = [words.get(str(obvious_relation(it["a"], it["b"])), "unrelated") for it in rows]
    met = _relations("offline", rows, offline)
    pipeline.policy(route="fake")
    names = {it: name for name, it in words.items()}
    known = [it for it in rows if it["relation"] in names]
    pipeline.relations |= {(it["b"], it["a"]): names[it["relation"]] for it in known}
    firsts = [
        {"content": it["a"], "kind": it["kind"], "scope": WORKSPACE, "beside": True} for it in rows
    ]
    ids = [pipeline.call("POST", "/v1/learnings", it)["learning_id"] for it in firsts]
    found = [pipeline.relation(row, id_) for row, id_ in zip(rows, ids, strict=True)]
    return met + _relations("pipeline", rows, found, held=90.0)


def _relations(
    name: str, rows: Sequence[Row], found: Sequence[str], *, held: float | None = None
) -> list[bool]:
    pairs = list(zip(rows, found, strict=True))
    met = []
    for relation, said in (("conflict", "contradictions held"), ("same", "same known")):
        # A conflict with another first statement holds it all the same.
        some = [
            (row["lang"], int(it.startswith(relation)), 1)
            for row, it in pairs
            if row["relation"] == relation
        ]
        least = held if relation == "conflict" else None
        met += _by_language(f"{name}: {said}", some, at_least=least)
    others = [it for row, it in pairs if row["relation"] != "conflict"]
    false = _percent(others.count("conflict"), len(others))
    beside = others.count("conflict with another")
    figure(f"{name}: conflicts with the first statement of another pair", beside, "pairs")
    return [*met, figure(f"{name}: false conflicts", false, "%", at_most=1.0)]


def _found(told: Sequence[Told]) -> list[tuple[str, int, int]]:
    """The language of each row, how many statements are told, and of how many."""
    return [(it.row["lang"], it.found, len(it.wanted)) for it in told]


def _by_language(
    name: str, counts: Sequence[tuple[str, int, int]], *, at_least: float | None = None
) -> list[bool]:
    met = []
    for language in ("all", *LANGUAGES):
        some = [(part, whole) for lang, part, whole in counts if language in ("all", lang)]
        part, whole = sum(it for it, _ in some), sum(it for _, it in some)
        aim = at_least if whole else None
        met.append(
            figure(f"{name}, {language} ({whole})", _percent(part, whole), "%", at_least=aim)
        )
    return met


def _never_told(name: str, found: Sequence[Told]) -> list[bool]:
    """What must not be told, by why; the rest is printed without a target."""
    met, rest = [], list(found)
    for of, categories in NEVER_TOLD.items():
        some = [it for it in found if it.row["category"] in categories]
        rest = [it for it in rest if it not in some]
        if some:
            met.append(_share(f"{name}: {of} told", some, at_most=1.0))
    _share(f"{name}: the rest (tasks, the moment) told", rest)
    return met


def _share(name: str, found: Sequence[Told], *, at_most: float | None = None) -> bool:
    told = _percent(sum(bool(it.learned) for it in found), len(found))
    return figure(f"{name} ({len(found)})", told, "%", at_most=at_most)


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0
