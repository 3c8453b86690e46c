"""Standing instructions: statements that hold for every task, not for one topic.

Each clause is read as a string of word classes, one letter per word or phrase, and patterns over
these letters decide: who is told to do something, what it is about, what narrows it.
"""

import re
import unicodedata
from functools import cache
from typing import Final

from understudy.core.lazy import lazy_pattern
from understudy.learnings.model import SEMANTIC_KINDS, Applies, Kind
from understudy.learnings.normal_form import HAN_AND_KANA
from understudy.patterns.word_lists import WordLists

WORDS: Final = WordLists("understudy.learnings", "standing.toml")
# Later characters of a statement and later words of a clause are not read.
MAX_CHARS: Final = 2000
MAX_WORDS: Final = 100
# The letters of each word class; a later class wins where two have the same phrase.
CLASSES: Final = {
    "link": "c",
    "of": "o",
    "copula": "B",
    "article": "a",
    "definite": "t",
    "yours": "y",
    "mine": "m",
    "no": "n",
    "about": "F",
    "topic": "j",
    "place": "E",
    "manner": "e",
    "place_end": "R",
    "process": "K",
    "first": "f",
    "approval": "k",
    "general": "g",
    "output": "O",
    "output_phrases": "O",
    "quality": "q",
    "do": "D",
    "do_phrases": "D",
    "act": "V",
    "act_phrases": "V",
    "tell": "A",
    "tell_phrases": "A",
    "enough": "L",
    "tell_me": "AI",
    "wish": "W",
    "favour": "H",
    "informed": "J",
    "modal": "M",
    "quantifier": "Q",
    "polite": "P",
    "prohibition": "N",
    "universal": "U",
    "temporary": "T",
    "you": "Y",
    "agent": "G",
    "me": "I",
    "address": "S",
    "other": "x",
}
_TOKEN: Final = lazy_pattern(
    rf"[{HAN_AND_KANA}]|[^\W_{HAN_AND_KANA}]+(?:['\u2019;-][^\W_{HAN_AND_KANA}]+)*+"
)
_SENTENCE_END: Final = lazy_pattern(r"[.!?](?=\s|$)|[\n\u3002\uff01\uff1f]")
_CLAUSE_END: Final = lazy_pattern(r"[,;:\uff0c\uff1b\uff1a\u3001()\u2014\u2013](?!\d)|\s-\s")
# Words that may stand before an instruction, or between its parts.
_LEAD: Final = r"^[PUQcKnMgfk]*"
# Who is told to do what: the agent, by an imperative or by name.
_INSTRUCTIONS: Final = tuple(
    lazy_pattern(pattern)
    for pattern in (
        # "Never …", "Don't …": of anything that the agent may do.
        _LEAD + r"[GY]?[PUM]*N(?!E[tx])",
        # "Call me …".
        r"S",
        # "Answer …", "Always tell me …"; "Ask Lena" is an errand.
        _LEAD + r"[PUQ]*[Ak](?!X|I?j|I?t[xvX]+(?:e[^OQUYKI]*)?$)",
        # "Always check …".
        r"^[Pc]*U[PUQMcf]*(?:[VDx](?!M)|v.*[OAKkYIVDP])",
        # "Prefer …".
        r"^[PUc]*H(?!X)",
        # "Use …", "Delete …": of the form of answers, of every case, of the agent's own steps.
        _LEAD
        + r"Q?(?:D[^B]*(?:[OAQkYyUIf]|K(?!a$|t[xvX]+$))|V[^B]*(?:[AQkYyUIf]|K(?!a$|t[xvX]+$)))",
        r"^[Pc]*f[PU]*[DV]",
        # "You …", "The agent must …".
        _LEAD + r"Y(?!M[xvXD][^OAQKkUIy]*$)",
        _LEAD + r"G[UM]*[UMNAVD]",
        # "I want …", "The user prefers …".
        _LEAD + r"(?:I[PUcxv]?|I.*c)?[WH](?!o|e[AVDBxS])(?:.*[AYJyk]|[^v]*O)",
        # "I must approve every …".
        _LEAD + r"IM[VA].*Q",
        # "No …", "Short answers only", "Times in …, please".
        r"^[PUc]*[nQyma]*x?[ty]?O+(?:c[xg]?O+)*(?:[EeFPUnQf][^B]*)?$",
        r"^[PUc]*O+A+$",
        # "Long answers annoy me".
        r"^[PUcnQ]*O+[xvW]+I$",
        # "Every claim needs a source".
        r"^[PUc]*(?:Q[xv]{1,2}(?:W|MB?|UB?)|v{1,3}UMB?)a?O",
        # "Stay in touch with me …".
        r"^[PUc]*[xvD][eF]I(?!M)",
        # "Your answers are too long".
        r"^[PUc]*yx?O",
        # "All answers should be …".
        r"^[PUc]*[Qymt]?[xg]{0,2}[OA]+[cOA]*Q?[MPUKN]",
        r"^[PUc]*[nQ]x?O+x?EO+$",
        # "Under fifty words".
        r"^[PUc]*e?a[xv]?O+P*$",
        # "One sentence is enough".
        r"^[^tX]*[OA][^X]*L",
        # "My diary is off limits".
        r"^[PUc]*[xvO]{0,4}m[xvO]*B?[QP]*N(?:[AV]|[xv]?$)",
        # In Chinese and Vietnamese what it is about comes first: "… then do not …".
        r"^[^xX]*[OAgYI][^xX]*[Pc]N",
        r"^[^xX]*g[^xX]*c[PU]*[ADVS]",
        r"^[^xXvtGm]*U[PQM]*A",
        r"^[^xXtG]*(?:c[PU]+A|[ADVg]KP*[ADV])",
        r"^Q[gAVD][^xX]*[KkYI]",
        # "Ditch the jargon": a word before an article is a verb.
        r"^[PUc]*x[tymIQ]+[xg]{0,2}[OAy]",
        # "No purchase without my approval".
        r"^[PUc]*[Qn].*k",
    )
)
# An imperative whose object is unknown: an instruction where it is a preference, not a decision.
_IMPERATIVE: Final = lazy_pattern(
    r"[PUc]*(?:D[^BX]*|AIt[^BX]*|B[nat]x[^BX]*|n[xvVOA]{1,3}|PO+v{1,3})$"
)
# "Times are in …": a fact where nobody decided it.
_USAGE: Final = lazy_pattern(
    r"[PUc]*(?:[gQym]*O+B[UPQ]*x?E?O+$|v{1,2}O+D[^B]*O|[Qymt]?[xg]{0,2}[OA]+[cOA]*Q?D)"
)
_OTHER_QUALITY: Final = lazy_pattern(r"q(?=o?[xvX])")
_QUALITY: Final = lazy_pattern(r"q")
# "Ask Me Anything is …": a name that reads like an instruction.
_TITLE: Final = lazy_pattern(
    r"\s*[A-Z][\w'\u2019]*(?: [A-Z][\w'\u2019]*){1,6} (?:is|was|are|were)\b"
)
_ADVERB: Final = lazy_pattern(r"[a-z]{3,}ly")
_ENGLISH_VERB: Final = lazy_pattern(r"(?<=O)D")
_NARROWING: Final = lazy_pattern(r"(?P<by>F|E|(?<![ONx])j)(?P<what>[Kk]?[^FEKk]*)")
# A topic or a condition at the start of a clause, up to the comma, "then" or the Chinese "when".
_OPENING: Final = lazy_pattern(
    r"^[Pc]*+(?:(?P<by>[FjEKe])(?P<after>[^cPRM]*)(?:$|[cPR]|M(?=[ADVN]))|(?P<before>[^R]*)R)"
)
# A condition or a place of every task.
_GENERAL: Final = lazy_pattern(
    r"[YIGPcBUMnQa]*[xvD]?a?(?:[gyS]|O(?!x)|A(?!e?t[xv]|e[xvX]|v{2}))"
    r"|[IYQUKkm]*P*$|[IYm]+e|[UKkmy]|t?[Og]|[^g]*g"
)
# "Before you …", "After every …".
_STEP: Final = lazy_pattern(r"^[AVD]|[YIQk]")
_ALWAYS: Final = lazy_pattern(r"[Pc]*U[PUc]*")
_GENERAL_BEFORE: Final = lazy_pattern(r"[OgUYSKk]|A(?!v{2})")


def proposed_applies(text: str, kind: Kind) -> Applies:
    """`always` for a standing instruction, `when_relevant` for all else."""
    return Applies.ALWAYS if is_standing(text, kind) else Applies.WHEN_RELEVANT


def is_standing(text: str, kind: Kind) -> bool:
    """Whether a statement is an instruction to the agent that holds for every task."""
    if kind not in SEMANTIC_KINDS:
        return False
    line = unicodedata.normalize("NFC", text[:MAX_CHARS])
    return any(_instructs(sentence, kind) for sentence in _SENTENCE_END.split(line))


def _instructs(sentence: str, kind: Kind) -> bool:
    if _TITLE.match(sentence):
        return False
    clauses = [it for it in map(_classes, _CLAUSE_END.split(sentence)) if it]
    if not clauses or any("T" in it for it in clauses):
        return False
    opening = _OPENING.match(clauses[0])
    if opening and not _is_general(opening):
        return False
    if opening or _ALWAYS.fullmatch(clauses[0]):
        # What holds for every task makes the rest hold for every task.
        rest = clauses[0][opening.end() :] if opening else ""
        if opening and opening["by"] == "K":
            rest = rest or clauses[0]
        clauses = ["U" + it for it in (rest, *clauses[1:])] if rest or clauses[1:] else clauses
    return any(_is_instruction(it, kind) for it in clauses)


def _is_general(opening: re.Match[str]) -> bool:
    """Whether an opening is a condition of every task, and not a topic as "For the report" is."""
    if opening["before"] is not None:
        return bool(_GENERAL_BEFORE.search(opening["before"]))
    if opening[0].endswith("R") and _GENERAL_BEFORE.search(opening["after"]):
        return True
    if opening["by"] == "K" and _STEP.search(opening["after"]):
        return True
    return bool(_GENERAL.match(opening["after"]))


def _is_instruction(clause: str, kind: Kind) -> bool:
    if _is_narrowed(clause):
        return False
    is_wish = kind is Kind.PREFERENCE and _IMPERATIVE.match(clause)
    is_usage = kind is not Kind.FACT and _USAGE.match(clause)
    return bool(is_wish or is_usage) or any(it.search(clause) for it in _INSTRUCTIONS)


def _is_narrowed(clause: str) -> bool:
    """Whether a part of the clause limits it to a topic."""
    is_forbidden = "N" in clause
    for found in _NARROWING.finditer(clause):
        what = found["what"]
        if found["by"] in "Fj":
            if not _GENERAL.match(what):
                return True
        elif what.startswith("t") and not is_forbidden and not re.search(r"[OAgIY]", what):
            return True
    return False


def _classes(clause: str) -> str:
    """One letter for each word or phrase of a clause."""
    found = _TOKEN.findall(clause.replace("\u2019", "'"))
    tokens = [it.casefold() for it in found[:MAX_WORDS]]
    letters: list[str] = []
    unknown = "x" if clause.isascii() else "v"
    at = 0
    while at < len(tokens):
        length, letter = _longest(tokens, at)
        if letter == "x" and tokens[at][0].isdigit():
            letter = "a"
        elif letter == "x" and _ADVERB.fullmatch(tokens[at]):
            letter = "P"
        is_name = letter == "x" and length == 1 and at > 0 and found[at][0].isupper()
        letters.append("X" if is_name else unknown if letter == "x" else letter)
        at += length
    read = _QUALITY.sub("O", _OTHER_QUALITY.sub(unknown, "".join(letters)))
    # "Prices include …" says what is so.
    return _ENGLISH_VERB.sub("x", read) if unknown == "x" else read


def _longest(tokens: list[str], at: int) -> tuple[int, str]:
    known, longest = _lexicon()
    for length in range(min(longest, len(tokens) - at), 0, -1):
        letter = known.get(tuple(tokens[at : at + length]))
        if letter:
            return length, letter
    return 1, "x"


@cache
def _lexicon() -> tuple[dict[tuple[str, ...], str], int]:
    """The class of each phrase, and the length of the longest one."""
    known = {
        tuple(_TOKEN.findall(phrase)): letter
        for name, letter in CLASSES.items()
        for phrase in WORDS(name)
    }
    gerunds = {
        (it,): CLASSES[name]
        for name in ("do", "act", "tell")
        for word in WORDS(name)
        for it in _gerunds(word)
    }
    known = gerunds | known
    return known, max(map(len, known))


def _gerunds(verb: str) -> tuple[str, ...]:
    return (
        (f"{verb}ing", f"{verb.removesuffix('e')}ing", f"{verb}{verb[-1]}ing")
        if verb.isascii()
        else ()
    )
