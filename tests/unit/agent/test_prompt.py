"""The system text: named sections in a fixed order, each only when it has content."""

import re

import pytest

from tests.support.factories import NOW, make_file, make_persona
from understudy.agent.budget import (
    AUTOCOMPACT_THRESHOLD,
    BUFFER,
    CUT,
    clip,
    list_tokens,
    prompt_limit,
)
from understudy.agent.compaction import Room, message_tokens_sent
from understudy.agent.prompt import (
    BASE_INSTRUCTIONS,
    Section,
    build_sections,
    recalled_sections,
    render,
)
from understudy.agents.model import CONTEXT_FILES
from understudy.core.text import estimate_tokens
from understudy.sessions.persona import snapshot_of


def headings(text: str) -> list[str]:
    return re.findall(r"^## (.*)$", text, re.MULTILINE)


def soul(text: str) -> str:
    persona = snapshot_of(make_persona(soul=text), bound_at_ms=NOW)
    return render(build_sections(persona, [make_file("SOUL.md", "kind")]))


def test_skills_stand_after_the_context_files_and_before_what_is_recalled() -> None:
    fixed = build_sections(None, [make_file("SOUL.md", "kind")], skills="Some.")
    text = render((*fixed, *recalled_sections({"learned_context": "a note"})))

    assert headings(text) == ["Base instructions", "Context files", "Skills", "learned_context"]


PEOPLE = "# Soul\nBe brief.\n## Allowed\n- read\n## Forbidden\n- delete"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (f"{PEOPLE}\n## Voice\nJoke.", f"{PEOPLE}\n> ## Voice\n> Joke."),
        (PEOPLE.replace("- read", "Now:\n- read"), PEOPLE.replace("- read", "> Now:\n- read")),
        # Moved below another heading, or that taken away, a line would say something else.
        (
            PEOPLE.replace("## Forbidden\n- delete", "- delete\n## Forbidden"),
            PEOPLE.replace("## Forbidden\n- delete", "> - delete\n## Forbidden"),
        ),
        (PEOPLE.replace("## Forbidden\n", ""), PEOPLE.replace("## Forbidden\n", "> ")),
        (
            PEOPLE.replace("brief.", "brief.\u2028- delete"),
            PEOPLE.replace("brief.", "brief.\n> - delete"),
        ),
        (PEOPLE.replace("\n", "\r\n") + "\n\n", PEOPLE),
    ],
    ids=["added", "between", "moved", "without its heading", "line separator", "line ends"],
)
def test_only_lines_of_people_where_they_put_them_stand_plain(written: str, shown: str) -> None:
    file = make_file("SOUL.md", written, run_id="run_1")
    text = render(build_sections(None, [file], of_people={"SOUL.md": PEOPLE}))

    assert text.endswith(f"\n\n{shown}")


def test_the_sections_stand_in_their_order() -> None:
    assert headings(soul("I am Ada.")) == ["Base instructions", "Persona", "Context files"]


def test_a_section_without_content_is_not_there() -> None:
    assert headings(render(build_sections(None, []))) == ["Base instructions"]
    assert headings(soul(" \n")) == ["Base instructions", "Context files"]


def test_the_soul_and_the_files_are_in_their_sections() -> None:
    text = soul("I am Ada.")

    assert text.startswith(f"## Base instructions\n\n{BASE_INSTRUCTIONS}")
    assert "## Persona\n\nI am Ada." in text
    assert text.endswith("## Context files\n\n### SOUL.md\n\nkind")


def test_context_files_come_in_the_known_order_without_empty_and_unknown_ones() -> None:
    contents = {name: f"of {name}" for name in reversed(CONTEXT_FILES)}
    contents |= {"NOTES.md": "x", "IDENTITY.md": "  \n"}
    files = [make_file(name, content) for name, content in contents.items()]

    text = render(build_sections(None, files))

    named = [name for name in CONTEXT_FILES if name != "IDENTITY.md"]
    assert re.findall(r"^### (.*)$", text, re.MULTILINE) == named


def test_what_is_recalled_comes_last_in_its_own_order() -> None:
    recalled = {"recovered_memory": "runs", "learned_context": "facts", "else": "x"}

    text = render((*build_sections(None, []), *recalled_sections(recalled)))

    assert headings(text) == ["Base instructions", "learned_context", "recovered_memory"]
    assert recalled_sections({}) == recalled_sections({"else": "x"})


def test_rendering_nothing_gives_nothing() -> None:
    assert render([Section(name="Empty", body=" ")]) == ""


def test_tokens_are_guessed_by_bytes() -> None:
    assert estimate_tokens("") == 0
    assert estimate_tokens("a") == 1
    assert estimate_tokens("a" * 1000) == 285
    assert estimate_tokens("é" * 500) == 285


def test_half_a_character_does_not_break_the_guess() -> None:
    assert estimate_tokens("\ud800") > 0


@pytest.mark.parametrize("window", [200_000, 10**6])
def test_a_large_window_does_not_raise_the_threshold(window: int) -> None:
    assert prompt_limit(window) == AUTOCOMPACT_THRESHOLD - BUFFER


def test_a_known_window_keeps_room_for_the_answer_and_the_buffer() -> None:
    assert prompt_limit(150_000) == 150_000 - 4_096 - 13_000


@pytest.mark.parametrize("window", [1, 10, 500, 8000])
def test_a_small_window_spares_less(window: int) -> None:
    assert window // 2 <= prompt_limit(window) <= window


def test_a_list_of_messages_takes_a_third_more() -> None:
    assert [list_tokens(tokens) for tokens in (0, 3, 10)] == [0, 4, 14]


@pytest.mark.parametrize("text", ["", "short", "a" * 1000, "é" * 700, "👩🏽‍🚀" * 90])
@pytest.mark.parametrize("tokens", [0, 5, 40, 100, 10_000])
def test_a_clipped_text_is_short_enough_and_keeps_both_ends(text: str, tokens: int) -> None:
    clipped = clip(text, tokens)

    if estimate_tokens(text) <= tokens:
        assert clipped == text
    else:
        assert estimate_tokens(clipped) <= max(tokens, estimate_tokens(CUT))
        head, _, tail = clipped.partition(CUT)
        assert text.startswith(head)
        assert text.endswith(tail)


@pytest.mark.parametrize(
    ("said", "counted"),
    [
        (500, 500),  # short
        (2000, 2000),  # memories have room beside it
        (2800, 2700),  # memories get a tenth, and push it over the limit
        (3000, 2700),
        (3001, 1800),  # compacted: a summary of 600 and 40 % of the room
        (90_000, 1800),
    ],
)
def test_a_conversation_is_counted_as_it_will_be_sent(said: int, counted: int) -> None:
    room = Room(limit=3000, fixed=0)

    assert message_tokens_sent(room, said=said, asked=100) == counted
    # Nothing is won where the input itself is most of it.
    assert message_tokens_sent(room, said=said, asked=said - 10) == said
