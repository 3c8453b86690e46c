"""Calls about what skills need of the daemon's machine."""

from understudy.client.calls import at, get, post
from understudy.client.groups.resource import Resource
from understudy.wire.skill_dependencies import (
    InstalledOneView,
    InstalledView,
    RescanView,
    RuntimesView,
)


class SkillDependencies(Resource):
    """Packages and programs that skills need; for admins."""

    def rescan(self, *, key: str | None = None) -> RescanView:
        """Look again at what every skill misses."""
        return self.transport.send(post(_path("rescan-deps"), RescanView.model_validate, key=key))

    def install(self, *, key: str | None = None) -> InstalledView:
        """Install the packages that skills miss; programs are for a person to install."""
        read = InstalledView.model_validate
        return self.transport.send(post(_path("install-deps"), read, key=key))

    def install_one(self, label: str, *, key: str | None = None) -> InstalledOneView:
        """Install one package, such as `pip:requests`, where skills miss it."""
        read = InstalledOneView.model_validate
        return self.transport.send(post(_path("install-dep"), read, {"dep": label}, key=key))

    def runtimes(self) -> RuntimesView:
        """The programs that skills run with, and whether they are there."""
        return self.transport.send(get(_path("runtimes"), RuntimesView.model_validate))


def _path(*more: str) -> str:
    return at("skills", *more)
