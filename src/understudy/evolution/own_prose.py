"""What somebody wrote in a message themselves, as sentences: not what they show, quote or list."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from understudy.learnings.quoting import pasted, quoted
from understudy.learnings.sentences import sentences

# Stands where something quoted stood, and is no word of any language.
QUOTED: Final = "\ufffc"
_LISTED: Final = re.compile(r"\s*(?:[-+*\u2022\u00b7#|~]|//|/\*|\d{1,3}[.)\u3001])")
_LABEL: Final = re.compile(r"[:\uff1a](?!//)(?<!\d[:\uff1a](?=\d))")
# Alone on a line: what follows is what somebody else said.
_SPEAKER: Final = re.compile(
    r"\W*(?:user|human|system|assistant|agent|bot|model|tool)\W*", re.IGNORECASE
)
# A sentence with one of these speaks of the text that comes after it.
_PRESENTS: Final = re.compile(
    r"\b(?:following|below|translat\w+|summari[sz]\w+|proofread\w*|paraphrase\w*|explain\w*|quot\w+"
    r"|says?|said|reads|wrote|ignore|pretend|imagine|suppose|examples?|e\.g"
    r"|sau đây|dưới đây|dịch|tóm tắt|giải thích|trích|ví dụ|giả sử|viết rằng|nói rằng)\b"
    r"|以下|下面|如下|翻译|翻譯|总结|總結|解释|解釋|引用|例如|比如|假设|假設|写道|寫道|说道|說道",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a message, and whether its writer says it: up to where they show something."""

    text: str
    is_own: bool


def sentences_of(text: str) -> Iterator[Sentence]:
    """The sentences of a message, without what stands in quotations."""
    is_own = True
    for line in _without_quotations(text).splitlines():
        own, rest, ends = _parts(line)
        if _SPEAKER.fullmatch(line):
            is_own = False
        for said in _sentences(own):
            yield Sentence(said, is_own)
            is_own = is_own and _PRESENTS.search(said) is None
        yield from (Sentence(said, is_own=False) for said in _sentences(rest))
        is_own = is_own and not ends


def _parts(line: str) -> tuple[str, str, bool]:
    """What of a line is the writer's own, what is listed or labelled, and whether more of it follows."""
    if _LISTED.match(line):
        return "", line, False
    label = _LABEL.search(line)
    if label is None:
        return line, "", False
    rest = line[label.end() :]
    return line[: label.start()], rest, not rest.strip()


def _sentences(text: str) -> Iterator[str]:
    return (text[start:end].strip() for start, end in sentences(text))


def _without_quotations(text: str) -> str:
    blocks = set(pasted(text))
    kept, at = [], 0
    for start, end in quoted(text):
        kept.append(text[at:start])
        kept.append("\n\n" if (start, end) in blocks else f" {QUOTED} ")
        at = max(at, end)
    return "".join((*kept, text[at:]))
