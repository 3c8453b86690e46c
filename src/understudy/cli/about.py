"""`understudy version` and `understudy openapi`: what this is, without asking a daemon."""

import typer

from understudy import __version__
from understudy.cli.options import shared
from understudy.cli.output import print_json


def version(ctx: typer.Context) -> None:
    """Print the version."""
    if shared(ctx).json:
        print_json({"version": __version__})
    else:
        print(__version__)


def openapi() -> None:
    """Print the OpenAPI document of this version; no daemon is needed."""
    import json

    from understudy.api.app import openapi_document

    print(json.dumps(openapi_document(), ensure_ascii=False, indent=2))
