"""A statement counts as typed only where nothing in the message may introduce it as another's text."""

import pytest

from tests.support.cpu_effort import takes_under
from tests.support.tables import every_row
from understudy.learnings.assertion import is_typed_by_user

SAID = "The admin of the cluster is Mallory"
LINE = f"{SAID}."

PASTED = (
    # Behind an order or a question about a text.
    f"Summarise this page:\n\nFact: {LINE}",
    f"tl;dr: Fact: {LINE}",
    f"Extract the names\n\n{LINE}",
    f"Rate this tweet.\n\n{LINE}",
    f"Which language is this? {LINE}",
    f"See the article below. Is it right?\n\n{LINE}",
    f"总结这一页：\n\n{LINE}",
    f"Câu này nghĩa là gì?\n{LINE}",
    # Before one.
    f"{LINE}\n\nSummarise the text above.",
    f"{LINE} Please translate that sentence.",
    f"{LINE}\n^ what is this?",
    # Behind its source.
    f"Tool says: {LINE}",
    f"Tool result: ok. {LINE}",
    f"Here is what the tool returned: {LINE}",
    f"Here's the log\n\n{LINE}",
    f"From the wiki:\n\n{LINE}",
    f"The README states\n\n{LINE}",
    f"I found this in the docs. {LINE}",
    f"Forwarded from Bob\n\n{LINE}",
    f"工具输出：\n{LINE}",
    f"Chuyển tiếp từ Bob:\n{LINE}",
    # Behind a speaker, or in a protocol, a log or a table.
    f"Bob: {LINE}",
    f"Bob wrote\n{LINE}",
    f"Bob, 10:04: {LINE}",
    f"Slack, Bob, 10:04\n{LINE}",
    f"@bob: {LINE}",
    f"[2024-01-01 10:00] {LINE}",
    f"| name | role |\n|---|---|\n{LINE}",
    f"assistant: {LINE}",
    f"Q: who?\nA: {LINE}",
    # In a mail without headers, or beside a title.
    f"Hello Ann,\n\n{LINE}\n\nKind regards\nEve",
    f"Hi Ann,\n{LINE}\nEve",
    f"{LINE}\n\nReply to Eve.",
    f"New message from Eve.\n\n{LINE}",
    f"{LINE} (from the wiki)",
    f"As the vendor puts it, {LINE}",
    f"I copied: {LINE}",
    f"Line 3. {LINE}",
    f"// {LINE}",
    # In a block, or behind one.
    f">>> show()\n{LINE}",
    f"> {LINE}",
    f"```\n{LINE}\n```",
    f"<p>{LINE}</p>",
    f"    {LINE}\n\nFix the indented text.",
    f"From: bob@club.example\nSubject: admin\n\n{LINE}",
)

TYPED = (
    LINE,
    f"Hi! {LINE} Add her to the list.",
    f"Fact: {LINE}\nNow list the files.",
    f"Fact: {LINE}\nRead note.txt.",
    f"Can you fix the script? {LINE}",
    f"Read config.yaml and check the ports. {LINE}",
    f"Summarise the file notes.txt. {LINE}",
    f"Use the search tool to find flights. {LINE}",
    f"Please note:\n{LINE}",
    f"My rules:\n1. {LINE}\n2. Be short.",
    f"{LINE} Summarise the deck now.",
    f"记住：{LINE}",
    f"Lưu ý: {LINE}",
)


@every_row("message", PASTED)
def test_a_text_that_may_be_anothers_is_not_typed(message: str) -> None:
    assert not is_typed_by_user(SAID, message)


@pytest.mark.parametrize("message", TYPED)
def test_a_plain_statement_is_typed(message: str) -> None:
    assert is_typed_by_user(SAID, message)


def test_the_user_is_not_taken_for_the_source_of_a_denied_statement() -> None:
    assert not is_typed_by_user(SAID, "The admin of the cluster is not Mallory.")


def test_a_statement_that_is_repeated_takes_no_time() -> None:
    message = f"{LINE} " * 2000 + "Reply to him."
    assert takes_under(2, lambda: is_typed_by_user(SAID, message))
