"""British and American spellings brought together."""

import re
from typing import Final

# Endings that tell where a word was printed, the longest first; any word of six letters or more.
_ENDINGS: Final = (
    ("isation", "ization"),
    ("ising", "izing"),
    ("ysing", "yzing"),
    ("lling", "ling"),
    ("ised", "ized"),
    ("ises", "izes"),
    ("ysed", "yzed"),
    ("lled", "led"),
    ("tres", "ters"),
    ("ogue", "og"),
    ("ise", "ize"),
    ("yse", "yze"),
    ("tre", "ter"),
)
_LEAST_LETTERS: Final = 6
_OUR: Final = re.compile(r"(?<=[a-z]{2})our(?=(?:s|ed|ing|ful|able|ly|hood|ite|ites|er|ers)?$)")
_KEEP_OUR: Final = ("hour", "four", "your", "tour", "pour", "sour", "cour", "jour")
_WORDS: Final = {
    "artefact": "artifact",
    "artefacts": "artifacts",
    "centre": "center",
    "defence": "defense",
    "grey": "gray",
    "licence": "license",
    "licences": "licenses",
    "metre": "meter",
    "offence": "offense",
    "programme": "program",
    "programmes": "programs",
}


def american(word: str) -> str:
    """The American spelling of a lower-case English word."""
    if word in _WORDS:
        return _WORDS[word]
    if "our" in word and not word.startswith(_KEEP_OUR):
        word = _OUR.sub("or", word)
    if len(word) < _LEAST_LETTERS:
        return word
    for ending, instead in _ENDINGS:
        if word.endswith(ending):
            return word[: -len(ending)] + instead
    return word
