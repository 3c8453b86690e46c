"""`understudy lab redact|preview`: the scrubber as production uses it, on JSON lines."""

from understudy.cli.lab import Line, answer_lines
from understudy.cli.options import Commands

commands = Commands("Scrub and preview.")


@commands("redact")
def redact() -> None:
    """Scrub `text` of each line: {"id","text"} → {"id","text"}."""
    from understudy.redaction.scrub import scrub

    answer_lines(lambda line: {"text": scrub(_text(line), pii=True)})


@commands("preview")
def preview() -> None:
    """Scrub, then cut `text` to `limit`: {"id","text","limit"} → {"id","preview"}."""
    from understudy.redaction.scrub import preview as cut

    answer_lines(lambda line: {"preview": cut(_text(line), _limit(line))})


def _text(line: Line) -> str:
    text = line.get("text")
    if not isinstance(text, str):
        raise TypeError("`text` must be a string")
    return text


def _limit(line: Line) -> int:
    limit = line.get("limit")
    if type(limit) is not int or limit < 0:
        raise ValueError("`limit` must be a number from 0")
    return limit
