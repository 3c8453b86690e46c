"""Verification: whether the source run of a candidate says what the candidate says."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from understudy.core.errors import DamagedRecord
from understudy.learnings.labels import COLONS, LABELS, TURN_ORDERS
from understudy.learnings.model import SEMANTIC_KINDS, Candidate, Origin
from understudy.learnings.quotations import own_words, sentences
from understudy.memory.policy import policy_in
from understudy.memory.record import RunMemory, doubt
from understudy.review.sentence_context import WORD, WORDS, Passages, doubts, words

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

# Results of tools are long: the most that are read, and the most bytes of each.
MAX_ARTIFACTS: Final = 8
MAX_BODY_CHARS: Final = 1024 * 1024
_MARKS: Final = re.compile('["`“”„«»\u2039\u203a「」『』《》]')
MIN_TERMS: Final = 2
# Words that may stand between two content words.
MAX_OTHERS: Final = 2
# The most occurrences that are checked in a repetitive text.
MAX_OCCURRENCES: Final = 100
_LABELS: Final = "|".join(map(re.escape, LABELS))
_INNER: Final = ".,:/-@'’_"
# What may follow a statement: its end, the next label, an order, or a filler.
_CLOSED: Final = re.compile(
    rf"\s*(?:$|\n|[.,;:!?)\]}}\"”»\u203a」』》\u2026|*`\u3002\uff01\uff1f\uff1b\uff0c\u3001\uff1a\uff09]|[-\u2013\u2014]+\s"
    rf"|\W?(?:{_LABELS})\s?[{COLONS}]|(?:{'|'.join(TURN_ORDERS)})\b"
    r"|(?:again|already|always|currently|indeed|now|nowadays|please|thanks|thank|today|too|merci|maintenant|nhé|ạ|了|哦|啊)(?!\w))"
)  # fmt: skip
# Scripts without blanks, where word boundaries are not checked.
_ENDS_NOWHERE: Final = re.compile(r"[\u0e00-\u0eff\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """Where the statement of a candidate was found."""

    run_id: str
    # The request, the outcome, a part of the run memory, or an artifact.
    where: str
    # Whether it is the result of a tool.
    is_by_tool: bool = False


def support_for(unit: "Unit", candidate: Candidate, *, now_ms: int) -> Support | None:
    """The text of the source run that supports a candidate; None if none does."""
    run_id = candidate.source.run_id
    if run_id is None or all(ref.run_id != run_id for ref in candidate.evidence_refs):
        return None
    if candidate.origin is Origin.DAEMON and candidate.kind in SEMANTIC_KINDS:
        for where, text in _kept(unit, run_id, now_ms=now_ms):
            if asserts(candidate.content, _vouched_for(candidate.content, text)):
                return Support(run_id=run_id, where=where)
    for artifact_id, body in _bodies(unit, candidate, run_id):
        if asserts_exactly(candidate.content, body):
            return Support(run_id=run_id, where=f"artifact {artifact_id}", is_by_tool=True)
    return None


def _kept(unit: "Unit", run_id: str, *, now_ms: int) -> Iterator[tuple[str, str]]:
    """The stored texts of a run by name; none if its record is expired."""
    pointer = unit.run_memory_index.get(run_id)
    if pointer is None or policy_in(unit).is_expired(pointer.recorded_at_ms, now_ms=now_ms):
        return
    evidence = unit.run_memory_index.evidence(run_id)
    if evidence is not None:
        yield "request", evidence.request
        yield "outcome", evidence.outcome
    memory = _memory(unit, run_id, session_id=pointer.session_id)
    if memory is None:
        return
    # A preview repeats the evidence without its quotation marks.
    if evidence is None:
        yield "request", memory.request_preview or ""
        yield "outcome", memory.outcome_preview or ""
        yield "summary", memory.summary
    for marker in memory.failure_markers:
        yield "failure", marker


def _vouched_for(content: str, text: str) -> str:
    """A text without its quotations; with them where the statement has quotation marks."""
    return own_words(text, with_marked=bool(_MARKS.search(content)))


def _memory(unit: "Unit", run_id: str, *, session_id: str) -> RunMemory | None:
    """The run memory of a run, if it is readable and not doubtful."""
    try:
        record = unit.run_memories.get(run_id)
    except DamagedRecord:
        return None
    if record is None or doubt(record, session_id=session_id) is not None:
        return None
    return record.memory


def _bodies(unit: "Unit", candidate: Candidate, run_id: str) -> Iterator[tuple[str, str]]:
    """The artifacts of the source run that a candidate refers to."""
    named = dict.fromkeys(
        ref.artifact_id for ref in candidate.evidence_refs if ref.run_id == run_id
    )
    for artifact_id in [it for it in named if it is not None][:MAX_ARTIFACTS]:
        try:
            artifact = unit.artifacts.get(run_id, artifact_id)
        except DamagedRecord:
            continue
        if artifact is not None:
            yield artifact_id, artifact.content[:MAX_BODY_CHARS]


def asserts_exactly(sentence: str, text: str) -> bool:
    """Whether a text asserts the sentence word for word."""
    wanted, where = _normal(sentence).replace("\n", " "), _normal(text)
    return bool(wanted) and _has_exactly(wanted, where, Passages.of(where))


def asserts(sentence: str, text: str) -> bool:
    """Whether a text asserts the sentence, or has its content words in order in one sentence."""
    wanted, where = _normal(sentence).replace("\n", " "), _normal(text)
    if not wanted:
        return False
    passages = Passages.of(where)
    return _has_exactly(wanted, where, passages) or _has_terms(wanted, where, passages)


def _has_exactly(wanted: str, where: str, passages: Passages) -> bool:
    own = doubts(wanted)
    return any(
        passages.doubts_around(start, start + len(wanted)) <= own
        for start in _occurrences(wanted, where)
    )


def _has_terms(wanted: str, where: str, passages: Passages) -> bool:
    asked = words(wanted)
    stops = WORDS.set("fillers.stop_words")
    terms = [word for word in asked if word not in stops]
    if len(set(terms)) < MIN_TERMS:
        return False
    own, between = doubts(wanted), WORDS.set("fillers.ties").union(stops.intersection(asked))
    return any(
        _in_order(terms, where[start:end], between) and passages.doubts_around(start, end) <= own
        for start, end in sentences(where)
    )


def _normal(text: str) -> str:
    """The text in lower case with single blanks and its line breaks, without a final stop."""
    lines = (" ".join(line.split()) for line in text.casefold().splitlines())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip(" \n.;,")


def _occurrences(wanted: str, text: str) -> Iterator[int]:
    """The offsets where a text has these whole words with nothing added."""
    start, on_one_line = -1, text.replace("\n", " ")
    for _ in range(MAX_OCCURRENCES):
        start = on_one_line.find(wanted, start + 1)
        if start < 0:
            return
        end = start + len(wanted)
        before, after = text[max(0, start - 2) : start][::-1], text[end : end + 2]
        if _goes_on(before, wanted[0]) or _goes_on(after, wanted[-1]):
            continue
        if _CLOSED.match(text, end):
            yield start


def _goes_on(beyond: str, edge: str) -> bool:
    """Whether a word or number continues beyond an offset."""
    if not edge.isalnum() or _ENDS_NOWHERE.match(edge):
        return False
    nearest = beyond[:1]
    if nearest and nearest in _INNER:
        nearest = beyond[1:2]
    return nearest.isalnum() and not _ENDS_NOWHERE.match(nearest)


def _in_order(terms: Sequence[str], sentence: str, between: frozenset[str]) -> bool:
    """Whether a sentence has all terms in order, with few words between them."""
    placed = list(WORD.finditer(sentence))
    said = [word[0] for word in placed]
    if not set(terms) <= set(said):
        return False
    starts = [at for at, word in enumerate(said) if word == terms[0]][:MAX_OCCURRENCES]
    lasts = (_reached(terms, said, start, between) for start in starts)
    return any(_CLOSED.match(sentence, placed[at].end()) for at in lasts if at is not None)


def _reached(
    terms: Sequence[str], said: Sequence[str], start: int, between: frozenset[str]
) -> int | None:
    """The index of the last term if all follow from a position."""
    at, others = start, 0
    for term in terms[1:]:
        at += 1
        while at < len(said) and said[at] != term:
            if said[at] not in between:
                others += 1
                if others > MAX_OTHERS or said[at] not in WORDS.set("fillers.adverbs"):
                    return None
            at += 1
        if at == len(said):
            return None
    return at
