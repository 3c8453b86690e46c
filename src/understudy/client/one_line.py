"""What takes one line: a message with its reply, and a learning."""

from typing import TYPE_CHECKING, Self

from understudy.client.errors import ClientError

if TYPE_CHECKING:
    from understudy.wire.learnings import CreateLearning
    from understudy.wire.runs import RunView


class Reply(str):
    """The text of a reply, and the run that gave it; no text yet while the run waits for a person."""

    __slots__ = ("run",)
    run: "RunView"

    @classmethod
    def of(cls, run: "RunView") -> Self:
        """The reply of a run; raises for one that ended without one."""
        if run.status in ("failed", "cancelled", "interrupted"):
            raise ClientError(f"run {run.run_id} ended as {run.status}: {run.error or 'stopped'}")
        reply = cls("\n\n".join(output.text for output in run.outputs))
        reply.run = run
        return reply


def learning_of(content: str, *, kind: str | None, always: bool) -> "CreateLearning":
    """The learning of a statement; without a kind, a wish or an order is a preference."""
    from understudy.learnings.remember import kind_of
    from understudy.wire.learnings import CreateLearning

    return CreateLearning.model_validate(
        {
            "content": content,
            "kind": kind or str(kind_of(content, always)),
            "applies": "always" if always else None,
        }
    )
