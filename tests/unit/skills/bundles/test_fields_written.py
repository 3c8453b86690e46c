"""Setting fields of a SKILL.md: they change, and the rest stays as it is written."""

import pytest

from understudy.skills.bundles.manifest import read
from understudy.skills.bundles.standard import export_text, with_fields

FOLDED = """---
name: Weekly report
# A remark.
description: >
  Long text
  on lines
tags:
- a
- b
license: MIT
---
# Body
---
rest
"""


def test_only_what_is_set_changes() -> None:
    text = with_fields(FOLDED, {"description": "Says: more"})

    assert text == FOLDED.replace(">\n  Long text\n  on lines", '"Says: more"')


@pytest.mark.parametrize(
    "content",
    [
        FOLDED,
        FOLDED.removesuffix("\n# Body\n---\nrest\n"),
        FOLDED.replace("\n", "\r\n"),
        '---\n{"name": "A", "description": "b", "tags": ["c"], "license": "MIT"}\n---\nBody',
        export_text(FOLDED, slug="weekly-report"),
    ],
)
def test_what_is_set_is_read_again(content: str) -> None:
    said: dict[str, str | tuple[str, ...]] = {
        "name": "Yes, no: maybe",
        "description": "--- a\nb",
        "tags": ("x", "y, z", "no"),
    }

    found = read(with_fields(content, said)).manifest

    assert (found.name, found.description, found.tags) == tuple(said.values())
    assert found.license == "MIT"
    assert read(with_fields(content, {"tags": ()})).manifest.tags == ()
    assert read(with_fields(content, said)).body == read(content).body
