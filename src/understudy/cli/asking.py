"""Asking before something is done to many things at once."""

import sys

import typer


def require_somebody(*, as_json: bool) -> None:
    """Go on only where a person can be asked."""
    if as_json or not sys.stdin.isatty():
        raise typer.BadParameter("nobody can be asked here: say --yes, or look with --dry-run")


def confirm(question: str) -> None:
    """Go on only if a person says so."""
    typer.confirm(question, abort=True, err=True)
