"""What is uploaded for a path, and what is typed about findings."""

from pathlib import Path

import pytest
import typer

from understudy.cli.skill_checks import archive_of
from understudy.cli.skill_records import acknowledged
from understudy.skills.bundles.archive import MAX_ARCHIVE_BYTES, read_archive

CLEAN = "---\nname: Weather\ndescription: Tells the weather.\n---\nLook out.\n"


def test_a_folder_is_packed_with_all_its_files(tmp_path: Path) -> None:
    folder = tmp_path / "weather"
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text(CLEAN)
    (folder / "scripts" / "run.sh").write_bytes(b"ls\n")

    bundle = read_archive(archive_of(folder))

    assert dict(bundle) == {"SKILL.md": CLEAN.encode(), "scripts/run.sh": b"ls\n"}
    # The same folder makes the same bytes, so that a repeat is known for one.
    assert archive_of(folder) == archive_of(folder)


def test_an_archive_goes_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(b"whatever")

    assert archive_of(tmp_path / "a.zip") == b"whatever"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gone", "does not exist"),
        ("empty", "no SKILL.md"),
        ("large.zip", "larger than a skill"),
        ("NOTES.MD", "skills create"),
    ],
)
def test_what_cannot_be_a_skill_is_not_sent(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "NOTES.MD").write_text(CLEAN)
    with (tmp_path / "large.zip").open("wb") as large:
        large.truncate(MAX_ARCHIVE_BYTES + 1)

    with pytest.raises(typer.BadParameter, match=words):
        archive_of(tmp_path / name)


def test_a_finding_is_acknowledged_with_its_place_and_a_reason() -> None:
    (found,) = acknowledged(["P1.sudo@docs/a:b.md:12=the image has A=B, and needs it"])

    assert (found.rule_id, found.path, found.line) == ("P1.sudo", "docs/a:b.md", 12)
    assert found.reason == "the image has A=B, and needs it"
    assert acknowledged(None) == []


@pytest.mark.parametrize(
    "entry", ["P1.sudo", "P1.sudo@SKILL.md=why", "P1.sudo@SKILL.md:1", "@SKILL.md:1=why", "x@a:1="]
)
def test_a_finding_without_its_parts_is_a_usage_error(entry: str) -> None:
    with pytest.raises(typer.BadParameter, match="RULE@PATH:LINE=REASON"):
        acknowledged([entry])
