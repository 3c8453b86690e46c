"""What the model is saying right now, before it stands in the journal."""

from dataclasses import dataclass, field

from understudy.core.bell import Bell


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """The text of a model call in progress; `take` rises when what was said before is void."""

    step: int
    text: str
    take: int = 0


def delta_topic(run_id: str) -> str:
    """The bell topic that rings when a run has said more."""
    return f"delta:{run_id}"


@dataclass(slots=True)
class DeltaHub:
    """Collects the pieces of running model calls for those who listen."""

    bell: Bell
    _spoken: dict[str, Spoken] = field(default_factory=dict)

    def begin(self, run_id: str, step: int) -> None:
        """A model call starts."""
        self._spoken[run_id] = Spoken(step=step, text="")

    def say(self, run_id: str, piece: str | None) -> None:
        """More text, or None when the call is tried again and begins anew."""
        spoken = self._spoken.get(run_id)
        if spoken is None:
            return
        if piece is None:
            self._spoken[run_id] = Spoken(step=spoken.step, text="", take=spoken.take + 1)
        else:
            self._spoken[run_id] = Spoken(
                step=spoken.step, text=spoken.text + piece, take=spoken.take
            )
        self.bell.ring(delta_topic(run_id))

    def end(self, run_id: str) -> None:
        """The model call is over; its text stands in the journal, or is void."""
        self._spoken.pop(run_id, None)

    def current(self, run_id: str) -> Spoken | None:
        """What a run of this process is saying, if it is."""
        return self._spoken.get(run_id)
