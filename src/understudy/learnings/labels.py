"""Labelled statements of a request, such as `Fact: …`, without the tasks and texts around them."""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise, takewhile
from typing import Final

from understudy.learnings.model import MAX_CONTENT_CHARS, Kind
from understudy.learnings.non_statements import STOP, TRIMMED, is_junk, is_order
from understudy.learnings.pastes import is_introduced
from understudy.learnings.phrases import (
    HAN,
    MAX_LEAD_CHARS,
    WORDS,
    begins,
    finds,
    phrases,
    words_of,
)
from understudy.learnings.quotations import Span, is_abbreviated, pasted, quoted, sentences

LABELS: Final[Mapping[str, Kind]] = {
    unicodedata.normalize("NFC", label): kind
    for kind in (Kind.PREFERENCE, Kind.FACT, Kind.DECISION)
    for label in WORDS(f"labels.{kind}")
}
# Orders for the current turn, which end a statement.
TURN_ORDERS: Final = ("reply exactly", "respond exactly", "answer exactly")
# ASCII and full width.
COLONS: Final = ":\uff1a"
# A value of so few words is one of a record, and a lead-in of so few is a name.
VALUE_WORDS: Final = 3
NAME_WORDS: Final = 2
# A line of so many characters was wrapped.
WRAPPED_CHARS: Final = 48
INDENT: Final = 4
# Nobody labels more statements by hand in one request; each is looked for in the text before it.
MAX_LABELS_READ: Final = 32
# A sentence of more clauses is read up to this one.
MAX_CLAUSES: Final = 64
_BULLET: Final = r"[ \t]{0,16}(?:[-+*•·]|\d{1,3}[.)\u3001]|\[[ xX]?\])[ \t]{1,16}"
# Letters of words that end in a label, such as `artifact:`; Chinese has no gaps between words.
_LETTERS: Final = "0-9A-Za-z_\u00aa-\u02af\u0300-\u036f\u1e00-\u1eff"
_LABEL: Final = re.compile(
    rf"(?<![{_LETTERS}*])(?<![{_LETTERS}][-'])(?<!--)(?<![/\\.,=@#$&|<>\"`:])"
    rf"[*_]{{0,3}}(?P<label>{'|'.join(map(re.escape, LABELS))})"
    rf"(?:[ \t]?#?\d{{1,2}})?[*_]{{0,3}}[ \t]?[{COLONS}](?![:=/\\)])[*_]{{0,3}}",
    re.IGNORECASE,
)
_BULLETED: Final = re.compile(_BULLET)
_CLAUSE: Final = re.compile(
    r"[,;:\uff0c\uff1b\uff1a\u3002]\s*|\s[-\u2013\u2014]{1,2}\s|\u2014{1,2}|\s(?=(?:and|so|but|then|rồi|vậy)\s)|(?<=[\u3400-\u9fff])\s(?=[\u3400-\u9fff])"
)
# A colon, the end of a sentence that presents what follows on a new line, or the end of a line.
_CLAUSE_END: Final = re.compile(
    rf"[{COLONS}](?=\s|$|[\u3400-\u9fff])|\uff1a|[.!?;](?=[^\S\n])|[\u3002\uff01\uff1f\uff1b](?!\n)|\n"
)
_PARAGRAPH_END: Final = re.compile(r"\n[^\S\n]*\n")
# They stand before a label in programs and chats.
_CODE_ENDS: Final = '<>=/\\|~^&$#@%["`'
_BRACKETS: Final = ("(", "\uff08")
_TURN_ORDER: Final = re.compile(
    rf"(?:^|\s)(?:{'|'.join(TURN_ORDERS)})\b.*", re.IGNORECASE | re.DOTALL
)
# A line of a log, a listing or a program.
_MACHINE: Final = re.compile(
    r"[ \t]*(?://|/\*|<!--|--[ \t]|\||[+-]{3}|@@|[\w./-]{1,80}:\d{1,6}:|\[[^\]\n]{3,40}\]|[^\n]{0,24}\d{1,2}:\d{2}(?::\d{2}|[)\]])"
    r"|[^\n]{0,40}\b(?:DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|TRACE|FATAL)\b)|[^\n]*[{|]\s*$"
)
_KEY_LINE: Final = re.compile(
    r"[ \t]*(?:-[ \t])?[\"']?(?P<key>[^\W\d][\w.-]{0,30}(?:[ /][\w.-]{1,30}){0,2})[\"']?[ \t]*"
    r"(?:[:\uff1a](?!//)|=)[ \t]*(?P<value>[^\n]{0,200})$"
)
_CONJUNCTION: Final = re.compile(r"^(?:so|and|but|then)\s", re.IGNORECASE)
_DASH: Final = re.compile(r"\s[-\u2013\u2014]{1,2}\s")
_DANGLING: Final = re.compile(r"[\s,\uff0c](?:and|so|but|then|or|và|rồi|nên|thì)$", re.IGNORECASE)
# A line of a program below its comment.
_PROGRAM: Final = re.compile(
    r"[ \t]*[\w.]+(?:\(|[ \t]?[-+]?=)|[^\n]*[;{}]\s*$|(?:import|from|def|class) \w"
)
_PLACEHOLDER: Final = re.compile(
    r"(?:<[^<>\n]{1,80}>|\{\{[^{}\n]{1,80}\}\}|_{2,})[^\n]*|[<\[{(\uff08【][^\n]*[>\]})\uff09】]|[_.\u2026\s-]*"
)
_ASKS: Final = re.compile(
    r"whether\b|(?:what|why|who|how|where|which \w+)(?:'s|’s)? (?:is|are|was|do|does|did|can|could|should|would|will)\b"
    r"|(?:do|does|did|is|are|can|could|should|would|will|shall) (?:i|you|we|they|he|she|it|the|there|this|that|our|my|your)\b"
    r"|[^\n]*(?:[吗嗎呢]|\b(?:phải|đúng|được|có) không|\bhả|\bnhỉ|\bthế nào|\bbao nhiêu|\bor not)$",
    re.IGNORECASE,
)
_DOUBTS: Final = re.compile(
    r"(?:is|isn't|are) (?:this|that|it|these) (?:\w+ )?(?:true|right|correct|wrong|ok|accurate|grammatical)\b|true or false"
    r"|(?:đúng|phải|chính xác) không|có đúng|对吗|對嗎|对不对|是真的吗|正确吗|是否正确",
    re.IGNORECASE,
)
_MARKS: Final = (('"', '"'), ("`", "`"), ("“", "”"), ("「", "」"), ("«", "»"))
_BOTH_WAYS: Final = "\"'`"
_OPENING: Final = _BOTH_WAYS + "“„«\u2039「『《\u2018([< "


@dataclass(frozen=True, slots=True)
class LabelledStatement:
    """A statement behind a label of a request."""

    kind: Kind
    content: str
    # Whether something before it may introduce it as text of others.
    is_handed_over: bool


def labelled_statements(request: str) -> Iterator[LabelledStatement]:
    """The labelled statements that the writer of a scrubbed request makes, in order."""
    text = unicodedata.normalize("NFC", request).replace("\r\n", "\n").replace("\r", "\n")
    labels = list(_LABEL.finditer(text))
    if not labels:
        return
    page = _Page.of(text)
    starts = [label.start() for label in labels]
    pairs = zip(labels, (*starts[1:], len(text)), strict=True)
    own = ((label, end) for label, end in pairs if page.is_own(label))
    for label, end in islice(own, MAX_LABELS_READ):
        # None for a dotless i, which matches an i without regard to case.
        kind = LABELS.get(label["label"].casefold())
        if kind is not None:
            said = page.statements(
                label.end(), end, is_inside=text.endswith(_BRACKETS, 0, label.start())
            )
            found = [it for it in said if _says_something(it, kind)]
            is_handed_over = bool(found) and is_introduced(text, label.start(), besides=starts)
            yield from (LabelledStatement(kind, it, is_handed_over) for it in found)


@dataclass(frozen=True, slots=True)
class _Page:
    """A request, with the spans of it that others wrote."""

    text: str
    # Quotations, pasted blocks and material to work on.
    quotations: Sequence[Span]
    # Offsets where pasted blocks begin; no statement extends into one.
    blocks: Sequence[int]
    # Lists of `key: value` data.
    records: Sequence[Span]

    @classmethod
    def of(cls, text: str) -> "_Page":
        blocks = sorted(start for start, _ in pasted(text))
        foreign = (*quoted(text), *handed_over_texts(text, blocks))
        return cls(text, foreign, blocks, tuple(records(text, least=1)))

    def is_quoted(self, at: int) -> bool:
        """Whether an offset is inside a quotation."""
        return any(start <= at < end for start, end in self.quotations)

    def is_own(self, label: re.Match[str]) -> bool:
        """Whether a label stands where a writer puts one before a statement of their own."""
        start = label.start()
        if self.is_quoted(start):
            return False
        line_start = self.text.rfind("\n", 0, start) + 1
        before = self.text[max(line_start, start - MAX_LEAD_CHARS) : start]
        is_bulleted = _BULLETED.match(before) is not None
        if _MACHINE.match(before) and not is_bulleted:
            return False
        if before.lstrip().startswith("#"):
            following = self.text[label.end() :].split("\n", 2)[1:2]
            if following and _PROGRAM.match(following[0][:MAX_LEAD_CHARS]):
                return False
        margin = before[: len(before) - len(before.lstrip())]
        if len(margin.expandtabs(INDENT)) >= INDENT and not is_bulleted:
            return False
        is_in_record = any(first <= start < last for first, last in self.records)
        if is_in_record and not before.strip(" \t-*_"):
            return False
        lead = _BULLETED.sub("", before, count=1) if is_bulleted else before.lstrip("# \t>")
        return _may_precede(lead)

    def statements(self, start: int, end: int, *, is_inside: bool) -> Iterator[str]:
        """The statements after a label: one, or the items of the list below it."""
        most = start + 2 * MAX_CONTENT_CHARS + MAX_LEAD_CHARS
        end = min(end, most, *(it for it in self.blocks if it > start))
        rest = self.text[start:end]
        if rest.lstrip(" \t").startswith("\n"):
            start += len(rest) - len(rest.lstrip())
            lines = self.text[start:end].split("\n")
            if _BULLETED.match(lines[0]):
                items = takewhile(_BULLETED.match, lines)
                yield from filter(None, (self._statement(it, 0, is_inside=False) for it in items))
                return
        said = self._statement(self.text[start:end], start, is_inside=is_inside)
        if said:
            yield said

    def _statement(self, text: str, start: int, *, is_inside: bool) -> str:
        text = _BULLETED.sub("", text, count=1) if _BULLETED.match(text) and not start else text
        said = _own_lines(text)
        stop = self._stop(said, start)
        end = stop.end() if stop else len(said)
        sentence, rest = said[:end], text[end:]
        if is_inside:
            sentence = re.split(r"[)\uff09]", sentence, maxsplit=1)[0]
        if _is_doubted(rest[:MAX_LEAD_CHARS]):
            return ""
        is_question = sentence.rstrip(" *_)\"'”").endswith(("?", "\uff1f"))
        return _trimmed(_without_turn(" ".join(sentence.split()), is_question=is_question))

    def _stop(self, said: str, start: int) -> re.Match[str] | None:
        for stop in STOP.finditer(said):
            is_inside = start and self.is_quoted(start + stop.start())
            if not (
                is_inside or _is_inside_marks(said, stop.start()) or is_abbreviated(said, stop)
            ):
                return stop
        return None


def _is_inside_marks(said: str, at: int) -> bool:
    """Whether quotation marks open before an offset and close behind it."""
    before, after = said[:at], said[at:]
    return any(
        before.count(opens) % 2 == 1
        if opens == closes
        else before.count(opens) > before.count(closes)
        for opens, closes in _MARKS
        if closes in after
    )


def handed_over_texts(text: str, blocks: Sequence[int] = ()) -> Iterator[Span]:
    """The texts that the writer hands over: for work, or as somebody else's.

    One that begins on the line that hands it over ends with its paragraph; one that begins on the
    next line ends with the request, or with the block that it is.
    """
    at, is_labelled = 0, False
    for mark in _CLAUSE_END.finditer(text):
        start = mark.end()
        clause = text[max(at, mark.start() - MAX_LEAD_CHARS) : start].strip()
        was_labelled, at = is_labelled, start
        is_labelled = mark[0] in COLONS and clause[:-1].rstrip("*_ ").casefold().endswith(
            tuple(LABELS)
        )
        if was_labelled or is_labelled or not _hands_over(clause):
            continue
        following = start + len(text[start:]) - len(text[start:].lstrip())
        if "\n" not in text[start:following] and not mark[0].endswith("\n"):
            paragraph = _PARAGRAPH_END.search(text, start)
            yield start, paragraph.start() if paragraph else len(text)
        else:
            line = text.rfind("\n", 0, following)
            if not any(line < block <= following for block in blocks):
                yield start, len(text)
                return


def _last_sentence(line: str) -> str:
    text = line[-MAX_LEAD_CHARS:].rstrip()
    return text[max((start for start, _ in sentences(text)), default=0) :].strip()


def _hands_over(clause: str) -> bool:
    """Whether a clause hands over the text behind it: for work, or as somebody else's."""
    is_led = clause.endswith((":", "\uff1a"))
    if not is_led and not finds("works.pointers", clause):
        return False
    works = finds("works.verbs", clause)
    if works and not finds("keeps.words", _without_courtesy(clause)):
        return True
    if works:
        return is_led and finds("works.pointers", clause)
    return is_led and (
        finds("reports.words", clause)
        or (finds("works.materials", clause) and not finds("keeps.words", clause))
    )


def _without_courtesy(clause: str) -> str:
    return phrases("keeps.courtesies").sub("", clause.casefold())


def _may_precede(lead: str) -> bool:
    """Whether words before a label on its line may stand before a statement of the writer."""
    clause = _last_sentence(lead.rstrip("*_ \t")) if lead.strip() else ""
    if len(words_of(clause)) <= NAME_WORDS and finds("reports.words", clause):
        return False
    if not clause or clause[-1] in ".!?;\u3002\uff01\uff1f\uff1b\u2026" or lead.endswith(_BRACKETS):
        return True
    if clause.count("{") > clause.count("}") or clause[-1] in _CODE_ENDS:
        return False
    if finds("reports.words", clause):
        return False
    if clause[-1] in "-\u2013\u2014" and finds("works.verbs", clause):
        return finds("keeps.words", clause)
    if HAN.match(clause[-1]):
        return clause.endswith(WORDS("introduces.unspaced"))
    if clause[-1].isalnum():
        return words_of(clause)[-1] in WORDS.set("introduces.spaced")
    if clause[-1] in COLONS and len(words_of(clause)) <= NAME_WORDS:
        return finds("keeps.words", clause)
    return True


def _is_key_line(line: str) -> bool:
    found = _KEY_LINE.match(line)
    if found is None or found["key"].casefold().rstrip("0123456789# ") in LABELS:
        return False
    if found["key"].casefold() in WORDS.set("keeps.keys") or finds("keeps.words", found["key"]):
        return False
    return len(found["value"].split()) <= VALUE_WORDS


def records(text: str, *, least: int) -> Iterator[Span]:
    """The spans of lists of `key: value` data: so many keys are no labels, and none is to be kept."""
    at, heading, run = 0, "", list[tuple[Span, bool]]()
    for line in (*text.split("\n"), ""):
        span = at, at + len(line)
        at = span[1] + 1
        found = _KEY_LINE.match(line[:MAX_LEAD_CHARS])
        is_short = found is not None and len(words_of(found["value"])) <= VALUE_WORDS
        if found and is_short and (run or found["value"] or not finds("keeps.words", line)):
            run.append((span, _is_key_line(line)))
            continue
        is_kept = finds("keeps.words", _without_courtesy(heading))
        if len(run) > 1 and sum(is_data for _, is_data in run) >= least and not is_kept:
            yield run[0][0][0], run[-1][0][1]
        run, heading = [], line


def _own_lines(text: str) -> str:
    """The first line, with the lines that continue its sentence."""
    lines = text.lstrip().split("\n")
    offset = len(text) - len(text.lstrip())
    kept = len(lines[0])
    for line, following in pairwise(lines):
        if not _continues(line.rstrip(), following.strip()) or _BULLETED.match(following):
            break
        kept += 1 + len(following)
    return text[: offset + kept]


def _continues(line: str, following: str) -> bool:
    if not following or not line or line[-1] in ".!?;:\u3002\uff01\uff1f\uff1b\uff1a":
        return False
    if line[-1] in ",\uff0c\u3001" or line.endswith(WORDS("open.unspaced")):
        return True
    if line.split()[-1].casefold() in WORDS.set("open.ends"):
        return True
    is_wrapped = len(line) >= WRAPPED_CHARS and following[0].islower()
    return (
        is_wrapped
        and not begins("turns.starts", following)
        and not begins("turns.questions", following)
    )


def _without_turn(sentence: str, *, is_question: bool) -> str:
    """A sentence up to the clause that speaks to the agent; nothing of a question."""
    said = _TURN_ORDER.sub("", sentence)
    for mark in islice(_CLAUSE.finditer(said), MAX_CLAUSES):
        left, clause = said[: mark.start()], said[mark.end() :]
        if len(words_of(left[:MAX_LEAD_CHARS])) < NAME_WORDS:
            continue
        is_task = _DASH.fullmatch(mark[0]) and begins("works.verbs", clause)
        asks = begins("turns.questions", _CONJUNCTION.sub("", clause, count=1)) or (
            finds("turns.question_words", clause) and not finds("turns.question_words", left)
        )
        if is_task or _is_for_turn(left, clause) or (is_question and asks):
            return _DANGLING.sub("", left)
    return "" if is_question else said


def _is_for_turn(left: str, clause: str) -> bool:
    if begins("turns.starts", clause):
        return True
    is_led = begins("turns.conditions", left) or left.endswith(WORDS("turns.condition_ends"))
    if is_led:
        return False
    # A plea at the end belongs to a later clause.
    if begins("turns.subordinates", clause):
        return False
    is_asked = clause.rstrip(TRIMMED).casefold().endswith(WORDS("turns.help_ends"))
    return is_asked or begins("turns.pleads", clause) or finds("turns.asks_for_help", clause)


def _is_doubted(rest: str) -> bool:
    """Whether the sentence behind a statement works on it as a text, or asks if it is true."""
    stop = STOP.search(rest)
    following = rest[: stop.end() if stop else None].strip()
    if _DOUBTS.search(following):
        return True
    if any(colon in following for colon in COLONS):
        return False
    return finds("works.languages", following) and finds("works.above", following)


def _trimmed(said: str) -> str:
    said = said.strip(TRIMMED + "*_").rstrip("?\uff1f") if said[-1:] not in "?\uff1f" else said
    # A bracket that opens before the next label closes after it.
    is_open = said[-1:] not in _BOTH_WAYS and said[-1:] in _OPENING
    return said.rstrip(_OPENING).rstrip(TRIMMED) if is_open else said


def _says_something(said: str, kind: Kind) -> bool:
    if _PLACEHOLDER.fullmatch(said) or _ASKS.match(said):
        return False
    words = words_of(said)
    if not words or words[0] in WORDS.set("junk.mentions"):
        return False
    if said.startswith(WORDS("junk.mentions_unspaced")) or is_junk(
        _DASH.split(said, maxsplit=1)[0]
    ):
        return False
    if kind is not Kind.FACT:
        return True
    if is_order(said):
        return False
    telling = [it for it in said.casefold().split() if it not in WORDS.set("junk.articles")]
    return len(telling) > 1 or len(HAN.findall(said)) > 1
