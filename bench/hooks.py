"""How long a coding agent waits for the answer to a hook, and that no unreviewed text is in one."""

import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, Final

from bench.console_home import fill, open_home
from bench.learned_store import learning
from bench.report import figure, heading, percentile
from bench.retrieval_records import words
from understudy.core.principal import Principal, Role
from understudy.daemon.wiring import Daemon
from understudy.foreign.hook_events import HookTool
from understudy.learnings.model import Applies, PolicyDecision
from understudy.sessions.learning_scopes import WORKSPACE

LEARNINGS: Final = 10_000
MOST_MS: Final = 50.0
TURNS: Final = 60
# Every so many-th learning was published by automation and may repeat text of others.
UNREVIEWED: Final = 4
MARK: Final = "hxunreviewed"
STANDING: Final = 20
CLIENT: Final = Principal(user_id="claude-code", role=Role.CLIENT)
EVENTS: Final = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop")
QUERY_WORDS: Final = range(20, 5_000)


def main(*, quick: bool = False) -> bool:
    """Measure the CPU of each answer at 10,000 learnings; tells whether the targets were met."""
    learnings, turns = (1_000, 20) if quick else (LEARNINGS, TURNS)
    heading(f"Answers to hooks with {learnings:,} learnings (SQLite, CPU)")
    with tempfile.TemporaryDirectory() as made:
        home = Path(made)
        fill(home, runs=0, candidates=0, learnings=learnings)
        daemon = open_home(home)
        _add_unreviewed(daemon, learnings // UNREVIEWED)
        spent: dict[str, list[float]] = {name: [] for name in EVENTS}
        answers = [_turn(daemon, home, number, spent) for number in range(turns)]
    met = [
        figure(f"{name}, p95", percentile(times, 95), "ms", at_most=MOST_MS)
        for name, times in spent.items()
    ]
    told = [text for turn in answers for text in turn]
    given = sum(text.count("\n- ") for text in told)
    leaked = sum(len(text) for text in told if MARK in text)
    figure("learnings in the answers, per turn", given / turns, "")
    met.append(figure("unreviewed bytes in additionalContext", leaked, "bytes", at_most=0))
    return all(met) and given > 0


def _add_unreviewed(daemon: Daemon, amount: int) -> None:
    """Learnings of the usual words, half of them standing ones at first, that nobody has seen."""
    random, vocabulary = Random(7), words()
    with daemon.services.resources.units.write() as unit:
        for number in range(amount):
            said = " ".join(vocabulary[random.choice(QUERY_WORDS)] for _ in range(8))
            made = learning(f"lrn_hx{number:030x}", f"{MARK} {said}", WORKSPACE, number + 1)
            unit.learnings.add(
                replace(
                    made,
                    applies=Applies.ALWAYS if number < STANDING else Applies.WHEN_RELEVANT,
                    derived_from_untrusted=True,
                    policy_decision=PolicyDecision.AUTOMATIC,
                )
            )


def _turn(daemon: Daemon, home: Path, number: int, spent: dict[str, list[float]]) -> list[str]:
    """A turn with each event once; the contexts that were answered."""
    random, vocabulary = Random(number), words()
    asked = " ".join(vocabulary[random.choice(QUERY_WORDS)] for _ in range(12))
    memory = {"file_path": f"{home}/MEMORY.md", "content": f"- {asked}\n"}
    fields: Mapping[str, dict[str, Any]] = {
        "SessionStart": {"source": "startup"},
        "UserPromptSubmit": {"prompt": asked},
        "PreToolUse": {"tool_name": "Write", "tool_input": memory},
        "PostToolUse": {"tool_name": "Read", "tool_input": {}, "tool_response": asked * 50},
        "Stop": {"last_assistant_message": asked},
    }
    contexts = []
    for name in EVENTS:
        common = {"hook_event_name": name, "session_id": f"talk-{number}", "cwd": str(home)}
        start = time.thread_time()
        found = daemon.services.hooks.answer(
            CLIENT, HookTool.CLAUDE_CODE, {**common, **fields[name]}
        )
        spent[name].append((time.thread_time() - start) * 1000)
        output = found.get("hookSpecificOutput", {})
        contexts += filter(None, [output.get("additionalContext")])
    return contexts
