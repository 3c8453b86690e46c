"""`understudy lab learn`: which statements may be learned, as production decides it, on JSON lines."""

from understudy.cli.lab import Line, answer_lines
from understudy.cli.options import Commands

commands = Commands("Guard what is learned.")


@commands("learn")
def learn() -> None:
    """Judge `text` of each line: {"id","text","kind"} → {"id","verdict","reason"}."""
    answer_lines(_judged)


def _judged(line: Line) -> Line:
    from understudy.core.errors import Invalid
    from understudy.learnings.checks import check_content
    from understudy.learnings.model import Kind

    text = line.get("text")
    if not isinstance(text, str):
        raise TypeError("`text` must be a string")
    try:
        check_content(text, Kind(line.get("kind", Kind.FACT)))
    except Invalid as refused:
        return {"verdict": "reject", "reason": refused.detail}
    return {"verdict": "accept", "reason": None}
