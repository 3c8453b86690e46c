"""The server of the MCP library over our tools and resources.

Loads that library, which takes a while; import this module only when a client calls.
"""

from typing import Any, Final
from urllib.parse import quote, unquote, urlsplit

from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    BlobResourceContents,
    CallToolRequestParams,
    CallToolResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
    Tool,
    ToolAnnotations,
)
from pydantic import ValidationError

from understudy import __version__
from understudy.api.in_process import OperationRefused
from understudy.core.mistakes import words_of
from understudy.core.pointer import pointer
from understudy.mcp.tools import (
    INSTRUCTIONS,
    MANIFEST,
    NAME,
    TOOLS,
    Calls,
    NoSuchSkill,
    SearchInput,
    SkillFileInput,
    SkillsInput,
    list_skills,
    read_skill,
    search_memory,
    text_of,
)

LEARNING: Final = "learning"
SKILL: Final = "skill"
MOST_LEARNINGS: Final = 50
TEXT: Final = "text/plain"


class McpHandlers:
    """The handlers of one caller's requests."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def built(self) -> "Server[Any]":
        """The server for the library to run."""
        return Server(
            NAME,
            version=__version__,
            instructions=INSTRUCTIONS,
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            on_list_resources=self.list_resources,
            on_list_resource_templates=self.list_templates,
            on_read_resource=self.read_resource,
        )

    async def list_tools(self, *_: object) -> ListToolsResult:
        """Every tool; a call of one that the caller's role does not permit is refused."""
        return ListToolsResult(
            tools=[
                Tool(
                    name=name,
                    description=row.arguments.__doc__,
                    input_schema=row.arguments.model_json_schema(),
                    annotations=ToolAnnotations(
                        read_only_hint=row.is_reading, destructive_hint=False
                    ),
                )
                for name, row in TOOLS.items()
            ]
        )

    async def call_tool(self, _: object, params: CallToolRequestParams) -> CallToolResult:
        """Call a tool; what is wrong with a call is its result, for the model to read."""
        row = TOOLS.get(params.name)
        if row is None:
            return _failed(f"no tool '{params.name[:100]}'; there are {', '.join(TOOLS)}")
        try:
            given = row.arguments.model_validate(params.arguments or {})
            answer = await row.act(self._calls, given)
        except ValidationError as error:
            return _failed("; ".join(_mistake(each) for each in error.errors()[:10]))
        except OperationRefused as error:
            return _failed(_refusal(error))
        except NoSuchSkill as error:
            return _failed(f"no skill '{error}' is on offer; `skills_list` has their names")
        return CallToolResult(
            content=[TextContent(text=text_of(answer))], structured_content=answer
        )

    async def list_resources(self, *_: object) -> ListResourcesResult:
        """The newest reviewed learnings, and the instructions of every skill on offer."""
        found = await self._told(search_memory(self._calls, SearchInput(limit=MOST_LEARNINGS)))
        skills = await self._told(list_skills(self._calls, SkillsInput()))
        learnings = [
            Resource(uri=f"{LEARNING}://{it['source_id']}", name=it["title"], mime_type=TEXT)
            for it in found["results"]
            if it["kind"] == LEARNING
        ]
        instructions = [
            Resource(
                uri=f"{SKILL}://{quote(it['slug'])}/{MANIFEST}",
                name=it["name"],
                description=it["description"],
                mime_type="text/markdown",
            )
            for it in skills["items"]
        ]
        return ListResourcesResult(resources=[*learnings, *instructions])

    async def list_templates(self, *_: object) -> ListResourceTemplatesResult:
        """How the addresses of resources are made."""
        return ListResourceTemplatesResult(
            resource_templates=[
                ResourceTemplate(
                    uri_template=f"{LEARNING}://{{learning_id}}", name="a reviewed learning"
                ),
                ResourceTemplate(
                    uri_template=f"{SKILL}://{{name}}/{{+path}}", name="a skill's file"
                ),
            ]
        )

    async def read_resource(
        self, _: object, params: ReadResourceRequestParams
    ) -> ReadResourceResult:
        """The text of a learning that was reviewed, or a file of a skill on offer."""
        try:
            parts = urlsplit(params.uri)
            name, path = unquote(parts.netloc), unquote(parts.path).removeprefix("/")
        except ValueError:
            raise _unknown(params.uri) from None
        if parts.scheme == LEARNING and name and not path:
            found = await self._told(
                self._calls("learnings.get", learning_id=name, reviewed="true")
            )
            return _contents(
                TextResourceContents(uri=params.uri, mime_type=TEXT, text=found["content"])
            )
        if parts.scheme != SKILL or not name:
            raise _unknown(params.uri)
        asked = SkillFileInput(name=name[:500], path=(path or MANIFEST)[:2_000])
        file = await self._told(read_skill(self._calls, asked))
        if file["encoding"] == "base64":
            return _contents(BlobResourceContents(uri=params.uri, blob=file["content"]))
        return _contents(TextResourceContents(uri=params.uri, mime_type=TEXT, text=file["content"]))

    async def _told(self, asked: Any) -> Any:
        """The answer of an operation; a refusal as an error of the protocol."""
        try:
            return await asked
        except OperationRefused as error:
            raise MCPError(INVALID_PARAMS, _refusal(error)) from None
        except NoSuchSkill as error:
            raise MCPError(INVALID_PARAMS, f"no skill '{error}' is on offer") from None


def _contents(one: TextResourceContents | BlobResourceContents) -> ReadResourceResult:
    return ReadResourceResult(contents=[one])


def _unknown(uri: str) -> MCPError:
    return MCPError(
        INVALID_PARAMS,
        f"no resource '{uri[:200]}'; addresses are learning://ID and skill://NAME/PATH",
    )


def _failed(words: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=words)], is_error=True)


def _mistake(found: Any) -> str:
    return f"{pointer(found['loc'])} {words_of(found)}"


def _refusal(error: OperationRefused) -> str:
    """What a problem document says, with the fields that it names."""
    problem = error.problem
    fields = [f"{it['pointer']} {it['detail']}" for it in problem.get("errors", ())]
    said = "; ".join([str(problem.get("detail", "it failed")), *fields])
    return f"{said} ({problem.get('code', error.status)})"
