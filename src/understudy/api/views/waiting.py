"""Approvals, questions and artifacts as the wire shows them."""

from typing import Any, Final

from understudy.core.principal import Principal
from understudy.runs.answerable import actions_of
from understudy.runs.artifacts import Artifact
from understudy.runs.requests import Request, shown
from understudy.wire.waiting import ApprovalView, ArtifactView, QuestionView

# How much of a long text in an input lists and runs show; the approval itself shows all of it.
PREVIEW_CHARS: Final = 4_000


def approval_view(request: Request, reader: Principal) -> ApprovalView:
    """A tool call that waits, or waited, for a person to agree; or an offer."""
    return ApprovalView(**_shown(request), actions=[*actions_of(request, reader)])


def approval_preview(request: Request, reader: Principal) -> ApprovalView:
    """The same with long texts in its input cut, for where many are shown."""
    view = _shown(request)
    shortened = _shortened(view["input"])
    is_cut = shortened != view["input"]
    return ApprovalView(
        **{**view, "input": shortened},
        input_cut=is_cut or None,
        actions=[*actions_of(request, reader)],
    )


def _shown(request: Request) -> dict[str, Any]:
    return {**shown(request), "kind": str(request.kind)}


def _shortened(value: Any) -> Any:
    match value:
        case str() if len(value) > PREVIEW_CHARS:
            return f"{value[:PREVIEW_CHARS]}… [{len(value)} characters in all]"
        case dict():
            return {name: _shortened(each) for name, each in value.items()}
        case list():
            return [_shortened(each) for each in value]
        case _:
            return value


def question_view(request: Request, reader: Principal) -> QuestionView:
    """Questions that wait, or waited, for answers."""
    return QuestionView(
        **shown(request),
        audience=request.audience.value,
        actions=[*actions_of(request, reader)],
    )


def artifact_view(artifact: Artifact) -> ArtifactView:
    """What a tool answered, without its text."""
    return ArtifactView(
        artifact_id=artifact.artifact_id,
        run_id=artifact.run_id,
        tool_name=artifact.tool_name,
        size=artifact.size,
        created_at_ms=artifact.created_at_ms,
    )
