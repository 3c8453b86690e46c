"""Quotations of sensitive statements in texts: however they are written, and nothing else."""

import json
import time

import pytest

from understudy.core.visibility import SensitiveStatement
from understudy.wire.sensitive_quotations import HIDDEN_WORDS, Quotations

CODE = "The door code is zanzibar 4711"
PATH = r"Her salary is in C:\temp\new\files of Ann"
QUOTED = 'Her word is "swordfish" since May'
WAGE = "Lương của chị Lan là 50 triệu"
LONG = "a " * 700 + "b c"


def of(*statements: str, near: tuple[str, ...] = ()) -> Quotations:
    return Quotations.of(
        tuple(SensitiveStatement(text, "run_1", "s1") for text in statements), near
    )


def as_json(text: str) -> str:
    return json.dumps({"text": f"I know: {text}"})


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        (PATH, f"I know: {PATH}"),
        (PATH, as_json(PATH)),
        (PATH, as_json(as_json(PATH))),
        (QUOTED, as_json(QUOTED)),
        (QUOTED, as_json(as_json(QUOTED))),
        (f'"{QUOTED}"', as_json(f'"{QUOTED}"')),
        (WAGE, f"I know: {WAGE.upper()}"),
        (WAGE, as_json(WAGE)),
        (WAGE, as_json(as_json(WAGE))),
        (WAGE, f"I know: İ {WAGE}"),
        (WAGE, f"I know: \ud800 {WAGE}"),
        ("He earns 5000 a month", "I know: he\n earns\t5000\fa\u00a0MONTH!"),
        ("He earns 5000 a month", as_json("he\n earns\t5000\fa MONTH!")),
        (CODE, f"I know: {CODE.replace('door', 'do' + chr(0x200B) + 'or')}. So knock."),
        (CODE, f"I know: {CODE.replace('door code', '**door** code')}"),
        (CODE, f"I know: {CODE.replace('zanzibar', '`zanzibar`')}"),
        (CODE, f"I know: {CODE.replace('code', 'co' + chr(0xAD) + 'de' + chr(0x2060))}"),
        (CODE, f"I know: _{CODE}_"),
    ],
)
def test_a_statement_is_found_however_it_is_written(statement: str, text: str) -> None:
    shown = of(statement).masked(text)
    assert "I know: " in shown
    assert HIDDEN_WORDS in shown
    for word in ("temp", "swordfish", "tri", "5000", "zanzibar", "4711"):
        assert word not in shown
    if text.startswith("{"):
        json.loads(shown)


@pytest.mark.parametrize("text", ["The door code alone.", "zanzibar 4711 is the door code", ""])
def test_other_words_stay(text: str) -> None:
    assert of(CODE).masked(text) == text


def test_statements_that_overlap_are_masked_to_their_end() -> None:
    quotations = of("He earns 7000 euros", "7000 euros until next May")
    assert quotations.masked("He earns 7000 euros until next May!") == "[sensitive]!"


def test_a_cover_keeps_the_place_of_everything_else() -> None:
    text = f"Well: {CODE}. Bye."
    shown = of(CODE).covered(text)
    assert shown == f"Well: {HIDDEN_WORDS.ljust(len(CODE), '.')}. Bye."


def test_a_few_words_are_masked_only_where_they_were_said() -> None:
    assert not of("blue socks")
    assert of("blue socks", near=("s1",)).masked("My blue  Socks!") == "My [sensitive]!"


def test_a_statement_of_many_equal_words_takes_no_long_look() -> None:
    began = time.process_time()
    shown = of(LONG).masked("a " * 500_000 + LONG)
    assert "b c" not in shown
    # Tried at every word anew, it took half a minute.
    assert time.process_time() - began < 8


def test_only_what_a_statement_may_still_reach_is_held_back() -> None:
    quotations = of(CODE)
    text = "word " * 2_000
    assert 0 < quotations.settled(text) < len(text)
    # Blanks between the words of a statement make it longer.
    spread = text.replace(" ", " " * 50)
    assert len(" ".join(spread[quotations.settled(spread) :].split())) >= len(CODE)
