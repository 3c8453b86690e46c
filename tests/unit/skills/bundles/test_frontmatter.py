"""Front matter: what is read, what stays as it was written, what is refused and where."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.skills.bundles.document import read_front_matter


def front(block: str, body: str = "Body.\n") -> str:
    return f"---\n{block}\n---\n{body}"


def values(block: str) -> dict[str, object]:
    found = read_front_matter(front(block))
    assert found.problems == ()
    return dict(found.document.values)


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ("version: 1.10", {"version": "1.10"}),
        ("name: no", {"name": "no"}),
        ("when: 2026-01-01", {"when": "2026-01-01"}),
        ("n: 0x10\nm: ~\nk: null\nj:", {"n": "0x10", "m": "~", "k": "null", "j": ""}),
        ("q: 'it''s'\nd: \"a\\tb\"", {"q": "it's", "d": "a\tb"}),
        ("tags: [a, 'b, c']", {"tags": ("a", "b, c")}),
        ("tags:\n- a\n- b", {"tags": ("a", "b")}),
        ("d: |\n  one\n  two", {"d": "one\ntwo\n"}),
        ("d: >-\n  one\n  two", {"d": "one two"}),
        ("m:\n  a: 1\n  b: {c: [d]}", {"m": {"a": "1", "b": {"c": ("d",)}}}),
        ("# a remark\nname: x # another", {"name": "x"}),
        ('{"name": "x", "n": 1.10, "t": [true, null]}',
         {"name": "x", "n": "1.10", "t": ("true", "")}),
        ("{name: x}", {"name": "x"}),
        ("", {}),
    ],
)  # fmt: skip
def test_values_stay_what_was_written(block: str, expected: dict[str, object]) -> None:
    assert values(block) == expected


def test_a_line_of_three_hyphens_ends_it_and_nothing_else_does() -> None:
    found = read_front_matter(front("name: a --- b\nd: '---'", "x\n---\ny\n"))

    assert found.document.values == {"name": "a --- b", "d": "---"}
    assert found.body == "x\n---\ny\n"


def test_a_byte_order_mark_and_other_line_ends_are_tolerated() -> None:
    found = read_front_matter("\ufeff---\r\nname: x\r\n---\r\nBody.\r\n")

    assert found.document.values == {"name": "x"}
    assert found.body == "Body.\n"


@pytest.mark.parametrize(
    "text", ["Just text.", " ---\nname: x\n---\n", "----\nname: x\n----\n", ""]
)
def test_without_a_fence_everything_is_body(text: str) -> None:
    found = read_front_matter(text)

    assert (found.document.values, found.body, found.problems) == ({}, text, ())


@pytest.mark.parametrize(
    ("block", "line", "cause"),
    [
        ("name: x\nname: y", 3, "twice"),
        ("m:\n  a: 1\n  a: 2", 4, "twice"),
        ('{"a": 1, "a": 2}', 2, "twice"),
        ("a: &x 1\nb: *x", 2, "aliases"),
        ("a: !!python/object:os.system x", 2, "tags"),
        ("a: !x 1", 2, "tags"),
        ("%YAML 1.1\n--- \na: 1", 2, "document"),
        ("a: 1\n--- \nb: 2", 3, "document"),
        ("- a\n- b", 2, "key"),
        ("just words", 2, "key"),
        ("? [a]\n: b", 2, "key"),
        ("a: " + "[" * 9 + "]" * 9, 2, "deeper"),
        ('{"a": ' + "[" * 9 + "]" * 9 + "}", 2, "deeper"),
        ("a: [" + "b," * 4_000 + "]", 2, "more than"),
        ("a: " + "x" * 33_000, 2, "longer"),
        ('a: "\\ud800"', 2, "no text can hold"),
        ('{"a": "\\ud800"}', 2, "no text can hold"),
        ('a: "\\0"', 2, "no text can hold"),
        ("a:\n  b: 1\n c: 2", 4, ""),
        ("a: \x07", 2, "not allow"),
    ],
)
def test_what_is_not_plain_is_refused_with_its_line(block: str, line: int, cause: str) -> None:
    problems = read_front_matter(front(block)).problems

    assert [problem.fatal for problem in problems] == [True]
    assert problems[0].code == "invalid_front_matter"
    assert cause in problems[0].detail
    assert problems[0].line == line


def test_front_matter_that_never_ends_is_refused() -> None:
    problems = read_front_matter("---\nname: x\n").problems

    assert "closes" in problems[0].detail


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("argument-hint: [file] [options]", "[file] [options]"),
        ("description: Use it when: always", "Use it when: always"),
        ("allowed-tools: *", "*"),
        ("description: 'Quoted' and not", "'Quoted' and not"),
        ("description: @mention it's", "@mention it's"),
    ],
)
def test_a_line_that_is_plainly_text_is_taken_as_text_with_a_warning(line: str, value: str) -> None:
    found = read_front_matter(front(f"name: x\n{line}\nother: y"))

    assert found.document.values == {"name": "x", line.partition(":")[0]: value, "other": "y"}
    assert [(problem.fatal, problem.line) for problem in found.problems] == [(False, 3)]


def test_text_that_goes_on_over_lines_is_taken_as_text_too() -> None:
    found = read_front_matter(front("description: Use it when: always\n  and: more\nother: y"))

    assert found.document.values == {"description": "Use it when: always and: more", "other": "y"}
    assert found.line("other") == 4


def test_nothing_is_mended_where_something_is_refused() -> None:
    (problem,) = read_front_matter(front("hint: [a] [b]\nname: x\nname: y")).problems

    assert (problem.fatal, problem.line) == (True, 4)


HOSTILE = {
    "lists": "[" * 32_000,
    "mappings": "{" * 32_000,
    "questions": "? " * 16_000,
    "dashes": "- " * 16_000,
    "colons": "a: " * 10_000,
    "quotes": '"' * 32_000,
    "blanks": "a: b" + " " * 32_000 + "[",
    "lines to mend": "\n".join(f"k{number}: [a] [b]" for number in range(1_500)),
    "anchors": "a: " + "&a " * 10_000,
    "breaks": "\r" * 32_000,
    "empty lines": "a: |\n" + " \n" * 15_000,
}


@pytest.mark.parametrize("block", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_front_matter_takes_no_long_time(block: str) -> None:
    begun = time.process_time()
    read_front_matter(front(block))

    assert time.process_time() - begun < 3


@settings(max_examples=150)
@given(
    st.text(alphabet=st.sampled_from("ab:-[]{}'\"#&*!|>%@`\\\n\t ,?.0\r\x85\u2028x"), max_size=60)
)
def test_no_text_makes_anything_but_fields_or_problems(block: str) -> None:
    found = read_front_matter(front(block))

    assert set(found.document.values) == set(found.document.lines)
