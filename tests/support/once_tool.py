"""A tool of effect `once`: what it did cannot be taken back."""

from pydantic import BaseModel

from tests.support.run_harness import Label
from understudy.runs.artifacts import MAX_SHOWN_CHARS
from understudy.testing.answers import Answer, call
from understudy.tools.base import Approval, Effect, ToolContext, ToolError


class Post:
    """Sends something out into the world, each time another letter."""

    name = "post"
    description = "Sends a letter."
    effect = Effect.ONCE
    approval = Approval.NEVER
    parameters: type[BaseModel] = Label

    def __init__(self) -> None:
        self.sent: list[str] = []

    async def call(self, arguments: Label, context: ToolContext) -> str:
        """Another letter, unless it is lost."""
        self.sent.append(arguments.label)
        if arguments.label == "lost":
            raise ToolError("the post is closed")
        if arguments.label == "long":
            return "x" * MAX_SHOWN_CHARS + "the end"
        return f"letter {len(self.sent)}"


def send(label: str = "a") -> Answer:
    """A call that sends a letter."""
    return call("post", {"label": label})
