"""The pages about tools say what the tools say of themselves."""

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from understudy.daemon.toolkit import toolkit
from understudy.mailboxes import model as mail
from understudy.runs import answers, artifacts, sidechain_tools
from understudy.runs.ask_user import AskUserParameters
from understudy.sessions import model, tasks
from understudy.skills import instructions
from understudy.skills.bundles import limits
from understudy.skills.tools import catalogue, use
from understudy.tools import files, response_bodies, search, shell, text_files, web
from understudy.tools.base import Tool

DOCS = Path(__file__).parents[2] / "docs"
PAGE = "\n".join(
    (DOCS / name).read_text() for name in ("concepts/tools.md", "reference/built-in-tools.md")
)
ROW = re.compile(r"^\| `(\w+)` \| (\w+) \| (\w+) \|", re.MULTILINE)
MIB = 1024 * 1024


def built_in() -> list[Tool]:
    """The tools every daemon has; none is called, so none needs the services it works with."""
    parts: dict[str, Any] = dict.fromkeys(inspect.signature(toolkit).parameters)
    return toolkit(**{**parts, "fetch_allow": (), "environment": {}})


ASKED = AskUserParameters.model_json_schema()
QUESTION = ASKED["$defs"]["Question"]["properties"]


def test_the_page_lists_the_tools_in_their_order_with_effect_and_approval() -> None:
    declared = [(tool.name, str(tool.effect), str(tool.approval)) for tool in built_in()]

    assert ROW.findall(PAGE) == declared


@pytest.mark.parametrize(
    ("row", "value"),
    [
        ("one answer of `read_file`", f"{files.MAX_READ_BYTES // 1024} KiB"),
        ("a file that is written or edited", f"{text_files.MAX_WRITE_BYTES // MIB} MiB"),
        ("entries in a listing", f"{files.MAX_ENTRIES:,}, to depth {files.MAX_LIST_DEPTH}"),
        ("matches of a search", f"{search.MAX_MATCHES}, each"),
        ("files and bytes a search reads", f"{search.MAX_FILES:,} files"),
        ("files and bytes a search reads", f"{search.MAX_TOTAL_BYTES // MIB} MiB"),
        ("files and bytes a search reads", f"{search.MAX_SECONDS:.0f} s"),
        ("a file that is searched", f"{search.MAX_FILE_BYTES // MIB} MiB"),
        (
            "time",
            f"{shell.DEFAULT_TIMEOUT_S} s; the call may ask for up to {shell.MAX_TIMEOUT_S} s",
        ),
        ("output kept", f"{shell.MAX_OUTPUT_BYTES // MIB} MiB"),
        ("output at all", f"{shell.MAX_FLOOD_BYTES // MIB} MiB"),
        ("memory", f"{shell.LIMITS['RLIMIT_DATA'] // MIB // 1024} GiB a process"),
        ("memory", f"{shell.MAX_MEMORY_BYTES // MIB // 1024} GiB all"),
        ("processes", f"{shell.MAX_PROCESSES}"),
        ("size of a file it writes", f"{shell.LIMITS['RLIMIT_FSIZE'] // MIB // 1024} GiB"),
        ("time in all", f"{web.MAX_SECONDS:.0f} s"),
        ("what is read, also after unpacking", f"{response_bodies.MAX_BODY_BYTES // MIB} MiB"),
        ("redirects", f"{web.MAX_REDIRECTS}"),
        ("what the model is shown of one answer", f"{artifacts.MAX_SHOWN_CHARS:,} characters"),
        ("what the model is shown of one answer", f"last {artifacts.END_CHARS:,} of"),
        ("what one call of `read_artifact` reads", f"{artifacts.MAX_READ_CHARS:,} "),
        ("an artifact", f"{artifacts.MAX_ARTIFACT_CHARS:,} characters"),
        ("tasks of a session", f"{tasks.MAX_TASKS}, each with at most {tasks.MAX_DEPENDENCIES} "),
        (
            "title and description of a task",
            f"{tasks.MAX_TITLE_CHARS} and {tasks.MAX_DESCRIPTION_CHARS:,} characters",
        ),
        ("sidechains", f"{model.MAX_DEPTH} levels deep, {model.MAX_LIVE} at work"),
        ("the task of a sidechain", f"{sidechain_tools.MAX_TASK_CHARS:,} characters"),
        ("a message of `send_mail`", f"{mail.MAX_CONTENT_BYTES // 1024} KiB"),
        ("a message of `send_mail`", f"subject {mail.MAX_SUBJECT_CHARS} characters"),
        ("messages that cause messages", f"{mail.MAX_HOPS} in a row"),
        (
            "questions in one call of `ask_user`",
            f"{ASKED['properties']['questions']['maxItems']}, each",
        ),
        ("questions in one call of `ask_user`", f"{QUESTION['options']['maxItems']} options"),
        (
            "a question, and an answer in words",
            f"{QUESTION['question']['maxLength']:,} and {answers.MAX_FREEFORM_CHARS:,} characters",
        ),
        ("skills on one page of `list_skills`", f"{catalogue.PAGE}"),
        ("results of `skill_search`", f"{catalogue.DEFAULT_RESULTS}; the call may"),
        ("results of `skill_search`", f"up to {catalogue.MAX_RESULTS} with `max_results`"),
        ("`params` of `use_skill`", f"{instructions.MAX_ARGUMENT_CHARS:,} characters"),
        ("`timeout_ms` of `use_skill`", f"{use.WAIT_MS:,}; up to {use.MAX_WAIT_MS:,}"),
        ("the SKILL.md of `skill_manage`", f"{limits.MAX_MANIFEST_BYTES:,} bytes"),
        ("the other files of `publish_skill`", f"{limits.MAX_BUNDLE_BYTES // MIB} MiB"),
        ("the other files of `publish_skill`", f"{limits.MAX_FILES - 1} files"),
    ],
)
def test_a_limit_is_as_the_code_has_it(row: str, value: str) -> None:
    (line,) = re.findall(rf"^\| {re.escape(row)} \|(.*)\|$", PAGE, re.MULTILINE)
    assert value in line
