"""Which calls of coding agents write memory, and what the files would hold."""

import json

import pytest

from understudy.foreign.memory_files import is_memory, memory_writes

PATCH = "*** Begin Patch\n*** Add File: MEMORY.md\n+x\n*** End Patch\n"
# A patch of another file, without the line that ends it.
ASIDE = "apply_patch << 'EOF'\n*** Begin Patch\n*** Add File: a.py\n+x\n*** End Patch\n"
BEFORE = "- the team deploys on Mondays\n"


@pytest.mark.parametrize(
    "path",
    [
        "MEMORY.md",
        "/work/CLAUDE.md",
        "/work/sub/AGENTS.md",
        "skills/deploy/SKILL.md",
        "/home/ann/.claude/projects/-work/memory/style.md",
        "/work/.claude/rules/style.md",
        ".cursor/rules/style.mdc",
    ],
)
def test_a_file_of_memory_instructions_or_rules_is_known(path: str) -> None:
    assert is_memory(path)


@pytest.mark.parametrize(
    "path", ["README.md", "src/memory/record.py", "docs/claude.md", "memory.md.txt", "", "rules/a"]
)
def test_another_file_is_not_memory(path: str) -> None:
    assert not is_memory(path)


@pytest.mark.parametrize(
    ("tool", "given", "after"),
    [
        ("Write", {"file_path": "/w/MEMORY.md", "content": "- tabs\n"}, "- tabs\n"),
        (
            "Edit",
            {"file_path": "/w/CLAUDE.md", "old_string": "Mondays", "new_string": "Fridays"},
            "- the team deploys on Fridays\n",
        ),
        (
            "MultiEdit",
            {
                "file_path": "/w/CLAUDE.md",
                "edits": [
                    {"old_string": "the team", "new_string": "we"},
                    {"old_string": "deploys", "new_string": "deploy"},
                ],
            },
            "- we deploy on Mondays\n",
        ),
        (
            "apply_patch",
            {"command": "*** Begin Patch\n*** Add File: MEMORY.md\n+- tabs\n*** End Patch\n"},
            "- tabs\n",
        ),
        ("Bash", {"command": "echo '- tabs' > MEMORY.md"}, "- tabs\n"),
        ("Bash", {"command": "echo '- tabs' >> MEMORY.md"}, f"{BEFORE}- tabs\n"),
        ("exec_command", {"cmd": "echo '- tabs' > MEMORY.md"}, "- tabs\n"),
        ("shell", {"command": ["bash", "-lc", "rm MEMORY.md"]}, None),
        ("Bash", {"command": "cat notes >> .claude/rules/style.md"}, None),
        ("Bash", {"command": "sed -i s/a/b/ AGENTS.md"}, None),
        ("Bash", {"command": "sed -Ei s/a/b/ AGENTS.md"}, None),
        ("Bash", {"command": "sort -o AGENTS.md notes"}, None),
        (
            "Write",
            {"file_path": "MEMORY.md", "content": "*** Begin Patch\n"},
            "*** Begin Patch\n",
        ),
        ("Bash", {"command": f"{ASIDE}\necho tabs > MEMORY.md"}, None),
        ("Bash", {"command": f"{ASIDE}EOF\ncat x > MEMORY.md\nEOF"}, None),
        ("Bash", {"command": ASIDE.replace("a.py", "MEMORY.md") + "EOF"}, "x\n"),
        ("shell", {"command": ["apply_patch", PATCH]}, "x\n"),
        ("Bash", {"command": "python -c \"open('MEMORY.md','w')\""}, None),
        ("Bash", {"command": "git checkout CLAUDE.md"}, None),
        ("Edit", {"file_path": "CLAUDE.md", "old_string": "not there", "new_string": "x"}, None),
    ],
)
def test_a_write_to_memory_is_found_with_its_new_text(
    tool: str, given: dict[str, object], after: str | None
) -> None:
    (write,) = memory_writes(tool, given)

    assert write.after(BEFORE) == after


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Read", {"file_path": "/w/MEMORY.md"}),
        ("Write", {"file_path": "/w/src/memory/record.py", "content": "x"}),
        ("Bash", {"command": "cat MEMORY.md | grep tabs 2>/dev/null"}),
        ("Bash", {"command": "sed -n 1,20p AGENTS.md"}),
        ("Bash", {"command": "git commit -am 'update CLAUDE.md'"}),
        ("Bash", {"command": "pytest tests/memory/test_record.py > out.txt"}),
        ("Bash", {"command": "head -3 README.md > MEMORANDUM.md"}),
        ("Bash", {}),
        ("Bash", {"command": "echo '*** Begin Patch'"}),
        ("Bash", {"command": 7}),
    ],
)
def test_a_call_that_only_reads_memory_or_writes_elsewhere_is_none(
    tool: str, given: dict[str, object]
) -> None:
    assert memory_writes(tool, given) == ()


def test_an_edit_whose_outcome_is_unknown_shows_what_was_asked_for() -> None:
    given = {"file_path": "CLAUDE.md", "old_string": "not there", "new_string": "push at once"}

    (write,) = memory_writes("Edit", given)

    assert json.loads(write.shown) == given


def test_only_the_memory_files_of_a_patch_are_writes() -> None:
    patch = (
        "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n"
        "*** Update File: AGENTS.md\n@@\n-a\n+b\n*** End Patch\n"
    )

    (write,) = memory_writes("apply_patch", {"input": patch})

    assert write.path == "AGENTS.md"
    assert "+b" in write.shown
    assert "a.py" not in write.shown
