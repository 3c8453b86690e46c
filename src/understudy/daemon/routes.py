"""The configured routes, as submissions see them."""

from understudy.providers.registry import Routes
from understudy.runs.ports import RouteInfo


class ConfiguredRoutes:
    """Answers about routes from the settings and the providers' readiness."""

    def __init__(self, providers: Routes) -> None:
        self._providers = providers

    def find(self, route_id: str) -> RouteInfo | None:
        """One route, or None."""
        return next((info for info in self.all() if info.route_id == route_id), None)

    def all(self) -> tuple[RouteInfo, ...]:
        """Every route, in the order of the settings."""
        return tuple(
            RouteInfo(
                route_id=view.route_id,
                provider=view.provider,
                model=view.model,
                base_url=view.base_url,
                context_window=view.context_window,
                ready=view.ready,
                reason=view.reason or None,
                accepts=view.accepts,
            )
            for view in self._providers.describe()
        )
