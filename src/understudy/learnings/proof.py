"""Proof: whether the user's own words around a quote say what a candidate says.

A model names the quote that a candidate rests on. The quote is only a pointer: the candidate is
compared with the whole clause around it, so that no `not` and no number beside the quote is lost.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum, auto
from typing import Final

from understudy.learnings.assertion import (
    hands_over,
    is_said_by_user,
    stands_undoubted,
    vouched_for,
)
from understudy.learnings.handed_over import announces
from understudy.learnings.normal_form import HAN_AND_KANA
from understudy.learnings.pastes import WORD, is_introduced, listed
from understudy.learnings.phrases import begins
from understudy.learnings.quotations import sentences
from understudy.learnings.sentence_context import (
    CLAUSE_END,
    NEW_CLAUSE,
    TAKES_BACK,
    asks,
    is_doubted_after,
    is_doubted_before,
    words,
)
from understudy.learnings.standing import says_always
from understudy.learnings.statement_match import (
    COPULA,
    GROUP,
    SELF,
    VOID,
    WORDS,
    FoldedWord,
    may_end,
    plain,
    tokens,
)

MAX_QUOTE_CHARS: Final = 1_600
# A longer quote is a text, which nobody says in passing.
MAX_SENTENCES: Final = 8

_HEADING: Final = re.compile(r"([^:\uff1a\n,\uff0c.;]{1,40})[:\uff1a]")
# Chinese writes no blanks within a clause.
_HAN_BREAK: Final = re.compile(rf"(?<=[{HAN_AND_KANA}])[ \t]+(?=[{HAN_AND_KANA}])")
_DENIAL: Final = re.compile(
    r"not|no|never|without|nor|neither|none|không|chưa|đừng|chẳng|[不没沒未别別无無非]"
)
# `Should it be late, …`, and what is no condition.
_SUPPOSED_ORDER: Final = re.compile(
    r"\W*(?:should|had|were) (?:i|we|you|they|he|she|it|the|this|that|any\w*)\b", re.IGNORECASE
)
_NO_CONDITION: Final = re.compile(
    r"\b(?:even|as) if\b|\bif (?:possible|you can|needed|necessary)\b|nếu (?:được|có thể)|如果可以|(?:可以|方便)的话",
    re.IGNORECASE,
)
_NAME_OR_NUMBER: Final = re.compile(r"[A-ZĐÀ-Ý]|\d|[\"“”`'@#/\\_]")
# The agent that a statement speaks of, as it is addressed in a request or named in a candidate.
_AGENT: Final = frozenset({"you", "your", "assistant", "agent", "bạn", "你", "您", "助", "手"})
# Words that name who speaks, and a copula, say nothing by themselves.
_NEUTRAL: Final = frozenset({SELF, GROUP, VOID, COPULA, *_AGENT})
# A statement in the third person says that the user wants what the user ordered.
_ADDED: Final = _NEUTRAL | {"want", "prefer"}


class ProofLevel(StrEnum):
    """How far the user's own words prove a candidate."""

    # Each word of the clause is in the candidate, and no other.
    VERIFIED = auto()
    # Nothing is added or replaced, but words of the clause are left out.
    WEAK = auto()
    NONE = auto()


class ProofReason(StrEnum):
    """Why the user's own words do not prove a candidate."""

    QUOTE_NOT_FOUND = auto()
    # The clause is asked, supposed, denied, reported or taken back, or introduced as a text of others.
    CLAUSE_IN_DOUBT = auto()
    # The candidate has a number, a name, a quotation or a negation that the clause has not.
    ADDED = auto()
    # The candidate has another word in the place of one of the clause.
    REPLACED = auto()
    WORDS_LEFT_OUT = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseProof:
    """The level of proof, the clause that was compared, and what is missing."""

    level: ProofLevel
    clause: str | None = None
    reason: ProofReason | None = None


def prove(content: str, quote: str, request: str) -> ClauseProof:
    """Compare a candidate with the clause around its quote in the user's own words."""
    own = vouched_for(content, request)
    place = _place_of(quote, own)
    if place is None:
        return ClauseProof(level=ProofLevel.NONE, reason=ProofReason.QUOTE_NOT_FOUND)
    start, end = clause_around(own, *place)
    clause = own[start:end].strip()
    level, reason = ProofLevel.NONE, None
    if _is_supposed(own, start, clause):
        reason = ProofReason.CLAUSE_IN_DOUBT
    elif is_said_by_user(content, request):
        level = ProofLevel.VERIFIED
    elif is_introduced(own, start) or hands_over(clause) or not _is_asserted(clause, own):
        reason = ProofReason.CLAUSE_IN_DOUBT
    elif (reason := _compared(content, own[start:end])) is None:
        level = ProofLevel.VERIFIED
    elif reason is ProofReason.WORDS_LEFT_OUT:
        # What is asked, or said behind somebody's name, is no statement, whatever a judge says.
        to_end = next((own[start:stop] for _, stop in sentences(own) if stop >= end), clause)
        heading = _HEADING.match(clause)
        if asks(to_end) or (heading and heading[1].casefold() not in content.casefold()):
            reason = ProofReason.CLAUSE_IN_DOUBT
        else:
            level = ProofLevel.WEAK
    return ClauseProof(level=level, clause=clause, reason=reason)


def proven_words(content: str, quote: str | None, request: str) -> str:
    """The clause that proves a candidate at least weakly, or else the candidate itself."""
    proof = prove(content, quote, request) if quote else None
    if proof is None or proof.level is ProofLevel.NONE:
        return content
    return proof.clause or content


def quoted_words(text: str) -> list[str]:
    """The words by which a quote is found again; of Chinese, each sign."""
    return [it.casefold() for it in WORD.findall(text[:MAX_QUOTE_CHARS])]


def taken_back(statement: str, request: str) -> bool:
    """Whether the words behind a statement in a request take it back: `… no wait, scratch that`."""
    place = _place_of(statement, request)
    return place is not None and TAKES_BACK.match(request, place[1]) is not None


def _place_of(quote: str, own: str) -> tuple[int, int] | None:
    """Where the words of a quote stand in a text, one behind the other."""
    wanted = quoted_words(quote)
    words = list(WORD.finditer(own))
    said = [it[0].casefold() for it in words]
    for at in range(len(said) - len(wanted) + 1) if wanted else ():
        if said[at : at + len(wanted)] == wanted:
            return words[at].start(), words[at + len(wanted) - 1].end()
    return None


def clause_around(text: str, start: int, end: int) -> tuple[int, int]:
    """The span of the clause, or of the clauses, that a part of a text belongs to."""
    spans = [it for it in sentences(text) if it[0] < end and it[1] > start]
    first, last = (spans[0][0], spans[-1][1]) if spans else (start, end)
    breaks = [it.end() for it in NEW_CLAUSE.finditer(text, first, start)]
    headings = (it for it in _HEADING.finditer(text, first, start) if announces(it[1]))
    breaks += [it.end() for it in headings]
    breaks += [it.end() for it in _HAN_BREAK.finditer(text, first, start)]
    stops = [it.search(text, end, last) for it in (CLAUSE_END, _HAN_BREAK)]
    return max((first, *breaks)), min((it.start() for it in stops if it), default=last)


def _is_supposed(own: str, start: int, clause: str) -> bool:
    """Whether a clause holds on a condition, and is neither labelled nor said to hold always."""
    said = _NO_CONDITION.sub("", clause)
    has_condition = listed("doubts.suppositions").search(said) or _SUPPOSED_ORDER.match(said)
    is_labelled = own[:start].rstrip().endswith((":", "\uff1a"))
    return bool(has_condition) and not is_labelled and not says_always(clause)


def _is_asserted(clause: str, own: str) -> bool:
    if _asks(clause):
        return False
    parts = [clause[start:end] for start, end in sentences(clause)]
    return 0 < len(parts) <= MAX_SENTENCES and all(stands_undoubted(it, own) for it in parts)


def _asks(clause: str) -> bool:
    """Whether a clause holds a question or begins with an auxiliary: `Is it in Paris`."""
    if asks(clause):
        return True
    first, second = [*words(plain(clause).casefold()[:80]), "", ""][:2]
    return first in WORDS.set("doubts.auxiliaries") and _DENIAL.fullmatch(second) is None


def _compared(content: str, clause: str) -> ProofReason | None:
    """What keeps a clause from saying a candidate; None where it says it."""
    candidate, said = plain(content), plain(clause)
    wanted, known = _telling(candidate, _ADDED), _telling(said, _NEUTRAL)
    have = {it.form for it in known}
    new = [it for it in wanted if it.form not in have]
    if any(_NAME_OR_NUMBER.match(candidate[it.start : it.end]) for it in new):
        return ProofReason.ADDED
    forms = [it.form for it in wanted]
    taken = [at for at, it in enumerate(known) if it.form in forms]
    until = taken[-1] + 1 if taken else 0
    if _denials(forms) != _denials([it.form for it in known[:until]]):
        return ProofReason.ADDED
    left_out = [it for it in known if it.form not in forms]
    if new:
        return ProofReason.REPLACED if left_out else ProofReason.WORDS_LEFT_OUT
    if _leaves_doubt_out(said, [known[at] for at in taken]):
        return ProofReason.CLAUSE_IN_DOUBT
    return None if _is_covered(forms, known) else ProofReason.WORDS_LEFT_OUT


def _leaves_doubt_out(said: str, taken: Sequence[FoldedWord]) -> bool:
    """Whether the words around those that a candidate takes ask, deny, suppose or narrow them."""
    if not taken:
        return True
    before = said[: taken[0].start]
    starts = (*(it.start for it in taken[1:]), len(said))
    rests = (said[it.end : start] for it, start in zip(taken, starts, strict=True))
    is_asked = begins("turns.questions", before)
    return is_asked or is_doubted_before(before) or any(map(is_doubted_after, rests))


def _telling(text: str, neutral: frozenset[str]) -> list[FoldedWord]:
    """The words of a plain text that say something."""
    return [
        it for it in tokens(text) if it.form and it.form[0].isalnum() and it.form not in neutral
    ]


def _denials(forms: Sequence[str]) -> int:
    return sum(_DENIAL.fullmatch(it) is not None for it in forms)


def _is_covered(forms: list[str], known: Sequence[FoldedWord]) -> bool:
    """Whether a candidate takes the words of a clause behind its lead without skipping one."""
    have = [it.form for it in known]
    lead = WORDS.set("classes.leads") | WORDS.set("classes.adverbs") | WORDS.set("texts.leads")
    start = 0
    while have[start : start + len(forms)] != forms and start < len(have) and have[start] in lead:
        start += 1
    end = start + len(forms)
    return have[start:end] == forms and may_end(next(iter(have[end:]), None))
