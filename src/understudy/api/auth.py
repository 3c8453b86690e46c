"""Who is calling, and whether a browser was tricked into calling for them."""

from starlette.requests import Request

from understudy.access.bearer import ACT_FOR, bearer_token
from understudy.access.browsers import refuse_foreign_host, refuse_other_sites
from understudy.api.operations import SAFE_METHODS
from understudy.api.services import Services
from understudy.core.principal import Principal


def identify(request: Request, services: Services) -> Principal:
    """The caller, by token; without one only the machine's own user, never a web page."""
    token = bearer_token(request.headers.get("authorization"))
    if token is None and services.ground.settings.is_loopback:
        _refuse_web_pages(request)
    return services.tokens.authenticate(token, act_for=request.headers.get(ACT_FOR))


def _refuse_web_pages(request: Request) -> None:
    """Refuse what a page of another site could make a browser send; it cannot read an answer."""
    refuse_foreign_host(request.headers)
    if request.method not in SAFE_METHODS:
        refuse_other_sites(request.headers)
