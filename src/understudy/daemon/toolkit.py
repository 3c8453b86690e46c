"""The tools every daemon has, each given the services it works with."""

from collections.abc import Collection, Mapping

from understudy.core.clock import Clock
from understudy.mailboxes.sending import RunMail
from understudy.mailboxes.tool import SendMail
from understudy.runs.artifact_tool import ReadArtifact
from understudy.runs.ask_user import AskUser
from understudy.runs.ports import RunUnit
from understudy.runs.sidechain_tools import (
    AnswerSidechain,
    CancelSidechain,
    SpawnSidechain,
    WaitSidechain,
)
from understudy.runs.sidechains import SidechainService
from understudy.sessions.ports import Units
from understudy.sessions.task_service import TaskService
from understudy.sessions.task_tools import Tasks
from understudy.tools.base import Tool
from understudy.tools.edit import EditFile
from understudy.tools.files import ListFiles, ReadFile, WriteFile
from understudy.tools.processes import Children
from understudy.tools.search import SearchFiles
from understudy.tools.shell import Shell
from understudy.tools.web import FetchUrl, MayGoOn


def toolkit(
    *,
    units: Units[RunUnit],
    clock: Clock,
    question_expires_s: int | None,
    tasks: TaskService,
    sidechains: SidechainService,
    mail: RunMail,
    fetch_allow: Collection[str],
    may_go_on: MayGoOn,
    environment: Mapping[str, str],
    children: Children,
) -> list[Tool]:
    """Every built-in tool, in the order people and models see them."""
    return [
        ReadFile(),
        WriteFile(),
        EditFile(),
        ListFiles(),
        SearchFiles(),
        Shell(environment, children),
        FetchUrl(fetch_allow, may_go_on=may_go_on),
        Tasks(tasks),
        SpawnSidechain(sidechains),
        WaitSidechain(sidechains),
        AnswerSidechain(sidechains),
        CancelSidechain(sidechains),
        SendMail(mail),
        AskUser(units, clock, question_expires_s),
        ReadArtifact(units),
    ]
