"""What skills need of the machine; all of it is for admins."""

from fastapi import APIRouter

from understudy.api.gate import GatedRoute
from understudy.api.operations import admin
from understudy.api.services import Caller, Services
from understudy.api.views.skill_dependencies import (
    installed_one_view,
    installed_view,
    rescan_view,
    runtimes_view,
)
from understudy.skills.authority import Author
from understudy.wire.skill_dependencies import (
    InstalledOneView,
    InstalledView,
    RescanView,
    RuntimesView,
)
from understudy.wire.skill_requests import InstallDependency

router = APIRouter(tags=["skills"], route_class=GatedRoute)


@router.post("/v1/skills/rescan-deps", operation_id="skills.rescan")
@admin()
def rescan(services: Services, caller: Caller) -> RescanView:
    """Look again at what every skill in use needs; archive those that lack something."""
    return rescan_view(services.skills.dependencies.rescan(Author(principal=caller)))


@router.post("/v1/skills/install-deps", operation_id="skills.install")
@admin()
def install(services: Services, caller: Caller) -> InstalledView:
    """Install the packages that skills lack, each into the environment of its skill."""
    return installed_view(services.skills.dependencies.install_missing(Author(principal=caller)))


@router.post("/v1/skills/install-dep", operation_id="skills.install_one")
@admin(action="skills.install", body_id="dep")
def install_one(body: InstallDependency, services: Services, caller: Caller) -> InstalledOneView:
    """Install one package for every skill that needs it."""
    author = Author(principal=caller)
    return installed_one_view(services.skills.dependencies.install_one(author, body.dep))


@router.get("/v1/skills/runtimes", operation_id="skills.runtimes")
@admin()
def runtimes(services: Services) -> RuntimesView:
    """What there is on the daemon's machine to run scripts with."""
    return runtimes_view(services.skills.dependencies.runtimes())
