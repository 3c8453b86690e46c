"""Manifests: the fields of a SKILL.md, and every problem with its line."""

import pytest

from understudy.core.errors import Invalid
from understudy.skills.bundles.manifest import described, first_paragraph, parse, read

FULL = """\
---
name: Weekly   report
description: |
  Writes the report.
  Every week.
slug: weekly
version: 1.10
author: ann
tags: [report, no, report]
license: MIT
compatibility: needs git
allowed-tools: Bash(git add:*), Read Write
when_to_use: on Fridays
deps: [pip:requests, ffmpeg]
exclude_deps: npm:left-pad
metadata:
  level: 3
  nested: {a: [b]}
argument-hint: "[week]"
---
# Steps

Do it.
"""


def test_every_field_is_read() -> None:
    reading = parse(FULL)
    manifest, body = reading.manifest, reading.body

    assert manifest.name == "Weekly report"
    assert manifest.description == "Writes the report.\nEvery week."
    assert manifest.slug == "weekly"
    assert manifest.version_label == "1.10"
    assert manifest.author == "ann"
    assert manifest.tags == ("report", "no")
    assert manifest.license == "MIT"
    assert manifest.compatibility == "needs git"
    assert manifest.allowed_tools == ("Bash(git add:*)", "Read", "Write")
    assert manifest.when_to_use == "on Fridays"
    assert manifest.deps == ("pip:requests", "ffmpeg")
    assert manifest.exclude_deps == ("npm:left-pad",)
    assert manifest.metadata == {"level": "3", "nested": '{"a": ["b"]}'}
    assert manifest.extra == {"argument-hint": "[week]"}
    assert body == "# Steps\n\nDo it.\n"


def test_the_row_gets_every_field_as_text() -> None:
    flat = parse(FULL).manifest.written

    assert flat["version"] == "1.10"
    assert flat["tags"] == "report, no, report"
    assert flat["argument-hint"] == "[week]"
    assert all(isinstance(value, str) for value in flat.values())


@pytest.mark.parametrize(
    ("tools", "found"),
    [
        ("Read Write", ("Read", "Write")),
        ("Read, Write,Read", ("Read", "Write")),
        ("[Read, 'Bash(rm *)']", ("Read", "Bash(rm *)")),
        ("Bash(git add:*) Bash(git commit -m:*)", ("Bash(git add:*)", "Bash(git commit -m:*)")),
        ("", ()),
    ],
)
def test_tools_are_a_line_or_a_list(tools: str, found: tuple[str, ...]) -> None:
    assert parse(f"---\nname: x\nallowed-tools: {tools}\n---\n").manifest.allowed_tools == found


def test_a_tool_is_named_on_one_line() -> None:
    with pytest.raises(Invalid, match="names a tool over several lines"):
        parse('---\nname: x\nallowed-tools: ["Read\\nWrite"]\n---\n')


@pytest.mark.parametrize("content", ["", "  \n\t\n", "\ufeff\n"])
def test_a_blank_file_is_refused(content: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse(content)

    assert refused.value.code == "skill_blank"


@pytest.mark.parametrize("content", ["Do it.", "---\nname:\n---\n", "---\ndescription: x\n---\n"])
def test_a_file_without_a_name_is_refused(content: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse(content, pointer="/content")

    assert refused.value.code == "skill_name_missing"
    assert refused.value.errors[0].pointer == "/content"


def test_every_wrong_field_is_named_with_its_line() -> None:
    content = (
        "---\nname: [x]\ndescription: y\ntags: {a: b}\ndeps: pip:--flag\nmetadata: words\n---\n"
    )

    with pytest.raises(Invalid) as refused:
        parse(content)

    assert refused.value.code == "invalid_manifest"
    details = [error.detail for error in refused.value.errors]
    assert [detail.split(":")[:2] for detail in details] == [
        ["line 2", " name"],
        ["line 4", " tags"],
        ["line 5", " deps"],
        ["line 6", " metadata"],
    ]


def test_front_matter_that_cannot_be_read_has_its_own_code() -> None:
    with pytest.raises(Invalid, match="line 3") as refused:
        parse("---\nname: x\nname: y\n---\n")

    assert refused.value.code == "invalid_front_matter"


@pytest.mark.parametrize("escape", ["\\u202e", "\\u200b", "\\x07", "\\U000e0041"])
def test_a_hidden_character_cannot_be_smuggled_in_by_an_escape(escape: str) -> None:
    with pytest.raises(Invalid, match="hidden"):
        parse(f'---\nname: x\ndescription: "a{escape}b"\n---\n')


def test_a_missing_description_is_a_warning_and_the_first_prose_stands_in_for_it() -> None:
    reading = read("---\nname: x\n---\n# Title\n\n- point\n\nSome\nprose.\n\nMore.\n")

    assert [(problem.code, problem.fatal) for problem in reading.problems] == [
        ("description_missing", False)
    ]
    assert described(reading) == "Some prose."
    assert parse("---\nname: x\n---\n").manifest.description == ""


@pytest.mark.parametrize(
    ("markdown", "paragraph"),
    [
        ("", ""),
        ("# Only\n## Headings", ""),
        ("```\ncode\n\ncode\n```\nText *here*.", "Text *here*."),
        ("~~~\n```\n~~~\nAfter.", "After."),
        ("> quote\n\n1. one\n2) two\n\n| a | b |\n\n---\n\n<!-- x -->\nProse", "Prose"),
        ("    code\n\nText\n===\n", "Text"),
        ("x" * 2_000, "x" * 1_024),
    ],
)
def test_the_first_paragraph_is_prose(markdown: str, paragraph: str) -> None:
    assert first_paragraph(markdown) == paragraph
