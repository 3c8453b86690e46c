"""From what a document holds to its score, its coverage and the reasons."""

import math
from typing import Final

from understudy.retrieval.clue_matches import DocumentFinding, FieldFinding, Strengths
from understudy.retrieval.documents import Match, Scored
from understudy.retrieval.question import RetrievalQuestion
from understudy.retrieval.tuning import Tuning

DIGITS: Final = 6
# What gave points beside the document's own fields.
ABOUT: Final = "about"
TIME: Final = "time"
NEIGHBOURS: Final = "neighbours"


def scored(question: RetrievalQuestion, finding: DocumentFinding, tuning: Tuning) -> Scored:
    """The score of a document: 0 without evidence of its own, unless its moment carries it."""
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
    """The words of the question that were found; a similar one is marked."""
    shown = question.shown
    return tuple(dict.fromkeys(shown[number] for number in sorted(strengths)))


def _coverage(question: RetrievalQuestion, finding: DocumentFinding, tuning: Tuning) -> float:
    """The share of what the question asks that the document, or in part its neighbours, hold."""
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
