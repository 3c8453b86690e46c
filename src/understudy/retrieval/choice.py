"""The choice of learnings to inject, and the reason for each that is left out."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import Final

from understudy.learnings.keys import contradict
from understudy.learnings.model import Applies, Kind, Learning, Sensitivity
from understudy.learnings.visibility import WORDS as BLOCKER_WORDS
from understudy.retrieval.documents import Document, Field, Scored, Statistics
from understudy.retrieval.frame import Note, text_tokens
from understudy.retrieval.memory_request import asks_for_memory
from understudy.retrieval.score import least_coverage, rank, relevant
from understudy.retrieval.syllables import shares_word
from understudy.retrieval.terms import terms_of
from understudy.retrieval.tuning import TUNING
from understudy.retrieval.vocabulary import general_weight
from understudy.review.policy import RetrievalSettings
from understudy.sessions.learning_scopes import ScopeKind

MAX_ENTRIES: Final = 32
# Narrowest first.
SCOPE_RANK: Final[Mapping[ScopeKind, int]] = {kind: at for at, kind in enumerate(ScopeKind)}
DEFAULT_SETTINGS: Final = RetrievalSettings()
CONTENT: Final = "content"
CONTENT_WEIGHT: Final = 4
# Context of a learning affects the order of matches, and is no match by itself.
# Names are guessed from the beginning of sentences, so they weigh less than recorded ones.
LEARNED_TUNING: Final = replace(TUNING, carries=False, subject=2.0)
LEARNING_MATCHED: Final = "it matches the input"
LEARNING_STANDING: Final = "it applies to every task"
LEARNING_BROWSED: Final = "nothing matches the input, but it asks for what is remembered"
LEARNING_FIRST: Final = "there is no input to compare with, and it comes early by scope and time"
# The share of the floor that preferences and decisions need where the input names their subject:
# they hold for every task about it, and answer no question.
TOPIC_SHARE: Final = 0.35
# The fewest learnings that must begin with a name.
LEAST_SHARED: Final = 8
# Common words are no names, even at the beginning of a sentence.
LEAST_RARE: Final = 3.0
# A longer text is about more than its first name.
MOST_CHARS: Final = 500
# Semantic keys by (kind, subject), then by rank of scope.
_Said = Mapping[tuple[str, str], Mapping[int, set[str]]]
# One whole capitalised word.
_FIRST: Final = re.compile(r"\W*(?:(?:The|A|An|My|Our)\s+)?([^\W\d_]+)(?=['’]s\b|[:,]?(?:\s|\Z))")


class LearningReason(StrEnum):
    """Why a learning that no rule blocks is injected or left out."""

    INCLUDED = "included"
    NO_MATCH = "no_match"
    BELOW_FLOOR = "below_floor"
    IN_ANOTHER_SCOPE = "in_another_scope"
    OVERRIDDEN_BY_NARROWER_SCOPE = "overridden_by_narrower_scope"
    OVER_STANDING_LIMIT = "over_standing_limit"
    OVER_ENTRY_LIMIT = "over_entry_limit"
    OVER_BUDGET = "over_budget"


# Reasons of learnings that were left out for lack of room.
OMITTED: Final = frozenset(
    {
        LearningReason.OVER_STANDING_LIMIT,
        LearningReason.OVER_ENTRY_LIMIT,
        LearningReason.OVER_BUDGET,
    }
)
# The words for each code that keeps a learning out of a prompt.
LEARNING_WORDS: Final[Mapping[str, str]] = {
    **{str(code): words for code, words in BLOCKER_WORDS.items()},
    LearningReason.NO_MATCH: "no word of the input is in it",
    LearningReason.BELOW_FLOOR: "it covers less of the input than `retrieval.relevance_floor` of the"
    " learning policy wants",
    LearningReason.IN_ANOTHER_SCOPE: "it matches the input, but the session does not see its scope",
    LearningReason.OVERRIDDEN_BY_NARROWER_SCOPE: "a narrower scope says something else of the same"
    " subject",
    LearningReason.OVER_STANDING_LIMIT: "it applies to every task, but others that do take the"
    " room for them, and no word of the input is in it",
    LearningReason.OVER_ENTRY_LIMIT: f"{MAX_ENTRIES} others come before it, and a prompt is told of"
    " no more",
    LearningReason.OVER_BUDGET: "the prompt had no room left for it",
}


def learned_explanation(
    reasons: Sequence[str], *, score: float | None, is_standing: bool = False
) -> str:
    """A sentence with all reasons that keep a learning out, or with why it is injected.

    `score` is None where there was nothing to rank against.
    """
    if reasons:
        # A report may be of another version of the daemon.
        return "; ".join(LEARNING_WORDS.get(reason, reason) for reason in reasons)
    if is_standing:
        return LEARNING_STANDING
    if score is None:
        return LEARNING_FIRST
    return LEARNING_MATCHED if score > 0 else LEARNING_BROWSED


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A learning, and the codes of the rules that block it."""

    learning: Learning
    blockers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsideredLearning:
    """One learning with its score, and why it is left out."""

    learning: Learning
    # The codes that keep it out: of blocking rules first, then of `LearningReason`.
    reasons: tuple[str, ...] = ()
    # None without a query, and for a sensitive learning.
    scored: Scored | None = None
    # Whether it is injected because it applies to every task.
    is_standing: bool = False

    @property
    def is_included(self) -> bool:
        """Whether it is injected."""
        return not self.reasons

    @property
    def reason(self) -> str:
        """The first code that keeps it out, or `included`."""
        return self.reasons[0] if self.reasons else LearningReason.INCLUDED

    @property
    def score(self) -> float:
        """Its score; 0 if it was not ranked."""
        return self.scored.score if self.scored else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """All learnings that were considered, in the order of the prompt."""

    considered: tuple[ConsideredLearning, ...] = ()
    # Whether they were ranked against a query, or ordered by scope and time.
    is_ranked: bool = False
    # Whether nothing matched, and the input asks for everything that is remembered.
    is_browsed: bool = False
    # The shares of the input that a fact, and any other learning, had to cover.
    least_coverage: tuple[float, float] = (0.0, 0.0)

    @property
    def kept(self) -> tuple[Learning, ...]:
        """The learnings to inject, in order."""
        return tuple(it.learning for it in self.considered if it.is_included)

    @property
    def omitted(self) -> int:
        """The number left out for lack of room."""
        return sum(it.reason in OMITTED for it in self.considered)

    @property
    def counts(self) -> Counter[str]:
        """The number of learnings by reason."""
        return Counter(str(it.reason) for it in self.considered)

    def within(self, kept: int) -> "Learned":
        """The choice after packing: only the first `kept` learnings fit the budget."""
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
    settings: RetrievalSettings = DEFAULT_SETTINGS,
) -> Learned:
    """Rank learnings by a query, or order them by scope and time, and choose those to inject.

    `rivals` are more learnings of the same subjects, used only to find overriding scopes.
    """
    scores = {} if query is None else _scores(query, judged, statistics, now_ms)
    free = [(it.learning, scores.get(it.learning.learning_id)) for it in judged if not it.blockers]
    matching = [(it, scored) for it, scored in free if scored is not None and scored.score > 0]
    floor = settings.relevance_floor
    least = (least_coverage([scored for _, scored in matching], floor), floor * TOPIC_SHARE)
    near = [it for it, scored in matching if _is_near(it, scored, least, query)]
    # An input that asks for memories is not about their words.
    asks = query is not None and (not near or len(near) < len(matching)) and asks_for_memory(query)
    is_browsed = asks and not near
    if asks:
        least = (0.0, 0.0)
    said = _said((*judged, *rivals))
    considered = [
        _considered(
            it,
            scores.get(it.learning.learning_id),
            said,
            must_match=not is_browsed,
            least=least,
            query=query,
        )
        for it in judged
    ]
    considered = _with_standing(considered, settings, must_match=not is_browsed)
    considered.sort(key=prompt_order)
    return Learned(
        considered=tuple(_capped(considered)),
        is_ranked=query is not None,
        is_browsed=is_browsed,
        least_coverage=least,
    )


def passed_over(
    judged: Sequence[Judged],
    query: str | None,
    chosen: Learned,
    *,
    now_ms: int,
    statistics: Statistics | None = None,
) -> tuple[ConsideredLearning, ...]:
    """The reasons for learnings that were not among those to choose from."""
    scores = {} if query is None else _scores(query, judged, statistics, now_ms)
    said = _said(
        (*judged, *(Judged(learning=it.learning) for it in chosen.considered if it.is_included))
    )
    considered = (
        _considered(
            it,
            scores.get(it.learning.learning_id),
            said,
            must_match=not chosen.is_browsed,
            least=chosen.least_coverage,
            query=query,
        )
        for it in judged
    )
    # Without another reason it was not among the best, or it would have been considered.
    return tuple(
        replace(it, reasons=(_over_limit(it.learning),)) if it.is_included else it
        for it in considered
    )


def _over_limit(learning: Learning) -> LearningReason:
    if is_always(learning):
        return LearningReason.OVER_STANDING_LIMIT
    return LearningReason.OVER_ENTRY_LIMIT


def found_elsewhere(
    judged: Sequence[Judged],
    query: str,
    *,
    now_ms: int,
    statistics: Statistics | None,
    settings: RetrievalSettings,
) -> tuple[ConsideredLearning, ...]:
    """The learnings of scopes that the session does not see which the query would find."""
    scores = _scores(query, judged, statistics, now_ms)
    floor = settings.relevance_floor
    least = (floor, floor * TOPIC_SHARE)
    return tuple(
        ConsideredLearning(
            learning=it.learning, reasons=(LearningReason.IN_ANOTHER_SCOPE,), scored=scored
        )
        for it in judged
        if not it.blockers
        and (scored := scores.get(it.learning.learning_id))
        and scored.score > 0
        and _is_near(it.learning, scored, least, query)
    )


def is_sensitive(learning: Learning) -> bool:
    """Whether the content of the learning must not be shown."""
    return learning.sensitivity is Sensitivity.SENSITIVE


def is_always(learning: Learning) -> bool:
    """Whether the learning applies to every task."""
    return learning.applies is Applies.ALWAYS


def learning_note(learning: Learning) -> Note:
    """The note of a learning."""
    label = f"{learning.kind}, always" if is_always(learning) else str(learning.kind)
    return Note(id=learning.learning_id, label=label, text=learning.content)


def content_of(
    learning: Learning, *, session: str | None = None, about: str | None = None
) -> Document:
    """The document of a learning for prompts: its content, without kind and scope."""
    return Document(
        id=learning.learning_id,
        # A question that names a day means the day of the source.
        at_ms=learning.created_at_ms,
        fields=(Field(name=CONTENT, text=learning.content, weight=CONTENT_WEIGHT),),
        session=session,
        about=about,
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
    return {it.id: it if it.reasons.has_word() else Scored(it.id, 0.0, it.at_ms) for it in ranked}


def _in_context(judged: Sequence[Judged]) -> list[Document]:
    """Documents of learnings with their names and source sessions, for ranking."""
    free = [it.learning for it in judged if not it.blockers]
    names = names_of([it.content for it in free])
    told = [
        content_of(it, session=it.source.session_id, about=name)
        for it, name in zip(free, names, strict=True)
    ]
    # A blocked learning lends no score to its neighbours, and the score of a sensitive one would
    # reveal its content.
    blocked = [it.learning for it in judged if it.blockers and not is_sensitive(it.learning)]
    return [*told, *map(content_of, blocked)]


def _said(judged: Iterable[Judged]) -> _Said:
    said: dict[tuple[str, str], dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for it in judged:
        learning = it.learning
        if learning.subject_key is not None and not it.blockers:
            by_scope = said[learning.kind, learning.subject_key]
            by_scope[SCOPE_RANK[learning.scope.kind]].add(learning.content)
    return said


def _is_near(
    learning: Learning, scored: Scored, least: tuple[float, float], query: str | None
) -> bool:
    """Whether a match covers enough of the input, or the input names what a wish is about."""
    floor, on_topic = least
    if learning.kind is Kind.FACT:
        return relevant(scored, floor)
    is_covering = relevant(scored, floor)
    if not is_covering and not (relevant(scored, on_topic) and _names_subject(learning, scored)):
        return False
    # One syllable of the subject says little where the rest of the input is about something else.
    alone = (learning.subject_key or "") if is_covering else ""
    return query is None or shares_word(query, learning.content, alone)


def _names_subject(learning: Learning, scored: Scored) -> bool:
    """Whether at least half of the subject of a learning, by rarity, is among the matched words."""
    subject = set(terms_of(learning.subject_key or ""))
    matched = {term for match in scored.matches for word in match.terms for term in terms_of(word)}
    return bool(subject) and 2 * _rarity(subject & matched) >= _rarity(subject)


def _rarity(terms: Iterable[str]) -> float:
    return sum(map(general_weight, terms))


def _considered(
    it: Judged,
    scored: Scored | None,
    said: _Said,
    *,
    must_match: bool,
    least: tuple[float, float],
    query: str | None,
) -> ConsideredLearning:
    """A learning with all reasons that keep it out, except lack of room."""
    learning = it.learning
    reasons: list[str] = [*it.blockers]
    if not is_sensitive(learning) and _is_overridden(learning, said):
        reasons.append(LearningReason.OVERRIDDEN_BY_NARROWER_SCOPE)
    if must_match and not is_always(learning) and scored is not None:
        if scored.score <= 0:
            reasons.append(LearningReason.NO_MATCH)
        elif not _is_near(learning, scored, least, query):
            reasons.append(LearningReason.BELOW_FLOOR)
    return ConsideredLearning(learning=learning, reasons=tuple(reasons), scored=scored)


def _is_unmatched(scored: Scored | None) -> bool:
    """Whether there was a query, and the learning does not match it."""
    return scored is not None and scored.score <= 0


def _is_overridden(learning: Learning, said: _Said) -> bool:
    """Whether a narrower scope has another value for the same subject."""
    own = SCOPE_RANK[learning.scope.kind]
    by_scope = said.get((learning.kind, learning.subject_key or ""), {})
    return any(
        contradict(said_there, learning.content)
        for at, contents in by_scope.items()
        if at < own
        for said_there in contents
    )


def prompt_order(it: ConsideredLearning) -> tuple[bool, float, int, int, str]:
    """Sort key: standing ones first, then by score; then by narrowest scope, newest, id."""
    learning = it.learning
    return (
        not it.is_standing,
        0.0 if it.is_standing else -it.score,
        SCOPE_RANK[learning.scope.kind],
        -learning.published_at_ms,
        learning.learning_id,
    )


def _with_standing(
    considered: Iterable[ConsideredLearning], settings: RetrievalSettings, *, must_match: bool
) -> list[ConsideredLearning]:
    """Mark the learnings of every task that fit their own limits; the others must match."""
    entries, tokens = settings.max_standing_entries, settings.max_standing_tokens
    by_order = sorted(
        (
            replace(it, is_standing=True) if it.is_included and is_always(it.learning) else it
            for it in considered
        ),
        key=prompt_order,
    )
    for at, it in enumerate(by_order):
        if not it.is_standing:
            break
        cost = text_tokens(it.learning.content)
        if entries > 0 and cost <= tokens:
            entries, tokens = entries - 1, tokens - cost
            continue
        is_told = not must_match or not _is_unmatched(it.scored)
        reasons = () if is_told else (LearningReason.OVER_STANDING_LIMIT,)
        by_order[at] = replace(it, is_standing=False, reasons=reasons)
    return by_order


def _capped(considered: Iterable[ConsideredLearning]) -> Iterable[ConsideredLearning]:
    taken = 0
    for it in considered:
        taken += it.is_included and not it.is_standing
        is_over = it.is_included and not it.is_standing and taken > MAX_ENTRIES
        yield replace(it, reasons=(LearningReason.OVER_ENTRY_LIMIT,)) if is_over else it


def names_of(texts: Sequence[str]) -> list[str | None]:
    """The name that each text begins with, if enough texts do."""
    first = [_first_name(text) for text in texts]
    shared = Counter(first)
    return [name if shared[name] >= LEAST_SHARED else None for name in first]


@lru_cache(maxsize=4_096)
def _first_name(text: str) -> str | None:
    found = _FIRST.match(text)
    if found is None or len(text) > MOST_CHARS:
        return None
    word = found[1]
    is_capital = word[0].isupper() and all(each.lower() != each.upper() for each in word)
    is_rare = is_capital and any(general_weight(term) >= LEAST_RARE for term in terms_of(word))
    return word if is_rare else None
