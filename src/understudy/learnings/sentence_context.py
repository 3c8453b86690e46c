"""Doubts about a part of a text: in its sentence, and in the sentences before and after it."""

import re
from dataclasses import dataclass
from functools import cache
from typing import Final

from understudy.learnings.handed_over import (
    announces,
    hands_over,
    may_be_anothers,
    names_source,
    speaks_of_text,
)
from understudy.learnings.phrases import HAN
from understudy.learnings.quotations import sentences
from understudy.patterns.word_lists import WordLists

WORDS: Final = WordLists("understudy.learnings", "statement_words.toml")
# The most characters of a sentence without an end that are searched to either side.
SENTENCE_CHARS: Final = 400
# A line of this length without an end continues on the next.
WRAPPED_CHARS: Final = 60
MAX_LINES_BACK: Final = 3
# A sentence of so few words is about its neighbour.
FEW_BEFORE: Final = 2
FEW_AFTER: Final = 6
# A clause of so few words behind a statement is no question of its own.
FEW_ASKED: Final = 3

# A number with a point or a colon in it is one word; of Chinese, each sign is.
WORD: Final = re.compile(r"\d+(?:[.,:/]\d+)+|[\u4e00-\u9fff]|[^\W\u4e00-\u9fff]+(?:['’]\w+)*")
_ENDED: Final = re.compile(r"[.!?;\u3002\uff01\uff1f\uff1b]\s*$")
# Doubts of several words, or joined by a hyphen.
_DOUBT_PHRASES: Final = (
    r"\bused to\b|\bno-one\b|\bpeut-être\b|\bsoi-disant\b|\bcho rằng\b|\bphủ nhận\b|\bcó lẽ\b|\bhình như\b|\bdường như\b|\bcó vẻ\b|\bchắc là\b"
    r"|\btrước đây\b|\bcó thể\b|\btheo (?:lời|như|bài|trang|tài liệu)\b"
    r"|\blast (?:year|month|week|summer|winter|spring|time)\b|\bin the past\b|\bback then\b|\byears? ago\b"
    r"|\bin case\b|\bas (?:soon|long) as\b|\btrong trường hợp\b|的时候|的话|一旦|只要|除非"
)  # fmt: skip
# Reminders and repetitions, which are no doubts.
_REMINDERS: Final = re.compile(
    r"\bi(?:['’]ve| have)? (?:just |already )?(?:said|mentioned|told you|wrote)\b|\bje (?:l['’]ai )?dit\b|\btôi (?:đã )?nói\b"
    r"|我[刚剛]?[说說]|(?<![他她它])[说說]明|[顺順]便[说說提][一1]?[下句]|\bnói (?:thêm|luôn|trước)\b"
    r"|\b(?:do not|don['’]t|never) forget\b|\bn['’]oublie[rz]? pas\b|\bđừng quên\b|别忘了?|別忘了?|不要忘记?"
)
# A sentence with one of these is about the next sentence ...
_POINTS_ON: Final = re.compile(
    r"\b(?:following|follows|below|suivante?s?|ci-dessous|ceci|voici|sau đây|dưới đây)\b|以下|下面|如下|下列"
    r"|[:\uff1a,\uff0c]\W*$|\b(?:that|que|rằng|dass)\W*$"
)  # fmt: skip
# ... and with one of these, about all sentences after it.
_POINTS_FAR_ON: Final = re.compile(
    r"\b(?:following|follows|below|suivante?s?|ci-dessous|sau đây|dưới đây)\b|以下|下面|如下|下列"
)
# A text that is handed over: an order about it, and a colon or an empty line behind it.
_HANDS_OVER: Final = re.compile(
    r"\b(?:this|these|following|below|text|sentences?|này|sau|dưới đây)\b|[这這]|以下|下面|[:\uff1a]\s*$",
    re.IGNORECASE,
)
# A sentence that begins so is about the sentence before it.
_POINTS_BACK: Final = re.compile(
    r"\W*(?:(?:but|and|no|well|actually|sorry|mais|nhưng)\W+)*"
    r"(?:(?:all of )?(?:that|this|it|these|those|everything|none)\b|which\b|c['’]est\b|ce\b|cela\b|ça\b"
    r"|đó\b|điều (?:đó|này)\b|但?[这那這此以上])"
)
# What is said so is taken back.
TAKES_BACK: Final = re.compile(
    r"\W*(?:(?:oh|ah|sorry|well|hm+|but|and|or|à|ồ|ối|哦|啊|呃|但)\W+){0,3}"
    r"(?:(?:i am |i was |am |was )?(?:just |only )?(?:kidding|joking)\b|scratch (?:that|this|it)\b|strike that\b|no\W+(?:wait|sorry|not|i|it|that|make)\b"
    r"|(?<=[oa]h )no\b|w?h?oops\b|wait\b|hold on\b|correction\b|never ?mind\b|forget (?:that|it|this|what)\b|not really\b|rather\b|i (?:mean|meant|take)\b"
    r"|my mistake\b|actually,? (?:no|not|it|that|make|we|the|i|on|at)\b|just a joke\b|not\W*$|not!"
    r"|(?:nói )?đùa\b|nhầm\b|không phải\b|khoan\b|đính chính\b|quên đi\b|thực ra\b|à không\b|thôi\b|nói chơi"
    r"|(?:前面|上面|刚才|那句|这句)+不算|[哦啊呃噢唉哎呀]{0,2}\W?(?:我?[开開]玩笑|[逗骗騙][你您]|[我]?[说說搞弄][错錯]|不[对對是,]|等等|等一下|其[实實]|才怪|更正|算了|才不))",
    re.IGNORECASE,
)  # fmt: skip
# A tag that makes a question of the statement before it.
_TAG: Final = re.compile(
    r"\W*(?:(?:is|are|do|does|did|was|were|have|has|will|can|should) (?:not )?(?:it|they|we|he|she|i|that|this|not)\b"
    r"|(?:right|correct|true|yes|no|huh|or|eh)\b|(?:phải|đúng|nhỉ|hả|có phải|chứ)\b|[对對是没嗎吗])",
    re.IGNORECASE,
)
_TAGGED: Final = re.compile(rf"(?:{_TAG.pattern})吧?\W*$", re.IGNORECASE)
# All that follows is imagined.
_IMAGINED: Final = re.compile(
    r"\W*(?:let us )?(?:pretend|imagine|suppose|assume|(?<=us )say|(?:hãy )?tưởng tượng|giả (?:sử|vờ)|假[设設装如]|想象)",
    re.IGNORECASE,
)
# A clause that begins so asks, also without its mark; `can you` and `will you` begin orders.
_INVERTED: Final = re.compile(
    r"(?:\A|[,;:])\W*(?:(?:is|was)(?:n['’]t)? (?:it|this|that|there)|(?:did|have|has|had)(?:n['’]t)? (?:it|i|we|you|they|he|she|any(?:body|one)|some(?:body|one))"
    r"|(?:do|does)(?:n['’]t)? (?:i|we|you|they|he|she|any(?:body|one)))\b",
    re.IGNORECASE,
)  # fmt: skip
# A question within a sentence, or at its end without a mark.
_WHETHER: Final = re.compile(
    r"\bwhether\b|是否|(?:\b(?:or not|hay không|hả|nhỉ|(?:phải|đúng) không)|[吗嗎]|[对是]吧)\W*$",
    re.IGNORECASE,
)
# The sentence behind a statement narrows it: `Only if the tests pass.`
_NARROWS: Final = re.compile(
    r"\W*(?:but )?(?:only (?:if|when)\b|unless\b|trừ khi\b|chỉ khi\b|除非|只有)", re.IGNORECASE
)
# A line that ends so continues on the next.
_RUNS_ON: Final = re.compile(
    r"\b(?:a|an|the|that|of|to|and|or|is|are|if|when|while|because|le|la|les|de|que|et|là|rằng|của|và)\s*$"
)
# Where a clause that a doubt before it does not reach begins.
NEW_CLAUSE: Final = re.compile(
    r",\s*(?:and|but|so|however|và|nhưng|nên)\b|,\s*(?:但是?|所以|而且|不过)|\s[-\u2013\u2014]+\s|\u2014|;",
    re.IGNORECASE,
)
_LABEL_APART: Final = re.compile(r"[,\uff0c]\s*([^,\uff0c:\uff1a]{1,20})[:\uff1a]\s*$")
# Where the clause of a statement ends.
CLAUSE_END: Final = re.compile(
    r"[,;、()\u2014\u2013]|\s-+\s|\b(?:because|since|so|as|and|which|nên|vì|để|và)\b|因为|因為|所以|并且|而且",
    re.IGNORECASE,
)
_CONJUNCTIONS: Final = re.compile(
    r"^(?:\W|\b(?:and|but|so|at least|even|mặc dù|nhưng|và)\b|但是?)*", re.IGNORECASE
)
_EXCEPTS: Final = re.compile(r"\W*(?:(?:but|nhưng)\W+(?:not|never|không)\b|但是?不)", re.IGNORECASE)
_TEXT_FOLLOWS: Final = re.compile(
    r"(?:[:\uff1a]|\b(?:that|saying|says|in which|where|rằng))\W*$", re.IGNORECASE
)
_OPENING_MARK: Final = re.compile(r"[\"'\u2018“„«\u2039「『《`]\s*$")
_CLOSING_MARK: Final = re.compile(r"[.!,]?\s*[\"'\u2019”“»\u203a」』》`]")
_FIRST_PERSON: Final = re.compile(r"(?:i|we|my|our|tôi|mình|chúng)\b|我", re.IGNORECASE)
# Somebody before a colon: `Ann: I like tea`.
_SPEAKER: Final = re.compile(
    r"(?:^|[.!?\n])\W*((?:[A-ZĐÀ-Ý][\w.]*\s?){1,2}|[\u4e00-\u9fff]{2,3})[:\uff1a]\s*$"
)


def words(text: str) -> list[str]:
    """The words of a text in order."""
    return WORD.findall(text)


def asks(said: str) -> bool:
    """Whether a text ends with a question mark, or holds a question: `tell me whether …`."""
    ends = said.rstrip("\"')”」』 \n").endswith(("?", "\uff1f"))
    return ends or _WHETHER.search(said) is not None


def doubts(text: str) -> int:
    """The number of negations, questions, suppositions and reports in a text."""
    plain = _REMINDERS.sub(" ", text.casefold())
    return sum(map(_is_doubt, words(plain))) + len(_doubt_signs().findall(plain))


def is_in_doubt(sentence: str, start: int, end: int) -> bool:
    """Whether a sentence denies, asks, supposes, quotes or takes back a part of itself."""
    before = sentence[max(0, start - SENTENCE_CHARS) : start]
    after = sentence[end : end + SENTENCE_CHARS]
    if _FIRST_PERSON.match(sentence, start):
        speaker = _SPEAKER.search(before)
        if speaker is not None and not announces(speaker[1]):
            return True
    if names_source(before) or (_OPENING_MARK.search(before) and _CLOSING_MARK.match(after)):
        return True
    return is_doubted_before(before) or is_doubted_after(after) or _is_asked(before, after)


def is_doubted_before(before: str) -> bool:
    """Whether the words before a statement in its sentence deny, ask, suppose or report it."""
    label = _LABEL_APART.search(before)
    if label and announces(label[1]):
        # `Before we start, fact: …`: when it is said is no condition.
        lead = before[: label.start()].replace("之前", "").casefold()
        return doubts(lead) > 0 or not WORDS.set("doubts.lasting").isdisjoint(words(lead))
    breaks = [found.end() for found in NEW_CLAUSE.finditer(before)]
    near, far = (before[breaks[-1] :], before[: breaks[-1]]) if breaks else (before, "")
    said = words(near.casefold())
    if doubts(near) or not WORDS.set("doubts.lasting").isdisjoint(words(far.casefold())):
        return True
    if not WORDS.set("doubts.conditions").isdisjoint(said):
        return True
    if _INVERTED.search(near) or (said and said[-1] in WORDS.set("doubts.auxiliaries")):
        return True
    return _is_order(before) and _TEXT_FOLLOWS.search(before) is not None


def is_doubted_after(after: str) -> bool:
    """Whether the words behind a statement in its sentence deny it, take it back or narrow it."""
    found = CLAUSE_END.search(after)
    near, rest = (after[: found.start()], after[found.start() :]) if found else (after, "")
    if doubts(near) or _is_condition(near) or TAKES_BACK.match(rest) or _is_condition(rest):
        return True
    opening = words(rest.casefold())[:4]
    return "i" not in opening and not WORDS.set("doubts.reports").isdisjoint(opening)


def _is_condition(said: str) -> bool:
    rest = _CONJUNCTIONS.sub("", said, count=1).casefold()
    first = words(rest[:40])[:1]
    if _EXCEPTS.match(said):
        return True
    return bool(first) and (
        first[0] in WORDS.set("doubts.conditions")
        or rest.startswith(WORDS("doubts.conditions_chinese"))
    )


def _is_asked(before: str, after: str) -> bool:
    if _TAGGED.match(after):
        return True
    if not after.rstrip(" \"')”»」").endswith(("?", "\uff1f")):
        return False
    found = re.search(r"[,;\u2014\u2013]|\s-+\s|\b(?:so|and|nên)\b|所以", after)
    if found is None or words(before):
        return True
    rest = after[found.end() :]
    is_short = len(words(rest)) <= FEW_ASKED and HAN.search(rest) is None
    return is_short or _TAG.match(rest) is not None


def _is_order(said: str) -> bool:
    """Whether a sentence orders something to be done with a text."""
    lowered = said.casefold()
    return not WORDS.set("doubts.text_orders").isdisjoint(words(lowered)) or any(
        order in lowered for order in WORDS("doubts.text_orders_chinese")
    )


@dataclass(frozen=True, slots=True)
class Passages:
    """The sentences of a normalised text, and their doubts."""

    text: str
    spans: tuple[tuple[int, int], ...]
    # The offset after which everything is in doubt.
    doubted_from: int

    @classmethod
    def of(cls, text: str) -> "Passages":
        """The passages of a text."""
        spans = tuple(sentences(text))
        far = (end for start, end in spans if _doubts_what_follows(text, start, end))
        return cls(text, spans, next(far, len(text) + 1))

    def are_in_doubt(self, first: int, last: int) -> bool:
        """Whether the sentences around some sentences deny, suppose or quote them."""
        is_far = self.spans[first][0] >= self.doubted_from
        return is_far or self._before(first) > 0 or self._after(last) > 0

    def may_be_anothers(self, first: int, last: int, before: str) -> bool:
        """Whether anything around some sentences may introduce them as somebody else's text."""
        said = [
            self.text[start : end + self.text.startswith("\n", end)] for start, end in self.spans
        ]
        return may_be_anothers(said[:first], before, said[last + 1 :])

    def _before(self, index: int) -> int:
        """The doubts of earlier sentences about this one."""
        found = 0
        for back in range(index - 1, max(-1, index - 1 - MAX_LINES_BACK), -1):
            start, end = self.spans[back]
            said = self.text[max(start, end - SENTENCE_CHARS) : end]
            if _POINTS_ON.search(said) or _denies(said, FEW_BEFORE):
                return found + doubts(said)
            if not _runs_on(said):
                break
            found += doubts(said)
        return found

    def _after(self, index: int) -> int:
        """The doubts of the next sentence about this one."""
        if index + 1 >= len(self.spans):
            return 0
        start, end = self.spans[index + 1]
        said = self.text[start : min(end, start + SENTENCE_CHARS)]
        if TAKES_BACK.match(said) or _NARROWS.match(said) or speaks_of_text(said):
            return 1
        is_about = _POINTS_BACK.match(said.casefold()) or _denies(said, FEW_AFTER)
        return doubts(said) if is_about else 0


def _doubts_what_follows(text: str, start: int, end: int) -> bool:
    # Only sentences that point forward are split into words.
    said = text[start:end][:SENTENCE_CHARS]
    if _IMAGINED.match(said) or (_POINTS_FAR_ON.search(said) and (doubts(said) or _is_order(said))):
        return True
    if not (said.endswith("\n") or text.startswith("\n", end)):
        return False
    return hands_over(said) or (
        "?" not in said and _HANDS_OVER.search(said) is not None and _is_order(said)
    )


def _denies(said: str, most: int) -> bool:
    found = words(_REMINDERS.sub("", said.casefold()))
    return 0 < len(found) <= most and not WORDS.set("doubts.denials").isdisjoint(found)


def _runs_on(said: str) -> bool:
    """Whether a line continues on the next."""
    if _ENDED.search(said):
        return False
    return len(said) >= WRAPPED_CHARS or _RUNS_ON.search(said) is not None


@cache
def _doubts() -> frozenset[str]:
    return frozenset().union(
        *(WORDS(f"doubts.{language}") for language in ("english", "french", "vietnamese"))
    )


@cache
def _doubt_signs() -> re.Pattern[str]:
    return re.compile("|".join((_DOUBT_PHRASES, *WORDS("doubts.chinese"))))


def _is_doubt(word: str) -> bool:
    bare = word.replace("’", "'")
    return bare in _doubts() or bare.endswith("n't") or bare.startswith("n'")
