"""A run in words, as it goes: the reply on stdout, what happens beside it on stderr."""

import json
import sys
from typing import TYPE_CHECKING

from understudy.cli.output import note
from understudy.cli.screen import aside, one_line, printable

if TYPE_CHECKING:
    from understudy.client.streams import StreamEvent
    from understudy.wire.events import RunUpdated

WAITING = {
    "waiting_for_approval": "the run waits for an approval",
    "waiting_for_user_question": "the run waits for an answer to its question",
}


class Transcript:
    """Prints the events of one run."""

    def __init__(self) -> None:
        self._said = ""  # the text of the model call in progress, as far as it is printed
        self._step: int | None = None

    def show(self, event: "StreamEvent") -> None:
        """Print one event."""
        from understudy.client import streams
        from understudy.wire import events

        match event.data:
            case events.Delta(text=text, step=step):
                self._say(text, step)
            case events.DeltaReset():
                self._void()
            case streams.ToolCalled(name=name, arguments=arguments):
                self._beside(f"→ {name} {_compact(arguments)}")
            case streams.ToolAnswered(name=name, status=status, content=content):
                self._beside(f"← {name} {status}: {_compact(content)}")
            case streams.OutputSaid(text=text):
                self._output(text)
            case events.RunUpdated() as update:
                self._update(update)
            case _:
                pass

    def end_line(self) -> None:
        """Finish the line that is being written."""
        if self._said and not self._said.endswith("\n"):
            print(flush=True)
        self._said = ""

    def _say(self, text: str, step: int) -> None:
        if step != self._step:
            self.end_line()
            self._step = step
        self._said += text
        sys.stdout.write(printable(text))
        sys.stdout.flush()

    def _void(self) -> None:
        if self._said:
            self.end_line()
            aside("↻ the model starts this reply over")

    def _output(self, text: str) -> None:
        if self._said.strip() != text.strip():
            self.end_line()
            self._said = text
            sys.stdout.write(printable(text))
        self.end_line()

    def _beside(self, line: str) -> None:
        self.end_line()
        aside(line)

    def _update(self, update: "RunUpdated") -> None:
        if update.status in WAITING:
            self._beside(WAITING[update.status])
        elif update.status in ("failed", "interrupted", "cancelled"):
            self.end_line()
            error = update.event.get("error")
            note(f"run {update.status}" + (f": {one_line(str(error))}" if error else ""))
        elif update.status == "completed":
            self.end_line()


def _compact(value: object) -> str:
    words = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return one_line(words, 200)
