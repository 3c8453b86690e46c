"""Dependencies: found by parsing, named safely, looked up without running anything."""

import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.core.errors import Invalid
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.bundles.manifest import parse
from understudy.skills.dependencies.availability import LocalMachine, missing
from understudy.skills.dependencies.names import Manager, check_dependency
from understudy.skills.dependencies.python_imports import python_imports
from understudy.skills.dependencies.requirements import (
    Requirements,
    find_requirements,
    javascript_imports,
)


def scan(front: str = "", **files: str) -> Requirements:
    manifest = f"---\nname: x\n{front}---\n"
    data = {f"scripts/{path}": text.encode() for path, text in files.items()}
    return find_requirements(
        Bundle({"SKILL.md": manifest.encode(), **data}), parse(manifest).manifest
    )


def test_the_kinds_of_imports_are_told_apart() -> None:
    found = scan(
        **{
            "main.py": (
                '"""\nimport in_docstring\n"""\nimport a, b\nfrom c.d import e\n'
                "# import in_comment\ntext = 'import in_string'\n"
                "try:\n    import x\nexcept ImportError:\n    x = None\n"
                "import helper\nfrom package import thing\nfrom . import sibling\nimport os, json\n"
            ),
            "helper.py": "",
            "package/__init__.py": "",
            "load.js": "const y = require('y'); import z from \"@s/p/sub\"; import fs from 'node:fs';",
            "cut.sh": "#!/usr/bin/env ffmpeg\n",
        }
    )

    assert found == Requirements(
        system=("ffmpeg", "node", "python3"),
        pip=("a", "b", "c"),
        npm=("@s/p", "y"),
        optional=("pip:x",),
    )
    assert found.listed == (
        *("ffmpeg", "node", "python3"),
        *("pip:a", "pip:b", "pip:c", "npm:@s/p", "npm:y"),
    )


PYTHON = {
    "dotted": ("import a.b.c as d", {"a.b.c"}, set()),
    "inside a function": ("def f():\n    import a\n", {"a"}, set()),
    "types only": ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n import a\nelse:\n import b",
                   {"typing", "b"}, set()),
    "types only, dotted": ("import typing\nif typing.TYPE_CHECKING:\n import a", {"typing"}, set()),
    "any error": ("try:\n import a\nexcept:\n pass", set(), {"a"}),
    "several errors": ("try:\n import a\nexcept (OSError, ModuleNotFoundError):\n import b",
                       set(), {"a", "b"}),
    "another error": ("try:\n import a\nexcept ValueError:\n pass", {"a"}, set()),
    "suppressed": ("with contextlib.suppress(ImportError):\n import a", set(), {"a"}),
    "needed elsewhere": ("try:\n import a\nexcept ImportError:\n pass\nimport a", {"a"}, set()),
    "by version": ("import sys\nif sys.version_info < (3, 11):\n import tomli", {"sys"}, {"tomli"}),
    "at last": ("try:\n pass\nexcept ImportError:\n pass\nfinally:\n import a", {"a"}, set()),
    "relative": ("from . import a\nfrom ..b import c\nfrom .d import e", set(), set()),
    "wrong escape": ("import a\nx = '\\d \\N{DASH} \\''", {"a"}, set()),
    "namespace": ("from google.cloud import storage\nfrom google import genai",
                  {"google.cloud.storage", "google.genai"}, set()),
    "wrong syntax": ("'''\nimport no\n'''\nimport a, b as c\nfrom d.e import f\nprint 'x'\n  import g",
                     {"a", "b", "d.e", "g"}, set()),
    "NUL": ("import a\n\0", {"a"}, set()),
    "mark": ("\ufeffimport a\r\nimport b\rimport c", {"a", "b", "c"}, set()),
}  # fmt: skip


@pytest.mark.parametrize(("source", "required", "optional"), PYTHON.values(), ids=PYTHON.keys())
def test_python_is_parsed(source: str, required: set[str], optional: set[str]) -> None:
    found = python_imports(source)

    assert (found.required - {"contextlib"}, found.optional) == (required, optional)


def test_a_script_may_say_itself_what_it_needs() -> None:
    found = scan(
        **{
            "run.py": "#!/usr/bin/env -S uv run --script\n# /// script\n# dependencies = [\n"
            '#   "httpx>=0.27", "rich[all] ; python_version > \'3\'", "--flag", "./x"\n# ]\n# ///\nimport a\n'
        }
    )

    assert found.pip == ("httpx", "rich")
    assert found.system == ("python3", "uv")


JAVASCRIPT = {
    "default": ("import a from 'a'", {"a"}),
    "names": ("import {x as y, default as z} from \"b/deep/er\"", {"b"}),
    "star": ("import * as c from '@s/c/sub'; export * from 'd'", {"@s/c", "d"}),
    "side effect": ("import 'e';import\"f\"", {"e", "f"}),
    "over lines": ("import {\n  x,\n  y, // remark\n} from 'g'", {"g"}),
    "called": ("await import('h'); require.resolve('i'); require(`j`)", {"h", "i", "j"}),
    "export": ("export const a = 1; export {x} from 'k'; const from = 'no'", {"k"}),
    "typescript": ("import type {T} from 'no'; import x = require('l'); import type from 'm'",
                   {"l", "m"}),
    "attributes": ("import data from 'n' with {type: 'json'}", {"n"}),
    "comments": ("// require('no')\n/* import 'no' */ '// '; require('o')", {"o"}),
    "strings": ("const s = \"require('no')\"; const t = `import 'no' ${1}`", set()),
    "patterns": ("x = /require('no')/; y = a / b; require('p'); z = /[/'\"]/.test(q)", {"p"}),
    "others' methods": ("module.require('no'); imports.from('no'); a.import('no')", set()),
    "own files": ("import './a'; require('../b'); import '/c'; import '#d'", set()),
    "built in": ("require('fs'); import 'node:path'; import x from 'fs/promises'", set()),
    "addresses": ("import 'https://x/y.js'; import 'npm:q'; import 'data:text'", set()),
    "odd names": ("require('--flag'); require('a b'); require('$x')", set()),
    "expression": ("require('a' + b)", {"a"}),
    "unfinished": ("import 'a", set()),
}  # fmt: skip


@pytest.mark.parametrize(("source", "packages"), JAVASCRIPT.values(), ids=JAVASCRIPT.keys())
def test_javascript_is_read_word_by_word(source: str, packages: set[str]) -> None:
    if source == "import 'a":
        assert javascript_imports(source) <= {"a"}
    else:
        assert javascript_imports(source) == packages


@pytest.mark.parametrize(
    ("module", "package"),
    [
        ("cv2", "opencv-python"),
        ("PIL.Image", "Pillow"),
        ("yaml", "PyYAML"),
        ("bs4", "beautifulsoup4"),
        ("sklearn.svm", "scikit-learn"),
        ("docx", "python-docx"),
        ("pptx.util", "python-pptx"),
        ("dateutil.parser", "python-dateutil"),
        ("dotenv", "python-dotenv"),
        ("google.protobuf.message", "protobuf"),
        ("google.cloud.storage", "google-cloud-storage"),
        ("azure.identity", "azure-identity"),
        ("requests.adapters", "requests"),
    ],
)
def test_a_module_is_known_by_its_package(module: str, package: str) -> None:
    assert scan(**{"a.py": f"import {module}"}).pip == (package,)


def test_only_two_levels_below_scripts_are_looked_into() -> None:
    files = {"a.py": "import one", "b/a.py": "import two", "b/c/a.py": "import three"}

    assert scan(**files, **{"b/c/d/a.py": "import four"}).pip == ("one", "three", "two")


@pytest.mark.parametrize(
    ("shebang", "programs"),
    [
        ("#!/usr/bin/env python3", ("python3",)),
        ("#! /usr/bin/env -S deno run -A", ("deno",)),
        ("#!/usr/bin/env A=1 ruby -w", ("ruby",)),
        ("#!/bin/sh", ()),
        ("#!/usr/bin/env ../evil", ()),
        ("#!/usr/bin/env -i", ()),
        ("#!/usr/bin/env x;y", ()),
    ],
)
def test_the_first_line_names_a_program(shebang: str, programs: tuple[str, ...]) -> None:
    assert scan(run=shebang + "\n").system == programs


def test_front_matter_says_it_better_than_the_scan() -> None:
    script = {"run.py": "import a, b"}

    assert scan(**script).listed == ("python3", "pip:a", "pip:b")
    assert scan("deps: [pip:c, npm:d, jq]\n", **script).listed == ("jq", "pip:c", "npm:d")
    assert scan("deps: []\n", **script).listed == ()
    assert scan("exclude_deps: [pip:B, python3]\n", **script).listed == ("pip:a",)
    assert scan("requires:\n  bins: [git, '-x']\n").listed == ("git",)


def test_a_script_that_is_too_long_is_named_and_not_read() -> None:
    found = scan(**{"long.py": "import a\n" * 40_000, "short.py": "import b"})

    assert (found.pip, found.skipped) == (("b",), ("scripts/long.py",))


HOSTILE = {
    "minus": "-" * 100_000 + "1",
    "brackets": "(" * 100_000,
    "attributes": "a" + ".b" * 50_000,
    "sums": "a" + "+a" * 50_000,
    "lambdas": "lambda:" * 14_000 + "1",
    "branches": "if a:\n pass\n" + "elif a:\n pass\n" * 6_000,
    "quotes": "'''\"" * 30_000,
    "comments": "/*" * 60_000,
    "patterns": "= /[a" * 24_000,
    "back-slashes": "'\\" * 60_000,
    "templates": "`${" * 40_000,
    "imports": "import " * 17_000,
    "clauses": "import {a," * 12_000,
    "blocks": "# /// script\n" * 9_000,
    "calls": "require(" * 15_000,
}


@pytest.mark.parametrize("source", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_script_takes_no_long_time(source: str) -> None:
    begun = time.process_time()
    python_imports(source)
    javascript_imports(source)

    assert time.process_time() - begun < 4


@settings(max_examples=100)
@given(st.text(alphabet=st.sampled_from("import from a.,(){}'\"`/\\*\n\t#$:-_=\0é"), max_size=60))
def test_no_script_raises_anything(source: str) -> None:
    found = scan(**{"a.py": source, "b.js": source})

    assert all(check_dependency(label) for label in found.listed)


@pytest.mark.parametrize(
    ("label", "manager", "name"),
    [
        ("pip:requests", Manager.PIP, "requests"),
        ("pip:ruamel.yaml", Manager.PIP, "ruamel.yaml"),
        ("npm:@scope/name", Manager.NPM, "@scope/name"),
        ("npm:left-pad", Manager.NPM, "left-pad"),
        ("ffmpeg", Manager.SYSTEM, "ffmpeg"),
        ("system:g++", Manager.SYSTEM, "g++"),
    ],
)
def test_the_name_of_a_dependency_is_taken(label: str, manager: Manager, name: str) -> None:
    found = check_dependency(label)

    assert (found.manager, found.name) == (manager, name)
    assert check_dependency(found.label) == found


@pytest.mark.parametrize(
    "label",
    ["pip:--index-url=http://x", "pip:x; rm -rf /", "npm:../evil", "npm:@a/../b", "pip:-r", "pip:",
     "pip:x==1.0", "pip:x[extra]", "pip:git+https://x", "pip:./x", "npm:x@1.0", "npm:@scope",
     "npm:a/b", "npm:https://x", "-x", "/bin/sh", "a b", "$(x)", "`x`", "a\n", "", "cargo:x",
     "pip:x\n", "pip:" + "x" * 200, "pip:ü", "a..b"],
)  # fmt: skip
def test_what_an_installer_could_take_for_something_else_is_refused(label: str) -> None:
    with pytest.raises(Invalid) as refused:
        check_dependency(label, pointer="/dep")

    assert refused.value.code == "invalid_dependency"
    assert refused.value.errors[0].pointer == "/dep"


def needs(**lists: tuple[str, ...]) -> Requirements:
    return Requirements(**lists)


def test_what_is_installed_is_not_missing(tmp_path: Path) -> None:
    node = tmp_path / "node_modules"
    (node / "@s" / "p").mkdir(parents=True)
    (node / "@s" / "p" / "package.json").write_text("{}")
    site = tmp_path / "site"
    (site / "some_thing-1.0.dist-info").mkdir(parents=True)
    (site / "some_thing-1.0.dist-info" / "METADATA").write_text("Name: some-thing\nVersion: 1.0\n")
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "tool").write_text("#!/bin/sh\n")
    (programs / "tool").chmod(0o755)
    machine = LocalMachine(site_folders=(site,), node_folders=(node,), path=str(programs))

    found = missing(
        needs(
            system=("tool", "no-such-tool"),
            pip=("Some.Thing", "pytest", "yaml", "no-such-package"),
            npm=("@s/p", "no-such-module"),
        ),
        machine,
    )

    assert found == ("no-such-tool", "pip:no-such-package", "npm:no-such-module")


def test_global_packages_of_node_are_found_beside_it(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "node").write_text("")
    (tmp_path / "bin" / "node").chmod(0o755)
    (tmp_path / "lib" / "node_modules" / "y").mkdir(parents=True)
    (tmp_path / "lib" / "node_modules" / "y" / "package.json").write_text("{}")

    assert missing(needs(npm=("y", "z")), LocalMachine(path=str(tmp_path / "bin"))) == ("npm:z",)


def test_looking_runs_nothing_of_the_skill(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    writes = f"open({str(marker)!r}, 'w').close()\n"
    names = ("sitecustomize", "json", "usercustomize", "setup", "nothere")
    for name in names:
        (tmp_path / f"{name}.py").write_text(writes)
    files = {f"{name}.py": writes + "import nothere2\n" for name in names}
    before = list(sys.path)

    found = scan(**files, **{"a.py": "import json, nothere, nothere2"})

    assert missing(found, LocalMachine()) == ("pip:nothere2",)
    assert not marker.exists()
    assert sys.path == before
