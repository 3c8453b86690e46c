"""Messages in which a user asks for a skill in their own words, in any language that we speak."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Final

from understudy.evolution.own_prose import own_sentences
from understudy.evolution.reading import plain, word_line
from understudy.evolution.request_chinese import CHINESE
from understudy.evolution.request_english import ENGLISH
from understudy.evolution.request_grammar import Grammar
from understudy.evolution.request_vietnamese import VIETNAMESE
from understudy.learnings.wording import UNSPACED

GRAMMARS: Final = (ENGLISH, VIETNAMESE, CHINESE)
MAX_SENTENCE_CHARS: Final = 400
MAX_LEADS: Final = 6

_IN_ONE: Final = re.compile(rf"(?<=[{UNSPACED},]) | (?=[{UNSPACED},])")


def asks_for_skill(text: str) -> bool:
    """Whether the writer asks that a skill be made now; what leaves a doubt does not."""
    # Nearly every message speaks of none: that is told at once.
    shown = plain(text)
    spoken = [grammar for grammar in GRAMMARS if grammar.names_it(shown)]
    said = [plain(sentence) for sentence in own_sentences(text)] if spoken else []
    for index, sentence in enumerate(said):
        for grammar in spoken:
            if _asks(grammar, sentence):
                return not any(_takes_back(grammar, later) for later in said[index + 1 :])
    return False


def _asks(grammar: Grammar, sentence: str) -> bool:
    if len(sentence) > MAX_SENTENCE_CHARS or not grammar.names_it(sentence):
        return False
    line = _line(grammar, sentence)
    found = _pattern(grammar).fullmatch(line)
    if found is None or grammar.vetoes.search(found["ask"] + (found["tail"] or "")):
        return False
    is_polite_question = bool(found["modal"] or found["softly"])
    if "?" in sentence or found["particle"] or is_polite_question:
        # "Could you …?" asks for it when it is about something at hand, and else whether one can.
        return is_polite_question and grammar.definite.search(line, found.start("ask")) is not None
    return True


def _takes_back(grammar: Grammar, sentence: str) -> bool:
    return grammar.cancels.match(_line(grammar, sentence)) is not None


def _line(grammar: Grammar, sentence: str) -> str:
    line = word_line(sentence)
    return line if grammar.blank else _IN_ONE.sub("", line)


@cache
def _pattern(grammar: Grammar) -> re.Pattern[str]:
    """Leads, perhaps a modal verb, what is asked, and what may come behind it."""
    blank = grammar.blank
    comma = f"(?:{blank},)?"
    return re.compile(
        f"(?:(?:{_any(grammar.leads)}){comma}{blank}){{0,{MAX_LEADS}}}"
        f"(?:(?P<modal>{_any(grammar.modals)}){blank})?"
        f"(?P<ask>{_any(grammar.asks)})"
        f"(?P<tail>{comma}{blank}(?:{_any(grammar.connectors)})(?:{blank or '.'}.*?)?)?"
        f"(?:{comma}{blank}(?:{_any(grammar.polite)}))*"
        f"(?:{comma}{blank}(?:(?P<softly>{_any(grammar.soft_questions)})"
        f"|(?P<particle>{_any(grammar.particles)})))?"
    )


def _any(choices: Sequence[str]) -> str:
    # Of nothing there is none: an empty choice would be one that always fits.
    return "|".join(choices) or r"(?!)"
