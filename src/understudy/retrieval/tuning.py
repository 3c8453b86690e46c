"""Constants of the scorer."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Constants of the scorer; `docs/reference/retrieval-measurements.md` has what each gains."""

    # BM25: how soon more of the same stops counting, how much a long text is held back.
    saturation: float = 0.9
    length: float = 0.4
    # Beyond so many words length counts once more, by multiples of that number.
    long_words: int = 100
    long_length: float = 4.0
    # How many documents' worth of general usage stand beside what the store holds.
    general_documents: float = 20.0
    # A word once more with its accents, a single character, a word with similar letters.
    accented: float = 0.4
    character: float = 0.3
    similar: float = 0.5
    least_similarity: float = 0.25
    # Neighbours in the same session: how much they lend, how far, and less with each step.
    context: float = 0.5
    context_reach: int = 3
    context_decay: float = 0.8
    # A document with more words says enough itself: it is lent less.
    brief_words: int = 35
    # Whether a piece without a match of its own is found through the pieces of the same moment.
    carries: bool = True
    # The text that a record was taken from.
    source: float = 0.5
    # Whom a record is about; the name itself then says less.
    subject: float = 4.0
    subject_name: float = 0.3
    # The record's own time, when the question names one.
    date: float = 1.0
    # All terms in one field, and the question word for word, by the weight of the question.
    all_terms: float = 0.25
    whole_query: float = 2.0
    # The weight of a date and of characters in what a question asks.
    date_coverage: float = 4.0
    character_coverage: float = 5.0
    context_coverage: float = 0.5
    # Of a long question so much must be covered at most: about seven everyday words, or three rare
    # ones. No record repeats a whole task.
    most_asked: float = 25.0


TUNING: Final = Tuning()
