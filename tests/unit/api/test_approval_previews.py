"""Long inputs of tool calls that wait: cut where many are shown, whole where one is."""

from tests.support.factories import ALICE
from understudy.api.views.runs import PREVIEW_CHARS, approval_preview, approval_view
from understudy.runs.requests import PersonRequest, RequestKind


def asking_for(content: str) -> PersonRequest:
    body = {
        "tool_call_id": "c1",
        "tool_name": "write_file",
        "input": {"path": "a.txt", "parts": [{"content": content}]},
        "scope": "tool",
        "reason": "the tool asks",
    }
    return PersonRequest(
        request_id="apr_1",
        kind=RequestKind.APPROVAL,
        run_id="run_1",
        session_id="s1",
        call_key="k",
        body=body,
        created_at_ms=1,
    )


def test_a_long_text_is_cut_in_lists_and_says_so() -> None:
    request = asking_for("x" * (PREVIEW_CHARS + 1))

    preview = approval_preview(request, ALICE)

    [part] = preview.input["parts"]
    assert part["content"].startswith("x" * PREVIEW_CHARS + "…")
    assert str(PREVIEW_CHARS + 1) in part["content"]
    assert preview.input_cut
    assert approval_view(request, ALICE).input == request.body["input"]


def test_a_short_input_is_shown_whole_everywhere() -> None:
    request = asking_for("x" * PREVIEW_CHARS)

    assert approval_preview(request, ALICE) == approval_view(request, ALICE)
    assert "input_cut" not in approval_preview(request, ALICE).model_dump()
