"""How much of each clue of a question a document holds."""

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from understudy.retrieval.prepare import Prepared, TextTerms
from understudy.retrieval.question import RetrievalQuestion
from understudy.retrieval.tuning import Tuning

# The clues that were found, by their number in the question, and how strongly.
Strengths = dict[int, float]


@dataclass(slots=True)
class FieldFinding:
    """What one field holds: a strength for each clue, and whether all of the question."""

    name: str
    weight: float
    reading: TextTerms
    strengths: Strengths
    has_whole_query: bool


@dataclass(slots=True)
class DocumentFinding:
    """What a document holds, and what its neighbours lend it."""

    prepared: Prepared
    fields: list[FieldFinding]
    heaviest: float
    is_subject: bool
    has_evidence: bool = False
    strengths: Strengths = field(default_factory=dict)
    lent: Strengths = field(default_factory=dict)
    # Without a match of its own, a piece is found through the pieces of the same moment.
    is_carried: bool = False

    @property
    def at_ms(self) -> int:
        """When the document was made."""
        return self.prepared.document.at_ms


def find(question: RetrievalQuestion, prepared: Prepared, tuning: Tuning) -> DocumentFinding:
    """Look for every clue in every field."""
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
    # What neither is found itself nor speaks for a neighbour needs no closer look.
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
    """Look for similar words, and add up the fields."""
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
    """Whether the document itself, and not only what is around it, has to do with the question."""
    for it in finding.fields:
        if it.has_whole_query or not question.telling.isdisjoint(it.strengths):
            return True
    return question.asks_only_when and question.covers(finding.at_ms)
