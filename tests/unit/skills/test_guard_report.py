"""The report of the guard: each finding with the line that it is about."""

from understudy.skills.bundles.bundle import Bundle
from understudy.skills.content_guard import scan_skill
from understudy.skills.guard_report import MAX_QUOTED_CHARS, GuardReport, report

# Put together from parts, so that no tool takes this file for what it tests.
WIPE = "rm -rf " + "/"
HEAD = "---\nname: tidy-up\ndescription: Tidies up.\n---\n"


def reported(files: dict[str, bytes]) -> GuardReport:
    bundle = Bundle(files)
    return report(bundle, scan_skill(bundle), skill_id="skl_1", slug="tidy-up")


def test_a_finding_quotes_its_line_of_its_file() -> None:
    script = f"echo hello\n  {WIPE}\n"
    found = reported({"SKILL.md": HEAD.encode(), "scripts/a.sh": script.encode()})

    [first, *_] = found.findings
    assert (first.path, first.line, first.quote) == ("scripts/a.sh", 2, WIPE)
    assert (found.files, found.is_whole, found.problems) == (2, True, ())


def test_a_quote_is_short_and_shows_what_cannot_be_seen() -> None:
    hidden = "a\u202eb " * 200
    found = reported({"SKILL.md": f"{HEAD}{hidden}\n".encode()})

    quotes = [each.quote for each in found.findings]
    assert quotes
    for quote in quotes:
        assert quote is not None
        assert quote.startswith("a\\u202eb")
        assert len(quote) <= MAX_QUOTED_CHARS + 1


def test_what_is_no_text_has_no_quote() -> None:
    program = b"\x7fELF\x02\x01\x01\0" + b"\0" * 64
    found = reported({"SKILL.md": HEAD.encode(), "run.bin": program})

    assert [(each.path, each.quote) for each in found.findings] == [("run.bin", None)]


def test_a_manifest_that_is_not_valid_is_told() -> None:
    found = reported({"SKILL.md": b"---\nname: x\nname: y\n---\n"})

    assert found.problems
