"""The Agent Skills standard: what we export is valid to its own validator, and comes back whole."""

from pathlib import Path

import pytest
import skills_ref
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.skill_texts import companions
from understudy.skills.bundles.archive import read_archive, write_archive
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.bundles.document import read_front_matter
from understudy.skills.bundles.manifest import parse, read
from understudy.skills.bundles.standard import export, export_text

FACTS = {"version": "3", "profile": "careful", "model": "some---model", "fingerprint": "ab12"}
SOURCES = {
    "plain": "---\nname: weekly-report\ndescription: Writes it.\n---\nDo it.\n",
    "full": (
        '---\nname: Weekly report\ndescription: |\n  It\'s "this" --- and: that # no\n  é 🚀 \\\n'
        "version: 1.10\ntags: [a, no]\nauthor: ann\nlicense: MIT\ncompatibility: git\n"
        "allowed-tools: Bash(git add:*), Read\nwhen_to_use: on Fridays\ndeps: []\n"
        "exclude_deps: [ffmpeg]\nargument-hint: [x] [y]\n"
        "metadata:\n  level: 3\n  'odd --- key': yes\n  nested: {a: [b]}\n---\n# T\n\n---\n\nDo it.\n"
    ),
    "no description": "---\nname: x\n---\n# T\n\nSome prose.\n",
    "nothing to say": "---\nname: yes\n---\n",
    "too long": f"---\nname: x\ndescription: {'d' * 2_000}\ncompatibility: {'c' * 900}\n---\n",
    "json": '---\n{"name": "Weekly", "description": "a\\tb", "version": 2}\n---\nDo it.\n',
}


def problems_of(text: str, folder: Path) -> list[str]:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(text, encoding="utf-8")
    return list(skills_ref.validate(folder))


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())
def test_what_we_export_is_valid(source: str, tmp_path: Path) -> None:
    exported = export_text(source, slug="weekly-report", facts=FACTS)

    assert problems_of(exported, tmp_path / "weekly-report") == []
    properties = skills_ref.read_properties(tmp_path / "weekly-report")
    assert properties.name == "weekly-report"
    assert properties.metadata["understudy-model"] == "some---model"
    assert properties.metadata["understudy-version"] == "3"


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())
def test_what_we_export_comes_back_whole(source: str) -> None:
    reading = parse(source)
    before, body = reading.manifest, reading.body
    again = parse(export_text(source, slug="weekly-report", facts=FACTS))
    after, body_after = again.manifest, again.body

    assert body_after == body
    assert after.slug == "weekly-report"
    for field in ("name", "tags", "version_label", "author", "license", "compatibility",
                  "allowed_tools", "when_to_use", "deps", "exclude_deps"):  # fmt: skip
        assert getattr(after, field) == getattr(before, field)
    assert before.description in {"", after.description}
    assert before.metadata.items() <= after.metadata.items()


def test_exporting_twice_changes_nothing() -> None:
    once = export_text(SOURCES["full"], slug="weekly-report", facts=FACTS)

    assert export_text(once, slug="weekly-report", facts=FACTS) == once


def test_a_skill_that_was_given_another_name_keeps_that_name() -> None:
    exported = export_text(SOURCES["full"], slug="weekly-report")
    manifest = read(exported.replace("name: weekly-report\n", "name: monthly\n", 1)).manifest

    assert (manifest.name, manifest.slug) == ("monthly", "")


def test_an_exported_bundle_travels_as_an_archive() -> None:
    bundle = Bundle({"SKILL.md": SOURCES["full"].encode(), "scripts/a.py": b"1"})
    files = export(bundle, slug="weekly-report", facts=FACTS)
    back = read_archive(write_archive(files, folder="weekly-report"))

    assert companions(back) == companions(bundle)
    assert parse(back.manifest_text).manifest.name == "Weekly report"


CONFORMING = {
    "smallest": "---\nname: NAME\ndescription: Does it.\n---\n",
    "all keys": (
        "---\nname: NAME\ndescription: Does it. Use it when needed.\nlicense: Apache-2.0\n"
        'compatibility: Needs git\nallowed-tools: Bash(git:*) Read\nmetadata:\n  author: ann\n  version: "1.0"\n'
        "---\n# How\n"
    ),
    "folded": "---\nname: NAME\ndescription: >\n  One\n  two.\n---\ntext",
    "quoted": "---\nname: \"NAME\"\ndescription: 'It''s: this'\n---\ntext",
}


@pytest.mark.parametrize("source", CONFORMING.values(), ids=CONFORMING.keys())
def test_what_conforms_is_read_as_the_reference_reads_it(source: str, tmp_path: Path) -> None:
    text = source.replace("NAME", "some-skill")
    assert problems_of(text, tmp_path / "some-skill") == []
    reference = skills_ref.read_properties(tmp_path / "some-skill")

    manifest = parse(text).manifest

    assert manifest.name == reference.name
    assert manifest.description == reference.description
    assert manifest.license == (reference.license or "")
    assert manifest.compatibility == (reference.compatibility or "")
    assert " ".join(manifest.allowed_tools) == (reference.allowed_tools or "")
    assert manifest.metadata == (reference.metadata or {})


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    value=st.text(
        alphabet=st.one_of(
            st.sampled_from("-:#'\"\\{}[]&*!|>%@`, \n\t\x7f\x85\u2028é🚀0"),
            st.characters(exclude_categories=["Cs", "Cc"]),
        ),
        min_size=1,
        max_size=40,
    )
)
def test_any_text_survives_for_us_and_for_the_reference(value: str, tmp_path: Path) -> None:
    exported = export_text("---\nname: x\n---\n", slug="some-skill", facts={"fact": value})

    assert problems_of(exported, tmp_path / "some-skill") == []
    metadata = skills_ref.read_properties(tmp_path / "some-skill").metadata
    assert metadata["understudy-fact"] == value
    ours = read_front_matter(exported).document.values["metadata"]
    assert dict(ours)["understudy-fact"] == value  # type: ignore[arg-type]
