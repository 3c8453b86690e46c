"""Calls about skills: what there is, how it is changed, and every version of it."""

import json
from collections.abc import Iterator, Sequence
from typing import TypedDict, Unpack

from understudy.client.calls import Upload, at, delete, get, given, post, put, send_file
from understudy.client.groups.resource import Resource, body, every
from understudy.wire.base import Items
from understudy.wire.skill_requests import (
    AcknowledgedFinding,
    CreateSkill,
    PatchSkill,
    RestoreSkill,
    UpdateSkill,
)
from understudy.wire.skill_usage import SkillUsage, VersionUsage
from understudy.wire.skills import (
    AgentSkill,
    OfferedSkill,
    SkillChanged,
    SkillDeleted,
    SkillDetail,
    SkillDiff,
    SkillFile,
    SkillFileEntry,
    SkillKept,
    SkillPatched,
    SkillToggled,
    SkillVersions,
    SkillVersionView,
    SkillView,
    TrashedSkillView,
)

ZIP = "application/zip"
_kept = SkillKept.model_validate


class WhichSkills(TypedDict, total=False):
    """Which skills a list shows; what is left out does not narrow."""

    query: str | None
    origin: str | None
    visibility: str | None
    status: str | None
    owner_id: str | None
    enabled: bool | None


class Skills(Resource):
    """Skills by id or slug."""

    def page(
        self, *, limit: int | None = None, cursor: str | None = None, **which: Unpack[WhichSkills]
    ) -> Items[SkillView]:
        """Some skills that the caller may know of, by name."""
        read = Items[SkillView].model_validate
        query = given(limit=limit, cursor=cursor, **which)
        return self.transport.send(get(_path(), read, **query))

    def list(self, **which: Unpack[WhichSkills]) -> Iterator[SkillView]:
        """All skills that the caller may know of, by name."""
        return every(lambda cursor: self.page(cursor=cursor, **which))

    def get(self, skill: str) -> SkillDetail:
        """One skill with what it tells an agent to do."""
        return self.transport.send(get(_path(skill), SkillDetail.model_validate))

    def create(self, wanted: CreateSkill, *, key: str | None = None) -> SkillKept:
        """Keep a SKILL.md: a new skill, or a new version of one's own."""
        return self.transport.send(post(_path(), _kept, body(wanted), key=key))

    def upload(
        self,
        file_name: str,
        archive: bytes,
        *,
        slug: str | None = None,
        acknowledged: Sequence[AcknowledgedFinding] = (),
        key: str | None = None,
    ) -> SkillKept:
        """Keep the skill in a ZIP: a new one, or a new version of one's own."""
        fields = given(slug=slug)
        if acknowledged:
            fields["acknowledged"] = json.dumps([body(each) for each in acknowledged])
        upload = Upload(file_name=file_name, content=archive, media_type=ZIP, fields=fields)
        return self.transport.send(send_file(_path("upload"), _kept, upload, key=key))

    def patch(self, skill: str, wanted: PatchSkill, *, key: str | None = None) -> SkillPatched:
        """Replace text in SKILL.md; everything else is as in the version before."""
        path = _path(skill, "patch")
        return self.transport.send(post(path, SkillPatched.model_validate, body(wanted), key=key))

    def update(self, skill: str, changes: UpdateSkill) -> SkillChanged:
        """Change what is said of it, or who may use it; the content stays."""
        return self.transport.send(put(_path(skill), SkillChanged.model_validate, body(changes)))

    def toggle(self, skill: str, *, enabled: bool, key: str | None = None) -> SkillToggled:
        """Offer it to agents, or to none."""
        read, path = SkillToggled.model_validate, _path(skill, "toggle")
        return self.transport.send(post(path, read, {"enabled": enabled}, key=key))

    def delete(self, skill: str) -> SkillDeleted:
        """Move it to the trash and take back every grant."""
        return self.transport.send(delete(_path(skill), SkillDeleted.model_validate))

    def versions_page(
        self, skill: str, *, limit: int | None = None, cursor: str | None = None
    ) -> SkillVersions:
        """Some versions, newest first, and which is current."""
        query = given(limit=limit, cursor=cursor)
        read = SkillVersions.model_validate
        return self.transport.send(get(_path(skill, "versions"), read, **query))

    def versions(self, skill: str) -> Iterator[SkillVersionView]:
        """All versions, newest first."""
        return every(lambda cursor: self.versions_page(skill, cursor=cursor))

    def usage_page(
        self,
        skill: str,
        *,
        days: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> SkillUsage:
        """What came of some versions, newest first, and of all of them together."""
        query = given(days=days, limit=limit, cursor=cursor)
        return self.transport.send(get(_path(skill, "usage"), SkillUsage.model_validate, **query))

    def usage(self, skill: str, *, days: int | None = None) -> Iterator[VersionUsage]:
        """What came of every version, newest first."""
        return every(lambda cursor: self.usage_page(skill, days=days, cursor=cursor))

    def diff(self, skill: str, old: int, new: int) -> SkillDiff:
        """What changed from one version to another."""
        query = {"from": old, "to": new}
        return self.transport.send(get(_path(skill, "diff"), SkillDiff.model_validate, **query))

    def restore(self, skill: str, wanted: RestoreSkill, *, key: str | None = None) -> SkillKept:
        """Bring an earlier version back, as a new one."""
        return self.transport.send(post(_path(skill, "restore"), _kept, body(wanted), key=key))

    def files_page(
        self,
        skill: str,
        *,
        version: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Items[SkillFileEntry]:
        """Some files of a version, by path."""
        read = Items[SkillFileEntry].model_validate
        query = given(version=version, limit=limit, cursor=cursor)
        return self.transport.send(get(_path(skill, "files"), read, **query))

    def files(self, skill: str, *, version: int | None = None) -> Iterator[SkillFileEntry]:
        """All files of a version, by default of the current one."""
        return every(lambda cursor: self.files_page(skill, version=version, cursor=cursor))

    def read_file(self, skill: str, path: str, *, version: int | None = None) -> SkillFile:
        """What is in a file."""
        where = _path(skill, "files", path)
        return self.transport.send(get(where, SkillFile.model_validate, version=version))

    def export(self, skill: str, *, version: int | None = None) -> bytes:
        """A ZIP that any reader of Agent Skills understands."""
        return self.transport.fetch(_path(skill, "export"), **given(version=version))

    def of_session_page(
        self,
        session_id: str,
        *,
        query: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Items[OfferedSkill]:
        """Some of what the agent of a session may use there for the caller: by name, or best first."""
        read = Items[OfferedSkill].model_validate
        params = given(query=query, limit=limit, cursor=cursor)
        return self.transport.send(get(at("sessions", session_id, "skills"), read, **params))

    def of_session(self, session_id: str, *, query: str | None = None) -> Iterator[OfferedSkill]:
        """All that the agent of a session may use there for the caller: by name, or best first."""
        return every(lambda cursor: self.of_session_page(session_id, query=query, cursor=cursor))

    def of_agent_page(
        self, agent_id: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Items[AgentSkill]:
        """What an agent has of some of the skills that the caller may know of."""
        read = Items[AgentSkill].model_validate
        query = given(limit=limit, cursor=cursor)
        return self.transport.send(get(at("agents", agent_id, "skills"), read, **query))

    def of_agent(self, agent_id: str) -> Iterator[AgentSkill]:
        """What an agent has of all skills that the caller may know of."""
        return every(lambda cursor: self.of_agent_page(agent_id, cursor=cursor))


class SkillTrash(Resource):
    """Deleted skills, each as it stood."""

    def page(
        self, *, limit: int | None = None, cursor: str | None = None
    ) -> Items[TrashedSkillView]:
        """Some of them, newest first."""
        read = Items[TrashedSkillView].model_validate
        query = given(limit=limit, cursor=cursor)
        return self.transport.send(get(_path("trash"), read, **query))

    def list(self) -> Iterator[TrashedSkillView]:
        """All of them, newest first."""
        return every(lambda cursor: self.page(cursor=cursor))

    def restore(
        self,
        trash_name: str,
        *,
        acknowledged: Sequence[AcknowledgedFinding] = (),
        key: str | None = None,
    ) -> SkillChanged:
        """Bring a deleted skill back with all its versions; its grants are gone."""
        path = _path("trash", trash_name, "restore")
        fields = {"acknowledged": [body(each) for each in acknowledged]} if acknowledged else None
        return self.transport.send(post(path, SkillChanged.model_validate, fields, key=key))


def _path(*more: str) -> str:
    return at("skills", *more)
