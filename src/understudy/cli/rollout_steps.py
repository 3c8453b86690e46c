"""`understudy rollouts promote`, `result`, `advance`, …: what takes a procedure from stage to stage."""

from typing import Annotated, Any, cast

import typer

from understudy.cli import inputs, rollouts
from understudy.cli.connection import connect
from understudy.cli.learning_options import LearningId
from understudy.cli.options import Commands, Key, RunId, TextFile
from understudy.cli.rollouts import KINDS, TARGETS, Expected, OfFingerprint, Reason, SkillName

commands = Commands("Steps of rollouts.")


@commands("promote")
def promote(
    ctx: typer.Context,
    learning_id: LearningId,
    name: SkillName,
    text: Annotated[
        str | None,
        typer.Argument(metavar="[TEXT]", help="What an agent is told to do; `-` reads stdin."),
    ] = None,
    file: TextFile = None,
    instructions: Annotated[
        str | None, typer.Option(help="The text, as an option; `-` reads stdin.")
    ] = None,
    description: Annotated[str | None, typer.Option(help="What it does, in one line.")] = None,
    when_to_use: Annotated[
        str | None, typer.Option("--when-to-use", help="When it is the right one, in one line.")
    ] = None,
    version: Annotated[str | None, typer.Option(help="What you call this version.")] = None,
    allow_tool: Annotated[
        list[str] | None,
        typer.Option("--allow-tool", metavar="TOOL", help="Only these tools; repeatable."),
    ] = None,
    block_tool: Annotated[
        list[str] | None,
        typer.Option("--block-tool", metavar="TOOL", help="Never this tool; repeatable."),
    ] = None,
    provider: Annotated[
        str | None, typer.Option(help="The route that its runs take instead of the usual one.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="The model that its runs use instead of the usual one.")
    ] = None,
    fallback_model: Annotated[
        str | None, typer.Option("--fallback-model", help="The model to try when that one fails.")
    ] = None,
    status: Annotated[str | None, typer.Option(help=f"The stage: {TARGETS}.")] = None,
    key: Key = None,
) -> None:
    """Make a draft from a procedure, or edit the draft of that name.

    An edit starts the rollout over: earlier evidence no longer counts.
    """
    from understudy.client.calls import given
    from understudy.wire.rollout_requests import PromoteSkill

    fields: dict[str, Any] = given(
        description=description,
        when_to_use=when_to_use,
        version=version,
        allowed_tools=allow_tool or None,
        blocked_tools=block_tool or None,
        provider=provider,
        model=model,
        fallback_model=fallback_model,
        status=status,
    )
    if text is not None and instructions is not None:
        raise typer.BadParameter("give a text or --instructions, not both")
    told = inputs.content(instructions if text is None else text, file)
    fields |= {"skill_name": name, "instructions": told}
    with connect(ctx) as daemon:
        wanted = PromoteSkill.model_validate(fields)
        view = daemon.client.rollouts.promote(learning_id, wanted, key=key)
        daemon.show(lambda: rollouts.tell(view))


@commands("advance")
def advance(
    ctx: typer.Context,
    name: SkillName,
    to: Annotated[
        str | None, typer.Option("--to", help=f"Another stage than the next one: {TARGETS}.")
    ] = None,
    key: Key = None,
) -> None:
    """Take a promoted skill to its next stage, with exactly the definition that it has."""
    with connect(ctx) as daemon:
        view = daemon.client.rollouts.advance(name, to=cast("Any", to), key=key)
        daemon.show(lambda: rollouts.tell(view))


@commands("result")
def result(
    ctx: typer.Context,
    name: SkillName,
    run_id: RunId,
    expect: Expected,
    kind: Annotated[str, typer.Option(help=f"What it is to show: {KINDS}.")] = "verification",
    fingerprint: OfFingerprint = None,
    key: Key = None,
) -> None:
    """Count a run that has ended as evidence for a promoted skill."""
    from understudy.client.calls import given
    from understudy.wire.rollout_requests import RolloutResult

    fields = given(
        kind=kind,
        run_id=run_id,
        expected_output_contains=expect,
        definition_fingerprint=fingerprint,
    )
    with connect(ctx) as daemon:
        wanted = RolloutResult.model_validate(fields)
        view = daemon.client.rollouts.result(name, wanted, key=key)
        daemon.show(lambda: rollouts.tell(view))


@commands("hold")
def hold(ctx: typer.Context, name: SkillName, reason: Reason = None, key: Key = None) -> None:
    """Keep a rollout from advancing until it is released."""
    with connect(ctx) as daemon:
        view = daemon.client.rollouts.hold(name, reason=reason, key=key)
        daemon.show(lambda: rollouts.tell(view))


@commands("release")
def release(ctx: typer.Context, name: SkillName, reason: Reason = None, key: Key = None) -> None:
    """Let a rollout that was held advance again."""
    with connect(ctx) as daemon:
        view = daemon.client.rollouts.release(name, reason=reason, key=key)
        daemon.show(lambda: rollouts.tell_released(view))


@commands("revoke")
def revoke(ctx: typer.Context, name: SkillName, reason: Reason = None, key: Key = None) -> None:
    """Take a promoted skill back: no agent is offered it; its record stays."""
    with connect(ctx) as daemon:
        view = daemon.client.rollouts.revoke(name, reason=reason, key=key)
        daemon.show(lambda: rollouts.tell(view))


@commands("rollback")
def rollback(ctx: typer.Context, name: SkillName, reason: Reason = None, key: Key = None) -> None:
    """Put a revoked skill back in force, as it last was."""
    with connect(ctx) as daemon:
        view = daemon.client.rollouts.rollback(name, reason=reason, key=key)
        daemon.show(lambda: rollouts.tell(view))
