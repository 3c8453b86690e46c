"""The modules that a Python script imports, found by parsing and never by running it."""

import ast
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from understudy.core.text import BYTE_ORDER_MARK

# A syntax tree takes some hundred times the size of the source.
MAX_PARSED_CHARS: Final = 131_072
# Exceptions whose handler makes an import optional.
_FORGIVEN: Final = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})
_ESCAPE: Final = re.compile(r"\\(?:N\{[^}\n]*\}|[^\n])")
_LONG_STRING: Final = re.compile(r"(\"\"\"|''').*?(?:\1|\Z)", re.DOTALL)
_LINE: Final = re.compile(
    r"^[ \t]*(?:import[ \t]+(?P<names>[\w., \t]+)|from[ \t]+(?P<module>\w[\w.]*)[ \t]+import\b)",
    re.MULTILINE,
)
_BLOCK_OPENS: Final = re.compile(r"^# /// script[ \t]*$", re.MULTILINE)
_BLOCK_ENDS: Final = "# ///"
_MAX_BLOCK_LINES: Final = 500
_REQUIREMENT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(slots=True)
class Imports:
    """Dotted module names, and packages that a script names itself."""

    required: set[str] = field(default_factory=set)
    optional: set[str] = field(default_factory=set)
    packages: set[str] = field(default_factory=set)


def python_imports(source: str) -> Imports:
    """The imports of a script; its own list of dependencies (PEP 723) takes precedence."""
    source = source.removeprefix(BYTE_ORDER_MARK).replace("\r\n", "\n").replace("\r", "\n")
    said = _said(source)
    if said is not None:
        return Imports(packages=said)
    tree = _tree(source)
    return _by_lines(source) if tree is None else _by_tree(tree)


def _said(source: str) -> set[str] | None:
    """The packages in the PEP 723 block of a script; None without one."""
    opens = _BLOCK_OPENS.search(source)
    if opens is None:
        return None
    lines = source[opens.end() + 1 :].split("\n", _MAX_BLOCK_LINES)[:_MAX_BLOCK_LINES]
    end = next((at for at, line in enumerate(lines) if line.rstrip() == _BLOCK_ENDS), None)
    if end is None:
        return None
    try:
        named = tomllib.loads("\n".join(line[2:] for line in lines[:end])).get("dependencies", [])
    except (ValueError, RecursionError):
        return None
    texts = [item for item in named if isinstance(item, str)] if isinstance(named, list) else []
    found = (_REQUIREMENT.match(item.strip()) for item in texts)
    return {match[0].rstrip("._-") for match in found if match}


def _tree(source: str) -> ast.Module | None:
    if len(source) > MAX_PARSED_CHARS:
        return None
    try:
        # Escapes are irrelevant here, and an invalid one would make the parser warn.
        return ast.parse(_ESCAPE.sub("__", source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _by_tree(tree: ast.Module) -> Imports:
    found = Imports()
    # Iterative: a script may nest deeper than the recursion limit.
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        node, optional = waiting.pop()
        names = set(_named(node))
        (found.optional if optional else found.required).update(names)
        waiting.extend(_inner(node, optional))
    found.optional -= found.required
    return found


def _named(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        if node.module in NAMESPACES:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        else:
            yield node.module


def _inner(node: ast.AST, optional: bool) -> Iterator[tuple[ast.AST, bool]]:
    """The children of a node, and whether imports in them are optional."""
    if isinstance(node, ast.If) and _mentions(node.test, "TYPE_CHECKING"):
        yield from ((child, optional) for child in node.orelse)
        return
    free = optional or _forgives(node)
    for name, value in ast.iter_fields(node):
        # `finally` runs whether the import failed or not, so its imports stay required.
        within = optional if isinstance(node, ast.Try) and name == "finalbody" else free
        for child in value if isinstance(value, list) else (value,):
            if isinstance(child, ast.AST):
                yield child, within


def _forgives(node: ast.AST) -> bool:
    if isinstance(node, ast.Try):
        return any(_catches(handler.type) for handler in node.handlers)
    if isinstance(node, ast.With | ast.AsyncWith):
        calls = (item.context_expr for item in node.items)
        return any(
            isinstance(call, ast.Call)
            and _mentions(call.func, "suppress")
            and any(_catches(argument) for argument in call.args)
            for call in calls
        )
    # Branches for versions or systems: some are for other machines.
    return isinstance(node, ast.If) and any(
        _mentions(node.test, word) for word in ("version_info", "platform", "system")
    )


def _catches(kind: ast.expr | None) -> bool:
    if kind is None:
        return True
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return any(isinstance(one, ast.Name) and one.id in _FORGIVEN for one in kinds)


def _mentions(node: ast.AST, word: str) -> bool:
    return any(
        (isinstance(inner, ast.Name) and inner.id == word)
        or (isinstance(inner, ast.Attribute) and inner.attr == word)
        for inner in ast.walk(node)
    )


def _by_lines(source: str) -> Imports:
    """The imports of a script that is too long or does not parse: lines that look like one."""
    found = Imports()
    for match in _LINE.finditer(_LONG_STRING.sub("", source)):
        if match["module"]:
            found.required.add(match["module"])
            continue
        for part in match["names"].split(","):
            word = part.split()[:1]
            found.required.update(word)
    found.required = {name for name in found.required if name.replace(".", "_").isidentifier()}
    return found


# Packages by module prefix; the longest matching prefix counts.
PACKAGES: Final[Mapping[str, str]] = {
    "Bio": "biopython",
    "Crypto": "pycryptodome",
    "Cryptodome": "pycryptodomex",
    "MySQLdb": "mysqlclient",
    "OpenSSL": "pyOpenSSL",
    "PIL": "Pillow",
    "PyPDF2": "PyPDF2",
    "Xlib": "python-xlib",
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "cairosvg": "CairoSVG",
    "cv2": "opencv-python",
    "dateutil": "python-dateutil",
    "discord": "discord.py",
    "dns": "dnspython",
    "docx": "python-docx",
    "docx2pdf": "docx2pdf",
    "dotenv": "python-dotenv",
    "faiss": "faiss-cpu",
    "fitz": "PyMuPDF",
    "git": "GitPython",
    "github": "PyGithub",
    "gitlab": "python-gitlab",
    "google.ai": "google-ai-generativelanguage",
    "google.api_core": "google-api-core",
    "google.auth": "google-auth",
    "google.genai": "google-genai",
    "google.generativeai": "google-generativeai",
    "google.oauth2": "google-auth",
    "google.protobuf": "protobuf",
    "google_auth_oauthlib": "google-auth-oauthlib",
    "googleapiclient": "google-api-python-client",
    "grpc": "grpcio",
    "jose": "python-jose",
    "jwt": "PyJWT",
    "kubernetes": "kubernetes",
    "ldap": "python-ldap",
    "magic": "python-magic",
    "mpl_toolkits": "matplotlib",
    "nacl": "PyNaCl",
    "pkg_resources": "setuptools",
    "pptx": "python-pptx",
    "psycopg2": "psycopg2-binary",
    "pydub": "pydub",
    "pypdfium2": "pypdfium2",
    "pythoncom": "pywin32",
    "pywintypes": "pywin32",
    "rest_framework": "djangorestframework",
    "ruamel": "ruamel.yaml",
    "sentence_transformers": "sentence-transformers",
    "serial": "pyserial",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "slack_sdk": "slack-sdk",
    "slugify": "python-slugify",
    "socks": "PySocks",
    "telegram": "python-telegram-bot",
    "tlz": "toolz",
    "usb": "pyusb",
    "websocket": "websocket-client",
    "werkzeug": "Werkzeug",
    "win32api": "pywin32",
    "win32com": "pywin32",
    "xlsxwriter": "XlsxWriter",
    "yaml": "PyYAML",
    "youtube_transcript_api": "youtube-transcript-api",
    "yt_dlp": "yt-dlp",
    "zmq": "pyzmq",
}
# Packages that provide the same module.
ALTERNATIVES: Final[Mapping[str, tuple[str, ...]]] = {
    "faiss-cpu": ("faiss-gpu",),
    "opencv-python": (
        "opencv-python-headless",
        "opencv-contrib-python",
        "opencv-contrib-python-headless",
    ),
    "psycopg2-binary": ("psycopg2",),
    "python-magic": ("python-magic-bin",),
}
# Namespace modules, where each name below comes from another package.
NAMESPACES: Final = frozenset({"google", "google.cloud", "azure"})
_CLOUD: Final = "google.cloud."


def package_of(module: str) -> str:
    """The package of a dotted module."""
    parts = module.split(".")
    for count in range(min(len(parts), 3), 0, -1):
        found = PACKAGES.get(".".join(parts[:count]))
        if found is not None:
            return found
    if module.startswith(_CLOUD):
        return "google-cloud-" + parts[2].replace("_", "-")
    if parts[0] == "azure" and len(parts) > 1:
        return "azure-" + parts[1].replace("_", "-")
    return parts[0]
