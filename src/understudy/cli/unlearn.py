"""`understudy unlearn`: preview, start, status, and verification of the receipt."""

import json
import time
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from understudy.cli import inputs, screen
from understudy.cli.connection import Commands, DaemonConnection
from understudy.cli.output import ExitCode, note
from understudy.cli.table import Verb, declare

commands = Commands("Unlearn: what came of something; take it out of use, or erase its text.")

POLL_S: Final = 0.1
ENDED: Final = frozenset({"done", "failed"})
MOST_SHOWN: Final = 50
Revoke = Annotated[bool, typer.Option("--revoke", help="Take it out of use; history is kept.")]
Erase = Annotated[bool, typer.Option("--erase", help="Remove its text everywhere, for ever.")]
Reason = Annotated[str | None, typer.Option(help="Why; kept with the unlearning.")]
Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until it is done.")]
Out = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the receipt to this new file.")
]
UnlearnId = Annotated[str, typer.Argument(metavar="UNLEARN", help="The unlearning's id.")]
ReceiptFile = Annotated[Path, typer.Argument(metavar="RECEIPT", help="The file of a receipt.")]
RECORD: Final[screen.Layout] = {
    "unlearn": "unlearn_id",
    "target": lambda view: f"{view.target.kind} {view.target.id}",
    "mode": "mode",
    "status": "status",
    "step": lambda view: None if view.status in ENDED else view.step,
    "problem": "error",
    "by": "actor",
    "begun": "created_at_ms",
    "items": lambda view: view.receipt and screen.summary(view.receipt.counts),
    "tombstones": lambda view: view.receipt and view.receipt.tombstones,
    "texts cut out": lambda view: view.receipt and view.receipt.scrubbed,
    "out of reach": lambda view: view.receipt and list(view.receipt.out_of_reach),
}
COLUMNS: Final[screen.Layout] = {
    "unlearn": "unlearn_id",
    "status": "status",
    "mode": "mode",
    "target": lambda item: f"{item.target.kind} {item.target.id}",
    "by": "actor",
}
# Command, kind of target, argument and help.
NOUNS: Final = (
    ("run", "run", "RUN", "A run, and everything that came of it."),
    ("session", "session", "SESSION", "A session with its runs, and everything that came of them."),
    ("learning", "learning", "LEARNING", "A learning, its candidate and what was made of it."),
    ("candidate", "candidate", "CANDIDATE", "A candidate, and what was published of it."),
    ("skill", "skill", "SKILL", "A skill with all its versions, or one version: `slug@3`."),
    ("asset", "asset", "ASSET", "A file, and the runs that had it as input."),
    (
        "source",
        "source",
        "SOURCE",
        "Every run by a source plugin, or of `user:ID` or `agent:ID`, and what came of them.",
    ),
    ("user-text", "user_text", "TEXT", "Everything that holds a text, word for word."),
)


def _noun(name: str, kind: str, metavar: str, about: str) -> None:
    def unlearn(
        daemon: DaemonConnection,
        target: Annotated[str, typer.Argument(metavar=metavar, help=about)],
        revoke: Revoke = False,
        erase: Erase = False,
        reason: Reason = None,
        wait: Wait = True,
        out: Out = None,
    ) -> object:
        if revoke and erase:
            raise typer.BadParameter("say --revoke or --erase, not both")
        is_version = kind == "skill" and "@" in target
        wanted = {"kind": "skill_version" if is_version else kind, "id": target}
        if not (revoke or erase):
            return _preview(daemon, wanted)
        return _start(daemon, wanted, "erase" if erase else "revoke", reason, wait=wait, out=out)

    unlearn.__doc__ = f"{about} Without --revoke or --erase, only show what that would be."
    commands(name, show=_show)(unlearn)


def _preview(daemon: DaemonConnection, target: dict[str, str]) -> object:
    from understudy.wire.unlearn import TargetBody

    return daemon.client.unlearn.preview(inputs.request(TargetBody, **target))


def _start(
    daemon: DaemonConnection,
    target: dict[str, str],
    mode: str,
    reason: str | None,
    *,
    wait: bool,
    out: Path | None,
) -> object:
    from understudy.wire.unlearn import StartUnlearn

    if out is not None and (out.exists() or not out.parent.is_dir()):
        raise typer.BadParameter(f"--out {out} must name a new file in a folder that exists")
    wanted = inputs.request(StartUnlearn, target=target, mode=mode, reason=reason)
    unlearn = daemon.client.unlearn.start(wanted)
    while wait and unlearn.status not in ENDED:
        time.sleep(POLL_S)
        unlearn = daemon.client.unlearn.get(unlearn.unlearn_id)
    _write_receipt(daemon, out)
    return unlearn


def _write_receipt(daemon: DaemonConnection, out: Path | None) -> None:
    """Write the receipt as the daemon answered it, so that its signature holds."""
    receipt = daemon.answer.get("receipt")
    if out is None:
        return
    if receipt is None:
        note(f"there is no receipt yet, and {out} was not written: see `unlearn show`")
        return
    inputs.write_new(out, (json.dumps(receipt, indent=2) + "\n").encode())
    note(f"the receipt is in {out}")


def _show(view: Any) -> None:
    """A preview as counts and a list, an unlearning as a record."""
    if hasattr(view, "unlearn_id"):
        screen.record(view, RECORD)
        return
    if not view.items:
        note("Nothing holds it.")
        return
    note(f"{screen.summary(view.counts)}; {screen.count(view.later_prompts, 'later prompt')}")
    rows = [(item.resource, item.id, item.relation) for item in view.items[:MOST_SHOWN]]
    screen.table(("what", "id", "how it came about"), rows, empty="")
    if sum(view.counts.values()) > len(rows):
        note(f"{sum(view.counts.values()) - len(rows)} more; --json lists up to 2000")
    note("Nothing was changed: --revoke takes it out of use, --erase removes its text.")


for _each in NOUNS:
    _noun(*_each)


@commands("show", "get", show=_show)
def show(daemon: DaemonConnection, unlearn_id: UnlearnId, out: Out = None) -> object:
    """Show how far an unlearning has come, and its receipt."""
    unlearn = daemon.client.unlearn.get(unlearn_id)
    _write_receipt(daemon, out)
    return unlearn


@commands("verify")
def verify(
    daemon: DaemonConnection,
    receipt: ReceiptFile,
    text: Annotated[
        str | None, typer.Option(help="A text to look for as well; it is not stored.")
    ] = None,
) -> None:
    """Check the stores against a receipt; ends with 1 when something is still there."""
    from understudy.wire.unlearn import ReceiptBody

    given = inputs.json_object(inputs.read_file(receipt), str(receipt)) or {}
    answer = daemon.client.unlearn.verify(inputs.request(ReceiptBody, **given), text)
    rows = [(item.resource, item.id, item.relation) for item in answer.found]
    daemon.show(
        lambda: screen.table(
            ("what", "id", "how"), rows, empty="Nothing of what the receipt names is left."
        )
    )
    if not answer.ok:
        raise typer.Exit(ExitCode.FAILED)


declare(
    commands,
    Verb(names="list", call="unlearn.page", show=COLUMNS, empty="Nothing was unlearned yet."),
)
