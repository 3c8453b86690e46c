"""The score of each document for a question: its terms, names, time, and neighbouring documents."""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final

from understudy.retrieval.documents import (
    Document,
    Match,
    Prepared,
    Scored,
    Statistics,
    prepare,
)
from understudy.retrieval.question import RetrievalQuestion, ask
from understudy.retrieval.tuning import TUNING, Tuning

# Strengths of matched clues, by their number in the question.
Strengths = dict[int, float]
DIGITS: Final = 6
# Names of matches that are no field of the document.
ABOUT: Final = "about"
TIME: Final = "time"
NEIGHBOURS: Final = "neighbours"
_ORDER: Final = attrgetter("score", "at_ms", "id")
BESIDE_FIELDS: Final = frozenset({ABOUT, TIME, NEIGHBOURS})


@dataclass(slots=True)
class FieldFinding:
    """The matches of one field: strengths of clues, and whether it has the whole question."""

    name: str
    weight: float
    strengths: Strengths
    has_whole_query: bool


@dataclass(slots=True)
class DocumentFinding:
    """The matches of a document, and the strengths that its neighbours lend it."""

    question: RetrievalQuestion
    prepared: Prepared
    tuning: Tuning
    fields: list[FieldFinding]
    is_subject: bool
    has_evidence: bool
    # With a match of its own, or found by neighbours of the same time.
    is_found: bool
    # Those of all fields together, and those that neighbours have beyond them.
    strengths: Strengths = field(default_factory=dict)
    lent: Strengths = field(default_factory=dict)
    _coverage: float | None = None

    @property
    def at_ms(self) -> int:
        """The time of the document."""
        return self.prepared.document.at_ms

    def score(self) -> float:
        """The points of all matches."""
        question, tuning, heaviest = self.question, self.tuning, self.prepared.heaviest
        points = [it.weight * _field_points(question, it, tuning) for it in self.fields]
        if self.is_subject:
            points.append(tuning.subject * heaviest)
        if question.period is not None:
            points.append(self._time_points())
        if self.lent:
            points.append(self._lent_points())
        return round(math.fsum(points), DIGITS)

    def matches(self) -> tuple[Match, ...]:
        """The matched words of the question, by field."""
        return tuple(
            Match(field=name, terms=self._shown(clues), points=points)
            for name, clues, points in self._points()
        )

    def has_word(self) -> bool:
        """Whether a whole word of the question is in it; letters of a word or a time are not."""
        terms = len(self.question.terms)
        return any(number < terms for number in self.strengths)

    def share(self) -> float:
        """The points of the best field, by its weight and that of the question.

        Neither the number of its fields nor the rarity of words in a store counts, so documents
        of several kinds and stores can be compared.
        """
        own = [_field_points(self.question, it, self.tuning) for it in self.fields]
        beside = math.fsum(points for name, _, points in self._points() if name in BESIDE_FIELDS)
        best = max(own, default=0.0) + beside / self.prepared.heaviest
        return round(best / max(1.0, self.question.weight), DIGITS)

    def coverage(self) -> float:
        """The share of the question that the document covers; neighbours count in part."""
        if self._coverage is None:
            self._coverage = self._covered()
        return self._coverage

    def _covered(self) -> float:
        question = self.question
        if any(it.has_whole_query for it in self.fields):
            return 1.0
        if not question.asks:
            return float(self.has_evidence)
        covered = [self._date_covered()]
        for number, clue in enumerate(question.terms):
            if number in self.strengths or clue.text in self.prepared.subject:
                covered.append(clue.asks)
            elif number in self.lent:
                share = min(1.0, self.lent[number] / self.prepared.heaviest)
                covered.append(clue.asks * self.tuning.context_coverage * share)
        asked = min(question.asks, self.tuning.most_asked)
        return round(min(1.0, math.fsum(covered) / asked), DIGITS)

    def _date_covered(self) -> float:
        question = self.question
        if question.period is None:
            return 0.0
        is_told = bool(question.dated) and question.dated <= self.strengths.keys()
        return self.tuning.date_coverage if is_told or question.covers(self.at_ms) else 0.0

    def _points(self) -> list[tuple[str, Collection[int] | None, float]]:
        """Name, clues and points of each match; a time has no clues."""
        question, tuning = self.question, self.tuning
        found: list[tuple[str, Collection[int] | None, float]] = [
            (it.name, it.strengths, it.weight * _field_points(question, it, tuning))
            for it in self.fields
        ]
        if self.is_subject:
            named = [
                number for number, it in enumerate(question.terms) if it.text in question.names
            ]
            found.append((ABOUT, named, tuning.subject * self.prepared.heaviest))
        if question.period is not None:
            found.append((TIME, None, self._time_points()))
        if self.lent:
            found.append((NEIGHBOURS, self.lent, self._lent_points()))
        return [
            (name, clues, rounded)
            for name, clues, points in found
            if (rounded := round(points, DIGITS)) > 0
        ]

    def _time_points(self) -> float:
        period = self.question.period
        fit = period.points * period.fit(self.at_ms) if period else 0.0
        return self.tuning.date * fit * self.prepared.heaviest

    def _lent_points(self) -> float:
        brevity = min(1.0, self.tuning.brief_words / max(1.0, self.prepared.words))
        return self.tuning.context * brevity * _sum(self.question, self.lent)

    def _shown(self, clues: Collection[int] | None) -> tuple[str, ...]:
        """The matched words of the question; similar ones are marked."""
        period, shown = self.question.period, self.question.shown
        if clues is None:
            return (period.words,) if period else ()
        return tuple(dict.fromkeys(shown[number] for number in sorted(clues)))


def _field_points(question: RetrievalQuestion, it: FieldFinding, tuning: Tuning) -> float:
    points = _sum(question, it.strengths)
    if it.strengths and question.asking <= it.strengths.keys():
        points += tuning.all_terms * question.weight
    if it.has_whole_query:
        points += tuning.whole_query * max(1.0, question.weight)
    return points


def _sum(question: RetrievalQuestion, strengths: Strengths) -> float:
    weights = question.weights
    return math.fsum([weights[number] * strength for number, strength in strengths.items()])


def find(question: RetrievalQuestion, prepared: Prepared, tuning: Tuning) -> DocumentFinding:
    """Match all clues in all fields."""
    numbers, whole = question.numbers, question.flat
    held = numbers.keys() & prepared.terms
    stretch = _stretch(prepared, question.average_length, tuning) if held else 0.0
    top = 1 + tuning.saturation
    fields = [
        FieldFinding(
            name,
            tuning.source * prepared.heaviest if weight is None else weight,
            {
                numbers[term]: top * count / (count + stretch)
                for term in held
                if (count := text.counts.get(term))
            },
            bool(whole) and whole in text.flat,
        )
        for name, weight, text in prepared.texts
    ]
    is_subject = bool(prepared.subject) and not question.names.isdisjoint(prepared.subject)
    has_evidence = is_subject or _is_evidence(question, fields, prepared)
    finding = DocumentFinding(
        question, prepared, tuning, fields, is_subject, has_evidence, is_found=has_evidence
    )
    # Documents that neither match nor have neighbours are done.
    if has_evidence or prepared.document.session is not None:
        _look_closer(finding)
    return finding


def _stretch(prepared: Prepared, average: float, tuning: Tuning) -> float:
    """The length penalty of a text: BM25's rule, and more if it is very long."""
    norm = 1 - tuning.length + tuning.length * prepared.length / average
    if prepared.words > tuning.long_words:
        norm += tuning.long_length * (prepared.words - tuning.long_words) / tuning.long_words
    return tuning.saturation * norm


def _look_closer(finding: DocumentFinding) -> None:
    """Match similar words, and add up the fields."""
    question = finding.question
    for it, (_, _, text) in zip(finding.fields, finding.prepared.texts, strict=True):
        # Most texts share a few groups with some word, and too few to be like any.
        shared = question.grams & text.grams
        if shared and len(shared) >= question.fewest_grams:
            it.strengths |= _similar(question, text.counts, shared, finding.tuning)
    if len(finding.fields) == 1 and finding.fields[0].weight == 1.0:
        finding.strengths = finding.fields[0].strengths
        return
    strengths = finding.strengths
    for it in finding.fields:
        for number, strength in it.strengths.items():
            strengths[number] = strengths.get(number, 0.0) + it.weight * strength


def _similar(
    question: RetrievalQuestion, counts: Mapping[str, int], shared: Set[str], tuning: Tuning
) -> Strengths:
    """Words whose letter groups the text has enough of, by their share of the groups."""
    found: Strengths = {}
    for number, clue in question.similar.items():
        share = len(clue.grams & shared) / len(clue.grams)
        if share >= tuning.least_similarity and clue.term not in counts:
            found[number] = share
    return found


def _is_evidence(
    question: RetrievalQuestion, fields: Sequence[FieldFinding], prepared: Prepared
) -> bool:
    """Whether the document itself, not only a neighbour, matches the question."""
    for it in fields:
        if it.has_whole_query or not question.telling.isdisjoint(it.strengths):
            return True
    return question.asks_only_when and question.covers(prepared.document.at_ms)


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
        _share(findings, tuning)
    return tuple(sorted(map(_scored, findings), key=_ORDER, reverse=True))


def _scored(finding: DocumentFinding) -> Scored:
    """The score of a document; 0 without a match, unless neighbours of the same time carry it."""
    document = finding.prepared.document
    if not finding.is_found:
        return Scored(document.id, 0.0, document.at_ms)
    return Scored(document.id, finding.score(), document.at_ms, finding)


def _share(findings: Sequence[DocumentFinding], tuning: Tuning) -> None:
    """Find documents by their neighbours, and lend strengths to those that are found."""
    reach = tuning.context_reach
    for conversation in conversations([it.prepared for it in findings]):
        pieces = [findings[position] for position in conversation]
        if not any(it.strengths for it in pieces):
            continue
        if tuning.carries:
            for at, piece in enumerate(pieces):
                if piece.has_evidence:
                    for it in pieces[max(0, at - reach) : at + reach + 1]:
                        it.is_found = it.is_found or it.at_ms == piece.at_ms
        lend(pieces, tuning)


def relevant(scored: Scored, floor: float) -> bool:
    """Whether the coverage reaches the floor; 0 accepts everything."""
    return floor <= 0 or scored.coverage >= floor


def least_coverage(found: Iterable[Scored], floor: float) -> float:
    """The coverage that a match needs: the floor, or half of it beside a match that reaches it.

    Whether the question is answered at all is told by the best match; others add to the answer.
    """
    is_reached = any(it.score > 0 and it.coverage >= floor for it in found)
    return floor / 2 if is_reached else floor


def conversations(prepared: Sequence[Prepared]) -> tuple[tuple[int, ...], ...]:
    """The positions of the documents of each conversation, in order of time."""
    by_session: dict[str, list[int]] = defaultdict(list)
    for position, it in enumerate(prepared):
        if it.document.session is not None:
            by_session[it.document.session].append(position)
    return tuple(
        tuple(sorted(positions, key=lambda at: prepared[at].place))
        for positions in by_session.values()
        if len(positions) > 1
    )


def lend(pieces: Sequence[DocumentFinding], tuning: Tuning) -> None:
    """Lend the strengths of each piece of a conversation to its neighbours, beyond their own."""
    reach, last = tuning.context_reach, len(pieces) - 1
    shares = {
        step: tuning.context_decay ** (abs(step) - 1) for step in range(-reach, reach + 1) if step
    }
    for at, piece in enumerate(pieces):
        strengths = piece.strengths.items()
        if not strengths:
            continue
        for near in range(max(0, at - reach), min(last, at + reach) + 1):
            if near != at and pieces[near].is_found:
                share, own, lent = shares[near - at], pieces[near].strengths, pieces[near].lent
                for number, strength in strengths:
                    more = strength * share - own.get(number, 0.0)
                    if more > lent.get(number, 0.0):
                        lent[number] = more
