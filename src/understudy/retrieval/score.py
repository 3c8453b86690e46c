"""The score of each document for a question: its terms, names, time, and neighbouring documents."""

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Final

from understudy.retrieval.documents import (
    Document,
    Match,
    Prepared,
    Scored,
    Statistics,
    TextTerms,
    prepare,
)
from understudy.retrieval.question import RetrievalQuestion, ask
from understudy.retrieval.tuning import TUNING, Tuning

# Strengths of matched clues, by their number in the question.
Strengths = dict[int, float]
# Rejects 49 of 50 questions without an answer in the store, and 1 in 50 of the others.
RECOMMENDED_FLOOR: Final = 0.45
DIGITS: Final = 6
# Names of matches that are no field of the document.
ABOUT: Final = "about"
TIME: Final = "time"
NEIGHBOURS: Final = "neighbours"
_DIGITS: Final = re.compile(r"(\d+)")


@dataclass(slots=True)
class FieldFinding:
    """The matches of one field: strengths of clues, and whether it has the whole question."""

    name: str
    weight: float
    reading: TextTerms
    strengths: Strengths
    has_whole_query: bool


@dataclass(slots=True)
class DocumentFinding:
    """The matches of a document, and the strengths that its neighbours lend it."""

    prepared: Prepared
    fields: list[FieldFinding]
    heaviest: float
    is_subject: bool
    has_evidence: bool = False
    strengths: Strengths = field(default_factory=dict)
    lent: Strengths = field(default_factory=dict)
    # Without a match of its own, a document is found by neighbours of the same time.
    is_carried: bool = False

    @property
    def at_ms(self) -> int:
        """The time of the document."""
        return self.prepared.document.at_ms


def find(question: RetrievalQuestion, prepared: Prepared, tuning: Tuning) -> DocumentFinding:
    """Match all clues in all fields."""
    longer = prepared.length / question.average_length
    stretch = tuning.saturation * (1 - tuning.length + tuning.length * longer)
    held = question.numbers.keys() & prepared.terms
    heaviest = max((weight for _, weight, _ in prepared.texts if weight), default=1.0)
    finding = DocumentFinding(
        prepared=prepared,
        fields=[
            FieldFinding(
                name=name,
                weight=tuning.source * heaviest if weight is None else weight,
                reading=text,
                strengths=_terms(question, held, text, stretch, tuning) if held else {},
                has_whole_query=bool(question.flat) and question.flat in text.flat,
            )
            for name, weight, text in prepared.texts
        ],
        heaviest=heaviest,
        is_subject=not question.names.isdisjoint(prepared.subject),
    )
    finding.has_evidence = finding.is_subject or _is_evidence(question, finding)
    # Documents that neither match nor have neighbours are done.
    if finding.has_evidence or prepared.document.session is not None:
        _look_closer(question, finding, tuning)
    return finding


def _terms(
    question: RetrievalQuestion, held: Set[str], text: TextTerms, stretch: float, tuning: Tuning
) -> Strengths:
    counts, top = text.counts, 1 + tuning.saturation
    return {
        question.numbers[term]: top * counts[term] / (counts[term] + stretch)
        for term in held
        if term in counts
    }


def _look_closer(question: RetrievalQuestion, finding: DocumentFinding, tuning: Tuning) -> None:
    """Match similar words, and add up the fields."""
    for it in finding.fields:
        it.strengths |= _similar(question, it.reading, tuning)
        for number, strength in it.strengths.items():
            before = finding.strengths.get(number, 0.0)
            finding.strengths[number] = before + it.weight * strength


def _similar(question: RetrievalQuestion, text: TextTerms, tuning: Tuning) -> Mapping[int, float]:
    shares = {
        number: sum(gram in text.written for gram in clue.grams) / len(clue.grams)
        for number, clue in question.similar.items()
        if clue.term not in text.counts
    }
    return {number: share for number, share in shares.items() if share >= tuning.least_similarity}


def _is_evidence(question: RetrievalQuestion, finding: DocumentFinding) -> bool:
    """Whether the document itself, not only a neighbour, matches the question."""
    for it in finding.fields:
        if it.has_whole_query or not question.telling.isdisjoint(it.strengths):
            return True
    return question.asks_only_when and question.covers(finding.at_ms)


def rank(
    query: str,
    documents: Sequence[Document | Prepared],
    *,
    statistics: Statistics | None = None,
    now_ms: int | None = None,
    tuning: Tuning = TUNING,
) -> tuple[Scored, ...]:
    """All documents with their scores: best first, then newest, then highest id."""
    prepared = [it if isinstance(it, Prepared) else prepare(it) for it in documents]
    question = ask(query, prepared, statistics=statistics, now_ms=now_ms, tuning=tuning)
    findings = [find(question, it, tuning) for it in prepared]
    if tuning.context:
        _share(findings, prepared, tuning)
    found = [scored(question, it, tuning) for it in findings]
    return tuple(sorted(found, key=lambda it: (it.score, it.at_ms, it.id), reverse=True))


def _share(findings: list[DocumentFinding], prepared: list[Prepared], tuning: Tuning) -> None:
    strengths = [it.strengths for it in findings]
    for conversation in conversations(prepared):
        pieces = [findings[position] for position in conversation]
        lent = lend([strengths[position] for position in conversation], tuning)
        for at, piece in enumerate(pieces):
            near = pieces[max(0, at - tuning.context_reach) : at + tuning.context_reach + 1]
            piece.lent = lent[at]
            piece.is_carried = tuning.carries and any(
                it.has_evidence and it.at_ms == piece.at_ms for it in near
            )


def relevant(scored: Scored, floor: float) -> bool:
    """Whether the coverage reaches the floor; 0 accepts everything."""
    return scored.coverage >= floor


def conversations(prepared: Sequence[Prepared]) -> tuple[tuple[int, ...], ...]:
    """The positions of the documents of each conversation, in order of time."""
    by_session: dict[str, list[int]] = defaultdict(list)
    for position, it in enumerate(prepared):
        if it.document.session is not None:
            by_session[it.document.session].append(position)
    return tuple(
        tuple(sorted(positions, key=lambda at: _order(prepared[at])))
        for _, positions in sorted(by_session.items())
        if len(positions) > 1
    )


def lend(held: Sequence[Mapping[int, float]], tuning: Tuning) -> list[dict[int, float]]:
    """The strengths that neighbours lend each document, beyond its own."""
    shares = [tuning.context_decay**step for step in range(tuning.context_reach)]
    lent: list[dict[int, float]] = [{} for _ in held]
    for at, own in enumerate(held):
        for step, share in enumerate(shares, 1):
            for near in (at - step, at + step):
                if own and 0 <= near < len(held):
                    _add(lent[near], own, share, held[near])
    return lent


def _add(
    lent: dict[int, float], near: Mapping[int, float], share: float, own: Mapping[int, float]
) -> None:
    for number, strength in near.items():
        more = strength * share - own.get(number, 0.0)
        if more > lent.get(number, 0.0):
            lent[number] = more


def _order(it: Prepared) -> tuple[int, list[tuple[int, int, str]]]:
    """Sort key: time, then id with its numbers by value."""
    parts = _DIGITS.split(it.document.id)
    return it.document.at_ms, [
        (0, int(part[:18]), part) if part.isascii() and part.isdigit() else (1, 0, part)
        for part in parts
    ]


def scored(question: RetrievalQuestion, finding: DocumentFinding, tuning: Tuning) -> Scored:
    """The score of a document; 0 without a match, unless neighbours of the same time carry it."""
    is_found = finding.has_evidence or finding.is_carried
    matches = _matches(question, finding, tuning) if is_found else []
    return Scored(
        id=finding.prepared.document.id,
        score=round(math.fsum(it.points for it in matches), DIGITS),
        coverage=round(_coverage(question, finding, tuning), DIGITS) if is_found else 0.0,
        at_ms=finding.at_ms,
        matches=tuple(matches),
    )


def _matches(question: RetrievalQuestion, finding: DocumentFinding, tuning: Tuning) -> list[Match]:
    matches = [_field(question, it, tuning) for it in finding.fields]
    if finding.is_subject:
        names = tuple(it.shown for it in question.terms if it.text in question.names)
        matches.append(_match(ABOUT, names, tuning.subject * finding.heaviest))
    if question.period is not None:
        points = tuning.date * question.period.points * question.period.fit(finding.at_ms)
        matches.append(_match(TIME, (question.period.words,), points * finding.heaviest))
    if finding.lent:
        points = tuning.context * _sum(question, finding.lent)
        matches.append(_match(NEIGHBOURS, _shown(question, finding.lent), points))
    return [it for it in matches if it.points > 0]


def _field(question: RetrievalQuestion, it: FieldFinding, tuning: Tuning) -> Match:
    points = _sum(question, it.strengths)
    if it.strengths and question.asking <= it.strengths.keys():
        points += tuning.all_terms * question.weight
    if it.has_whole_query:
        points += tuning.whole_query * max(1.0, question.weight)
    return _match(it.name, _shown(question, it.strengths), it.weight * points)


def _match(field: str, terms: tuple[str, ...], points: float) -> Match:
    return Match(field=field, terms=terms, points=round(points, DIGITS))


def _sum(question: RetrievalQuestion, strengths: Strengths) -> float:
    weights = question.weights
    return math.fsum(weights[number] * strength for number, strength in strengths.items())


def _shown(question: RetrievalQuestion, strengths: Strengths) -> tuple[str, ...]:
    """The matched words of the question; similar ones are marked."""
    shown = question.shown
    return tuple(dict.fromkeys(shown[number] for number in sorted(strengths)))


def _coverage(question: RetrievalQuestion, finding: DocumentFinding, tuning: Tuning) -> float:
    """The share of the question that the document covers; neighbours count in part."""
    if any(it.has_whole_query for it in finding.fields):
        return 1.0
    if not question.asks:
        return float(finding.has_evidence)
    covered = [_date_covered(question, finding, tuning)]
    for number, clue in enumerate(question.terms):
        if number in finding.strengths or clue.text in finding.prepared.subject:
            covered.append(clue.asks)
        elif number in finding.lent:
            share = min(1.0, finding.lent[number] / finding.heaviest)
            covered.append(clue.asks * tuning.context_coverage * share)
    return min(1.0, math.fsum(covered) / question.asks)


def _date_covered(question: RetrievalQuestion, finding: DocumentFinding, tuning: Tuning) -> float:
    if question.period is None:
        return 0.0
    is_told = bool(question.dated) and question.dated <= finding.strengths.keys()
    return tuning.date_coverage if is_told or question.covers(finding.at_ms) else 0.0
