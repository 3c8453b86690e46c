"""Which of the learnings in sight a prompt is told of, and for each of the others why not."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from understudy.learnings.model import Learning, Sensitivity
from understudy.learnings.visibility import WORDS as BLOCKER_WORDS
from understudy.retrieval.documents import Document, Field, Scored, Statistics
from understudy.retrieval.question import SIMILAR_MARK
from understudy.retrieval.score import rank
from understudy.retrieval.terms import flatten, terms_of, unify
from understudy.retrieval.tuning import TUNING
from understudy.retrieval.vocabulary import WORDS, general_weight
from understudy.sessions.learning_scopes import ScopeKind

MAX_ENTRIES: Final = 32
# Narrowest first.
SCOPE_RANK: Final[Mapping[ScopeKind, int]] = {kind: at for at, kind in enumerate(ScopeKind)}
CONTENT: Final = "content"
CONTENT_WEIGHT: Final = 4
# What was said around a learning orders those that match, and finds nothing by itself.
# A name is only guessed from how sentences begin, so it counts less than one that was recorded.
LEARNED_TUNING: Final = replace(TUNING, carries=False, subject=2.0)
LEARNING_MATCHED: Final = "it matches the input"
LEARNING_BROWSED: Final = "nothing matches the input, but it asks for what is remembered"
LEARNING_FIRST: Final = "there is no input to compare with, and it comes early by scope and time"
# So many must begin with it: a name that is everywhere says little by itself, and more by its place.
LEAST_SHARED: Final = 8
# Words of everyday use are no names, even where a sentence begins with them.
LEAST_RARE: Final = 3.0
# A longer text is about more than what it begins with.
MOST_CHARS: Final = 500
# What each scope says of a subject: the semantic keys, by kind and subject, then by rank of scope.
_Said = Mapping[tuple[str, str], Mapping[int, set[str]]]
# One whole word, so that its terms are those of the text; of a script with capitals.
_FIRST: Final = re.compile(r"\W*(?:(?:The|A|An|My|Our)\s+)?([^\W\d_]+)(?=['’]s\b|[:,]?(?:\s|\Z))")


class LearningReason(StrEnum):
    """What became of a learning, where no rule forbids to tell of it."""

    INCLUDED = "included"
    NO_MATCH = "no_match"
    OVERRIDDEN_BY_NARROWER_SCOPE = "overridden_by_narrower_scope"
    OVER_ENTRY_LIMIT = "over_entry_limit"
    OVER_BUDGET = "over_budget"


# What would have been told, had there been room.
OMITTED: Final = frozenset({LearningReason.OVER_ENTRY_LIMIT, LearningReason.OVER_BUDGET})
# Why a learning is not told of, in words: the rules that forbid it, and what else there may be.
LEARNING_WORDS: Final[Mapping[str, str]] = {
    **{str(code): words for code, words in BLOCKER_WORDS.items()},
    LearningReason.NO_MATCH: "no word of the input is in it",
    LearningReason.OVERRIDDEN_BY_NARROWER_SCOPE: "a narrower scope says something else of the same"
    " subject",
    LearningReason.OVER_ENTRY_LIMIT: f"{MAX_ENTRIES} others come before it, and a prompt is told of"
    " no more",
    LearningReason.OVER_BUDGET: "it fits, but the prompt had no room left",
}


def learned_explanation(reasons: Sequence[str], *, score: float | None) -> str:
    """A sentence for all that keeps a learning out, or for why it is told.

    `score` is None where there was nothing to rank against.
    """
    if reasons:
        # A report may be of another version of the daemon.
        return "; ".join(LEARNING_WORDS.get(reason, reason) for reason in reasons)
    if score is None:
        return LEARNING_FIRST
    return LEARNING_MATCHED if score > 0 else LEARNING_BROWSED


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A learning, and the codes of all rules that forbid to tell of it."""

    learning: Learning
    blockers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsideredLearning:
    """One learning, how well it fits, and what became of it."""

    learning: Learning
    # Everything that keeps it out: the codes of rules first, then those of `Reason`.
    reasons: tuple[str, ...] = ()
    # Absent where there was nothing to rank against, and for a sensitive one.
    scored: Scored | None = None

    @property
    def is_included(self) -> bool:
        """Whether the prompt tells of it."""
        return not self.reasons

    @property
    def reason(self) -> str:
        """The first thing that keeps it out, or that it is told."""
        return self.reasons[0] if self.reasons else LearningReason.INCLUDED

    @property
    def score(self) -> float:
        """How well it fits; 0 also where there was nothing to rank against."""
        return self.scored.score if self.scored else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """Every learning that was considered, in the order in which a prompt would take them."""

    considered: tuple[ConsideredLearning, ...] = ()
    # Whether they were ranked against something, or only by scope and time.
    is_ranked: bool = False
    # Whether nothing matched, but the input asked for whatever is remembered.
    is_browsed: bool = False

    @property
    def kept(self) -> tuple[Learning, ...]:
        """What is told, in order."""
        return tuple(it.learning for it in self.considered if it.is_included)

    @property
    def omitted(self) -> int:
        """How many were left out because there was no room for them."""
        return sum(it.reason in OMITTED for it in self.considered)

    @property
    def counts(self) -> Counter[str]:
        """What became of how many."""
        return Counter(str(it.reason) for it in self.considered)

    def within(self, kept: int) -> "Learned":
        """The same when only the first so many fit the prompt."""
        fits = frozenset(it.learning_id for it in self.kept[:kept])
        considered = tuple(
            it
            if it.reasons or it.learning.learning_id in fits
            else replace(it, reasons=(LearningReason.OVER_BUDGET,))
            for it in self.considered
        )
        return replace(self, considered=considered)


def choose(
    judged: Sequence[Judged],
    query: str | None,
    *,
    now_ms: int,
    statistics: Statistics | None = None,
    rivals: Iterable[Judged] = (),
) -> Learned:
    """Order learnings by a query, or without one by scope and time, and say what is told.

    `rivals` are more of the same subjects; they only count for what a narrower scope says.
    """
    scores = {} if query is None else _scores(query, judged, statistics, now_ms)
    matching = {found for found, scored in scores.items() if scored.score > 0}
    is_found = any(not it.blockers and it.learning.learning_id in matching for it in judged)
    is_browsed = query is not None and not is_found and asks_for_memory(query)
    said = _said((*judged, *rivals))
    considered = [
        _considered(it, scores.get(it.learning.learning_id), said, must_match=not is_browsed)
        for it in judged
    ]
    considered.sort(key=prompt_order)
    return Learned(
        considered=tuple(_capped(considered)), is_ranked=query is not None, is_browsed=is_browsed
    )


def passed_over(
    judged: Sequence[Judged],
    query: str | None,
    chosen: Learned,
    *,
    now_ms: int,
    statistics: Statistics | None = None,
) -> tuple[ConsideredLearning, ...]:
    """Why these, which were not among those to choose from, are not told either."""
    scores = {} if query is None else _scores(query, judged, statistics, now_ms)
    said = _said(
        (*judged, *(Judged(learning=it.learning) for it in chosen.considered if it.is_included))
    )
    considered = (
        _considered(it, scores.get(it.learning.learning_id), said, must_match=not chosen.is_browsed)
        for it in judged
    )
    # One that nothing speaks against was not among the best, or it would have been looked at.
    return tuple(
        replace(it, reasons=(LearningReason.OVER_ENTRY_LIMIT,)) if it.is_included else it
        for it in considered
    )


def is_sensitive(learning: Learning) -> bool:
    """Whether nothing may be shown that tells what it says."""
    return learning.sensitivity is Sensitivity.SENSITIVE


def content_of(learning: Learning) -> Document:
    """A learning as it is ranked for a prompt: what it says, and neither its kind nor its scope."""
    return Document(
        id=learning.learning_id,
        # A question that names a day means the day on which it was said.
        at_ms=learning.created_at_ms,
        fields=(Field(name=CONTENT, text=learning.content, weight=CONTENT_WEIGHT),),
    )


def _scores(
    query: str, judged: Sequence[Judged], statistics: Statistics | None, now_ms: int
) -> dict[str, Scored]:
    ranked = rank(
        query,
        _in_context(judged),
        statistics=statistics,
        now_ms=now_ms,
        tuning=LEARNED_TUNING,
    )
    return {it.id: it if _is_telling(it) else _nothing(it) for it in ranked}


def _in_context(judged: Sequence[Judged]) -> list[Document]:
    """Learnings with whom they are about and the session they were said in, to order them by."""
    free = [it.learning for it in judged if not it.blockers]
    names = names_of([it.content for it in free])
    told = [
        replace(content_of(it), session=it.source.session_id, about=name)
        for it, name in zip(free, names, strict=True)
    ]
    # What may not be told lends the others nothing, and how well it fits would tell what a sensitive
    # one says.
    blocked = [it.learning for it in judged if it.blockers and not is_sensitive(it.learning)]
    return [*told, *map(content_of, blocked)]


def _is_telling(scored: Scored) -> bool:
    """Whether a word of the query itself is there: part of a word or a time alone is too little."""
    return any(
        match.field == CONTENT and any(not term.startswith(SIMILAR_MARK) for term in match.terms)
        for match in scored.matches
    )


def _nothing(scored: Scored) -> Scored:
    return replace(scored, score=0.0, coverage=0.0, matches=())


def _said(judged: Iterable[Judged]) -> _Said:
    said: dict[tuple[str, str], dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for it in judged:
        learning = it.learning
        if learning.subject_key is not None and not it.blockers:
            by_scope = said[learning.kind, learning.subject_key]
            by_scope[SCOPE_RANK[learning.scope.kind]].add(learning.semantic_key)
    return said


def _considered(
    it: Judged, scored: Scored | None, said: _Said, *, must_match: bool
) -> ConsideredLearning:
    """One of them with everything that keeps it out, but for want of room."""
    learning = it.learning
    reasons: list[str] = [*it.blockers]
    if not is_sensitive(learning) and _is_overridden(learning, said):
        reasons.append(LearningReason.OVERRIDDEN_BY_NARROWER_SCOPE)
    if must_match and scored is not None and scored.score <= 0:
        reasons.append(LearningReason.NO_MATCH)
    return ConsideredLearning(learning=learning, reasons=tuple(reasons), scored=scored)


def _is_overridden(learning: Learning, said: _Said) -> bool:
    """Whether a narrower scope says something else of the same subject."""
    own = SCOPE_RANK[learning.scope.kind]
    by_scope = said.get((learning.kind, learning.subject_key or ""), {})
    return any(at < own and bool(keys - {learning.semantic_key}) for at, keys in by_scope.items())


def prompt_order(it: ConsideredLearning) -> tuple[float, int, int, str]:
    """The best first, then the narrowest scope, then the newest, then by id."""
    learning = it.learning
    return (
        -it.score,
        SCOPE_RANK[learning.scope.kind],
        -learning.published_at_ms,
        learning.learning_id,
    )


def _capped(considered: Iterable[ConsideredLearning]) -> Iterable[ConsideredLearning]:
    taken = 0
    for it in considered:
        taken += it.is_included
        is_over = it.is_included and taken > MAX_ENTRIES
        yield replace(it, reasons=(LearningReason.OVER_ENTRY_LIMIT,)) if is_over else it


def asks_for_memory(query: str) -> bool:
    """Whether it speaks of remembering, in English, French, Vietnamese or Chinese."""
    flat, unified = flatten(query), unify(query).casefold()
    written = "".join(each if each.isalnum() else " " for each in unified)
    return (
        _holds(flat, "memory.words", "memory.phrases")
        or _holds(written, "memory.accented_words", "memory.accented_phrases")
        or any(piece in unified for piece in WORDS("memory.chinese"))
    )


def _holds(text: str, words: str, phrases: str) -> bool:
    found = text.split()
    spaced = f" {' '.join(found)} "
    return not WORDS.set(words).isdisjoint(found) or any(
        f" {phrase} " in spaced for phrase in WORDS(phrases)
    )


def names_of(texts: Sequence[str]) -> list[str | None]:
    """For each text the name that it begins with, if enough of them do."""
    first = [_first_name(text) for text in texts]
    shared = Counter(first)
    return [name if shared[name] >= LEAST_SHARED else None for name in first]


def _first_name(text: str) -> str | None:
    found = _FIRST.match(text)
    if found is None or len(text) > MOST_CHARS:
        return None
    word = found[1]
    is_capital = word[0].isupper() and all(each.lower() != each.upper() for each in word)
    is_rare = is_capital and any(general_weight(term) >= LEAST_RARE for term in terms_of(word))
    return word if is_rare else None
