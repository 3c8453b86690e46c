"""A live transcript of a run: the reply on stdout, other events on stderr."""

import json
import sys
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from understudy.cli.output import note, understudy
from understudy.cli.requests import RESOLVED, WAITING, resolved_lines
from understudy.cli.screen import aside, count, one_line, printable

if TYPE_CHECKING:
    from understudy.client.streams import StreamEvent
    from understudy.runs.remembered import Remembered
    from understudy.wire.events import RunUpdated

PATIENCE_S: Final = 2.0
# The most entries of what a run remembered, and the most characters of each.
MOST_TOLD: Final = 3
CONTENT_CHARS: Final = 70


class Waiting:
    """One line beside the reply, when a wait grows long; for people only."""

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._timer: threading.Timer | None = None
        self._lock = threading.Lock()

    def begin(self, what: str) -> None:
        """From now on something is waited for."""
        if not sys.stderr.isatty():
            return
        timer = threading.Timer(self._patience_s, lambda: self._say(timer, what))
        timer.daemon = True
        with self._lock:
            self._timer = timer
        timer.start()

    def end(self) -> None:
        """It came, or it is waited for no more."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = None

    def _say(self, timer: threading.Timer, what: str) -> None:
        with self._lock:
            # The wait may have ended between the alarm and this line.
            if self._timer is timer:
                aside(f"waiting for {what}…")


MODEL = "the model"


class Transcript:
    """Prints the events of one run; on leaving it, the line that was begun is ended."""

    def __init__(
        self,
        run_id: str,
        *,
        waiting: Waiting | None = None,
        on_wait: Callable[[], None] | None = None,
    ) -> None:
        self._run_id = run_id
        # Says what the run waits for, instead of the one line that it waits.
        self._on_wait = on_wait
        self._said = ""  # the text of the model call in progress, as far as it is printed
        self._step: int | None = None
        self._is_mid_line = False
        self._is_void = False  # whether the text printed last was taken back
        # Candidates that the run left so far.
        self.candidate_ids: list[str] = []
        self._remembered: Sequence[Remembered] = ()
        self._waiting = waiting or Waiting()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        from understudy.client.errors import UnavailableError, UnreachableError

        self._waiting.end()
        self.end_line()
        if isinstance(problem, UnreachableError | UnavailableError):
            back = f"{understudy()} runs watch {self._run_id}"
            problem.add_note(f"the run goes on when the daemon is back: {back}")

    def show(self, event: "StreamEvent") -> None:
        """Print one event."""
        from understudy.client import streams
        from understudy.wire import events

        self._waiting.end()
        match event.data:
            case events.Delta(text=text, step=step):
                self._say(text, step)
            case events.DeltaReset():
                self._void()
            case streams.ToolCalled(name=name, arguments=arguments):
                self._beside(f"→ {name} {_compact(arguments)}")
                self._waiting.begin(name)
            case streams.ToolAnswered(name=name, status=status, content=content):
                self._beside(f"← {name} {_answer(status, content)}")
                self._waiting.begin(MODEL)
            case streams.OutputSaid(text=text):
                self._output(text)
            case events.RunUpdated() as update:
                self._update(update)
            case events.CandidatesAdded(candidate_ids=ids):
                self.candidate_ids += ids
            case events.RememberedEvent(remembered=remembered):
                self._remembered = remembered
            case events.Hint(text=text):
                self._beside(text, is_cut=False)
            case _:
                pass

    def show_away(self) -> None:
        """Tell that the daemon does not answer at the moment."""
        self._waiting.end()
        self.end_line()
        aside("the daemon is away; waiting…")

    def end_line(self) -> None:
        """Finish the line that is being written."""
        if self._is_mid_line:
            print(flush=True)
        self._is_mid_line = False

    def _say(self, text: str, step: int) -> None:
        if step != self._step:
            self.end_line()
            self._said, self._step = "", step
        self._start_over()
        self._said += text
        self._write(text)

    def _write(self, text: str) -> None:
        if text:
            sys.stdout.write(printable(text))
            sys.stdout.flush()
            self._is_mid_line = not text.endswith("\n")

    def _void(self) -> None:
        self.end_line()
        self._is_void = self._is_void or bool(self._said)
        self._said = ""
        self._waiting.begin(MODEL)

    def _start_over(self) -> None:
        """Tell that what is printed was taken back, once something comes in its place."""
        if self._is_void:
            self._is_void = False
            aside("↻ the model starts this reply over")

    def _output(self, text: str) -> None:
        if self._said.strip() != text.strip():
            self.end_line()
            self._start_over()
            self._write(text)
        self.end_line()
        self._said = ""

    def _beside(self, line: str, *, is_cut: bool = True) -> None:
        self.end_line()
        self._start_over()
        aside(line, is_cut=is_cut)

    def _update(self, update: "RunUpdated") -> None:
        kind = str(update.event.get("type"))
        if kind in WAITING:
            self._wait(kind)
        elif kind in RESOLVED:
            for line in resolved_lines(update.event):
                self._beside(line)
        elif update.status == "running" and not self._is_mid_line:
            self._waiting.begin(MODEL)
        elif update.status == "completed":
            self.end_line()
            if self._remembered:
                note(f"remembered: {remembered_line(self._remembered)}")
        elif update.status in ("failed", "interrupted", "cancelled"):
            self.end_line()
            error = update.event.get("error")
            note(f"run {update.status}" + (f": {one_line(str(error))}" if error else ""))

    def _wait(self, kind: str) -> None:
        if self._on_wait is None:
            self._beside(WAITING[kind])
        else:
            self.end_line()
            self._start_over()
            self._on_wait()


def remembered_line(remembered: "Sequence[Remembered]") -> str:
    """What a run was given to remember: the first few, and how many more."""
    told = [f"{one_line(it.content, CONTENT_CHARS)} ({it.id})" for it in remembered[:MOST_TOLD]]
    more = len(remembered) - len(told)
    return "; ".join([*told, *([f"+{more} more"] if more else [])])


def tell_candidates(candidate_ids: Sequence[str]) -> None:
    """One line about the candidates that a run left, and the command to review them."""
    if candidate_ids:
        suggestions = count(len(candidate_ids), "suggestion")
        note(f"{suggestions} to remember: {understudy()} review next")


def _answer(status: str, content: str) -> str:
    """How a call fared; some answers begin with that word themselves."""
    words = _compact(content)
    begins_with_it = words.startswith((f"{status}:", f"{status} by "))
    return words if begins_with_it else f"{status}: {words}"


def _compact(value: object) -> str:
    words = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return one_line(words, 200)
