"""Standing instructions by a closed list, for statements of which neither a model nor a person said it."""

import re
import unicodedata
from functools import cache
from typing import Final

from understudy.learnings.expiry_words import names_a_time
from understudy.learnings.model import SEMANTIC_KINDS, Applies, Kind
from understudy.learnings.phrases import LANGUAGES, any_of
from understudy.patterns.word_lists import WordLists

WORDS: Final = WordLists("understudy.learnings", "standing.toml")
# Later characters of a statement are not read, nor are words about answers behind its first few.
MAX_CHARS: Final = 2_000
HEAD_CHARS: Final = 32
_SENTENCE_END: Final = re.compile(r"[.!?](?=\s|$)|[\n\u3002\uff01\uff1f]")


def proposed_applies(text: str, kind: Kind) -> Applies:
    """`always` for a standing instruction, `when_relevant` for all else."""
    return Applies.ALWAYS if is_standing(text, kind) else Applies.WHEN_RELEVANT


def says_always(text: str) -> bool:
    """Whether a text has a word such as `always` or `from now on`."""
    return _any("always").search(text.casefold()) is not None


def is_standing(text: str, kind: Kind) -> bool:
    """Whether a statement plainly says that it holds for every task or every answer."""
    line = unicodedata.normalize("NFC", text[:MAX_CHARS]).casefold().replace("\u2019", "'")
    return kind in SEMANTIC_KINDS and any(map(_instructs, _SENTENCE_END.split(line)))


def _instructs(sentence: str) -> bool:
    lead = _any("lead").match(sentence.strip())
    said = sentence.strip()[lead.end() if lead else 0 :]
    if _any("narrows").search(said) or names_a_time(said):
        return False
    form = _any("form").search(said[:HEAD_CHARS])
    is_own = form and (form.start() == 0 or _any("own").match(said))
    return bool(is_own or _any("always").match(said))


@cache
def _any(role: str) -> re.Pattern[str]:
    words = any_of([it for language in LANGUAGES for it in WORDS(f"{language}.{role}")])
    return re.compile(rf"(?:{words}\s?)+" if role == "lead" else rf"{words}(?!-)")
