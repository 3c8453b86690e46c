"""Calls about the context files that users have for themselves."""

from collections.abc import Iterator

from understudy.client.calls import at, delete, get, given, post, put
from understudy.client.groups.resource import Resource, every
from understudy.wire.agents import FileSummary, FileVersionDetail, FileVersionView, FileView
from understudy.wire.base import Deleted, Items

_file = FileView.model_validate


class UserFiles(Resource):
    """Copies of users, which count over the files of the agent; each for its user and for admins."""

    def page(self, agent_id: str, user_id: str) -> Items[FileSummary]:
        """The copies in force, without their content."""
        read = Items[FileSummary].model_validate
        return self.transport.send(get(_at(agent_id, user_id), read))

    def get(self, agent_id: str, user_id: str, name: str) -> FileView:
        """One copy."""
        return self.transport.send(get(_at(agent_id, user_id, name), _file))

    def set(self, agent_id: str, user_id: str, name: str, content: str) -> FileView:
        """Write a new version of a copy."""
        return self.transport.send(put(_at(agent_id, user_id, name), _file, {"content": content}))

    def delete(self, agent_id: str, user_id: str, name: str) -> Deleted:
        """Empty a copy, which also hides the agent's own file; its history stays."""
        return self.transport.send(delete(_at(agent_id, user_id, name), Deleted.model_validate))

    def versions_page(
        self,
        agent_id: str,
        user_id: str,
        name: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Items[FileVersionView]:
        """Some versions of a copy, newest first."""
        read = Items[FileVersionView].model_validate
        path = _at(agent_id, user_id, name, "versions")
        return self.transport.send(get(path, read, **given(limit=limit, cursor=cursor)))

    def versions(self, agent_id: str, user_id: str, name: str) -> Iterator[FileVersionView]:
        """All versions of a copy, newest first."""
        return every(lambda cursor: self.versions_page(agent_id, user_id, name, cursor=cursor))

    def version(self, agent_id: str, user_id: str, name: str, version: int) -> FileVersionDetail:
        """One version of a copy, with what it changed of the version before."""
        path = _at(agent_id, user_id, name, "versions", str(version))
        return self.transport.send(get(path, FileVersionDetail.model_validate))

    def restore(self, agent_id: str, user_id: str, name: str, version: int) -> FileView:
        """Bring an earlier version back as a new one."""
        path = _at(agent_id, user_id, name, "restore")
        return self.transport.send(post(path, _file, {"version": version}))


def _at(agent_id: str, user_id: str, *more: str) -> str:
    return at("agents", agent_id, "users", user_id, "files", *more)
