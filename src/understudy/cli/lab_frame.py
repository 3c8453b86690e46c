"""`understudy lab frame`: what was noted down, as the prompt shows it, on JSON lines."""

from understudy.cli.lab import Line, answer_lines
from understudy.cli.options import Commands

commands = Commands("Frame notes.")


@commands("frame")
def frame() -> None:
    """Render `text` of each line as recovered memory: {"id","text"} → {"id","rendered","nonce"}."""
    answer_lines(_framed)


def _framed(line: Line) -> Line:
    from understudy.retrieval.frame import GAP, RECOVERED_MEMORY, Note, heading, new_mark

    text = line.get("text")
    if not isinstance(text, str):
        raise TypeError("`text` must be a string")
    mark = new_mark()
    note = Note(id="run_example", label="completed", text=text)
    parts = (
        heading(RECOVERED_MEMORY.name),
        RECOVERED_MEMORY.opening(mark),
        RECOVERED_MEMORY.block(note, mark),
    )
    return {"rendered": GAP.join(parts), "nonce": mark}
