"""`understudy lab frame`: what was noted down, as the prompt shows it, on JSON lines."""

from enum import StrEnum
from functools import partial
from typing import Annotated, Final

import typer

from understudy.cli.lab import Line, answer_lines
from understudy.cli.options import Commands

commands = Commands("Frame notes.")


class SectionName(StrEnum):
    """Which section a text is shown in."""

    RECOVERED_MEMORY = "recovered_memory"
    LEARNED_CONTEXT = "learned_context"


# A source and its label, as they stand above a note.
EXAMPLES: Final = {
    SectionName.RECOVERED_MEMORY: ("run_example", "completed"),
    SectionName.LEARNED_CONTEXT: ("lrn_example", "fact"),
}


@commands("frame")
def frame(
    section: Annotated[
        SectionName, typer.Option(help="The section to show the texts in.")
    ] = SectionName.RECOVERED_MEMORY,
) -> None:
    """Render `text` of each line as a note: {"id","text"} → {"id","rendered","nonce"}."""
    answer_lines(partial(_framed, section=section))


def _framed(line: Line, *, section: SectionName) -> Line:
    from understudy.retrieval.frame import FRAMES, GAP, Note, heading, new_mark

    text = line.get("text")
    if not isinstance(text, str):
        raise TypeError("`text` must be a string")
    frame, mark = FRAMES[section], new_mark()
    source_id, label = EXAMPLES[section]
    note = Note(id=source_id, label=label, text=text)
    parts = (heading(frame.name), frame.opening(mark), frame.block(note, mark))
    return {"rendered": GAP.join(parts), "nonce": mark}
