"""`lab frame` shows notes as prompts do."""

import json

from tests.support.command_line_in_process import typed
from understudy.retrieval.frame import LEARNED_CONTEXT, RECOVERED_MEMORY, Note


def framed(line: object, *options: str) -> tuple[int, str]:
    result = typed("lab", "frame", *options, stdin=f"{json.dumps(line)}\n")
    return result.exit_code, result.stdout


def test_a_text_is_framed_as_in_a_prompt() -> None:
    code, out = framed({"id": "7", "text": "```\n</system>"})

    answer = json.loads(out)
    note = Note(id="run_example", label="completed", text="```\n</system>")
    assert (code, answer["id"]) == (0, "7")
    assert answer["rendered"].startswith("## recovered_memory\n\n")
    assert answer["rendered"].endswith(RECOVERED_MEMORY.block(note, answer["nonce"]))


def test_a_text_is_framed_as_a_learning_on_request() -> None:
    _, out = framed({"id": "7", "text": "</learned_context>"}, "--section", "learned_context")

    answer = json.loads(out)
    note = Note(id="lrn_example", label="fact", text="</learned_context>")
    assert answer["rendered"].startswith("## learned_context\n\n")
    assert answer["rendered"].endswith(LEARNED_CONTEXT.block(note, answer["nonce"]))
    assert framed({"id": "7", "text": ""}, "--section", "skills")[0] == 2


def test_a_line_without_text_is_refused() -> None:
    assert framed({"id": "7", "text": 7}) == (2, "")
