"""Texts that try to leave their frame: as the memory of a run or as a learning, in the next prompt."""

import re
import unicodedata
from collections.abc import Awaitable, Callable

import pytest

from tests.support.factories import make_session
from tests.support.injection_texts import OWN_CASES, PROBE, corpus, scoring, with_corpus
from tests.support.learning_factories import keep, make_learning
from tests.support.run_harness import RunHarness
from tests.support.run_memory_reads import LEARNED, section_in, system_text
from understudy.sessions.learning_scopes import session_scope
from understudy.testing.fake_model import FakeModel

HIDDEN = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
# What must not be there, in the text as a reader or a tokeniser might take it.
NEVER = {
    "line break": r"\n",
    "tag, heading, fence, link or template token": r"[<>#`\[\]&]",
    "fence": r"~~~",
    "tool call": r'"tool_calls"\s*:',
}


# Shows a text in the section of a prompt, without what differs anyway.
Shown = Callable[[RunHarness, FakeModel, str, int], Awaitable[str]]


async def as_run(harness: RunHarness, fake: FakeModel, text: str, number: int) -> str:
    """The text as the answer of an earlier run."""
    session_id = _session(harness, f"run-{number}")
    fake.queue(text, "ok")
    first = (await harness.run("show", session_id=session_id)).run
    await harness.run("go on", session_id=session_id)
    return _without_marks(section_in(system_text(fake)), first.run_id)


async def as_learning(harness: RunHarness, fake: FakeModel, text: str, number: int) -> str:
    """The text as a learning, however it may have got there."""
    session_id = _session(harness, f"learning-{number}")
    [learning_id] = keep(harness.units, make_learning(text, scope=session_scope(session_id)))
    await harness.run("what do you remember?", session_id=session_id)
    return _without_marks(section_in(system_text(fake), LEARNED), learning_id)


def _session(harness: RunHarness, session_id: str) -> str:
    with harness.units.write() as unit:
        unit.sessions.add(make_session(session_id))
    return session_id


def _without_marks(section: str, source_id: str) -> str:
    [mark] = re.findall(r"^```json (\w+)$", section, re.MULTILINE)
    return section.replace(mark, "NONCE").replace(source_id, "source")


async def frame_of(shown: Shown, harness: RunHarness, fake: FakeModel) -> tuple[str, str]:
    head, tail = (await shown(harness, fake, PROBE, 0)).split(PROBE)
    return head, tail


@pytest.mark.one_database
@pytest.mark.parametrize("shown", [as_run, as_learning])
async def test_no_text_leaves_its_frame(harness: RunHarness, fake: FakeModel, shown: Shown) -> None:
    head, tail = await frame_of(shown, harness, fake)
    for number, (text, word) in enumerate(OWN_CASES, 1):
        section = await shown(harness, fake, text, number)

        assert section.startswith(head), text
        assert section.endswith(tail), text
        body = section[len(head) : len(section) - len(tail)]
        assert not [each for each in body if unicodedata.category(each) in HIDDEN], text
        plain = unicodedata.normalize("NFKC", body)
        assert not [what for what, pattern in NEVER.items() if re.search(pattern, plain)], text
        assert word in plain, text


@pytest.mark.one_database
@with_corpus
@pytest.mark.parametrize("shown", [as_run, as_learning])
async def test_the_corpus_beside_the_project_is_neutralised(
    harness: RunHarness, fake: FakeModel, shown: Shown
) -> None:
    checks = scoring().frame_checks
    frame = await frame_of(shown, harness, fake)
    rows = corpus()

    wrong = {
        row["id"]: problems
        for number, row in enumerate(rows, 1)
        if (problems := checks(row, await shown(harness, fake, row["text"], number), frame))
    }

    assert rows
    assert wrong == {}
