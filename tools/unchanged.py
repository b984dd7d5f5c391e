"""Say beneath which tests nothing has changed.

    python tools/unchanged.py [NAME]
    python tools/unchanged.py --store FILE
    python tools/unchanged.py --drop FILE FAILED [NAME ...]

A file of tests answers as it did while it, all that it imports and all files that these name are as
they were. What a file imports is read from its text, wherever in it an import stands. A name of the
face (`pf.tune`) is the module that the stub has it from; `_core` is all compiled sources; a name
that is made when the program runs is any module of the folder. A file is named by its path, or lies
beside a module that is imported. tests/test_unchanged.py holds all this against what tests do.

A digest of these files is kept for each file of tests in tests/passed.json, with the versions of
what was installed: where another version of anything is, all tests are run. `pytest --changed`
leaves out the files whose digest is the one that is kept, but for one in ten, which are drawn anew
with every change.

Without arguments it lists what has not changed. NAME, say pi2_fluid/native, exits with 0 where that
has not changed, and with 1 where it has.

`--store` writes the digests of this tree to a file, before all tests are run in it. Where some of
them fail, `pytest --failed FAILED` says in a file beneath which names, and `--drop` takes these
out, and those given by hand: what is left is what passed with these digests.
"""

from __future__ import annotations

import ast
import hashlib
import json
import platform
import re
import sys
import textwrap
from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property, reduce
from importlib.metadata import PackageNotFoundError, version
from operator import or_
from pathlib import Path
from typing import Any, Final

from requirements import requirements

from pi2_fluid.saving import save_text

ROOT: Final = Path(__file__).resolve().parents[1]
KEPT: Final = "tests/passed.json"
PACKAGE: Final = "pi2_fluid"
#: Where modules without a package lie, as pyproject.toml tells pytest.
SHELVES: Final = ("tests/shared", "tools", "bench")
#: What every test depends on.
BENEATH_ALL: Final = ("pyproject.toml", "tests/conftest.py", "tests/data")
#: Pages whose code tests run one by one, and which tests these are.
FOLLOWED: Final = {
    "notebooks/": "tests/test_notebooks.py",
    "README.md": "tests/test_pages.py",
    "docs/index.md": "tests/test_pages.py",
    "docs/tutorials/": "tests/test_pages.py",
    "docs/howto/": "tests/test_pages.py",
}
#: The compiled extension.
COMPILED: Final = ("CMakeLists.txt", f"{PACKAGE}/native")
LEFT_OUT: Final = {"__pycache__", "build", "dist", "site", "gallery", "validation"}
#: One in so many files whose tests would answer as before is run all the same.
ONE_IN: Final = 10


class Tree:
    """The files of a repository, and which of them each depends on."""

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root
        self.files = {
            str(path.relative_to(root))
            for top in root.iterdir()
            if top.name not in LEFT_OUT and (not top.name.startswith(".") or top.name == ".github")
            for path in ([top] if top.is_file() else top.rglob("*"))
            if path.is_file() and not LEFT_OUT & set(path.relative_to(root).parts)
        } - {KEPT}
        self.folders = {str(above) for file in self.files for above in Path(file).parents} - {"."}
        self._sorted = sorted(self.files)
        self._digests: dict[str, str] = {}

    def digest(self, test: str) -> str:
        """Return what identifies all that a file of tests, or a page in `FOLLOWED`, depends on."""
        lines = []
        for file in sorted(self.beneath(test)):
            if file not in self._digests:
                content = (self.root / file).read_bytes()
                self._digests[file] = hashlib.sha256(content).hexdigest()
            lines.append(f"{file} {self._digests[file]}")
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]

    def beneath(self, test: str) -> set[str]:
        """Return what a file of tests depends on: itself, what it names, what that names."""
        if Path(test).parent == Path("tests") and test not in FOLLOWED.values():
            return set(self.files)  # it asks all rooms
        asked = 0
        for file in self.below(test, *BENEATH_ALL):
            asked |= self._beneath[file]
        return {file for at, file in enumerate(self._sorted) if asked >> at & 1}

    @cached_property
    def _beneath(self) -> dict[str, int]:
        """Return all that each file depends on, as bits in the order of `_sorted`."""
        bits = {file: 1 << at for at, file in enumerate(self._sorted)}
        below = {file: [*self.needed(file), file] for file in self._sorted}
        while True:
            longer = {file: reduce(or_, (bits[x] for x in below[file])) for file in below}
            if longer == bits:
                return bits
            bits = longer

    def needed(self, file: str) -> set[str]:
        """Return the files that one names."""
        found: set[str] = set()
        if file.endswith(".py"):
            found = self._named(self._text(file), file)
            folder = str(Path(file).parent)
            if folder.startswith(f"{PACKAGE}/"):
                found |= {f for f in self.below(folder) if not f.endswith(".py")}
        elif kind := next((k for k in FOLLOWED if file.startswith(k)), None):
            found = {FOLLOWED[kind]}.union(*(self._named(c, file) for c in self._code(file)))
        return found

    def below(self, *names: str) -> list[str]:
        """Return the files that are named, or lie in a folder that is."""
        found = [name for name in names if name in self.files]
        for name in names:
            start = bisect_left(self._sorted, f"{name}/")
            found += self._sorted[start : bisect_left(self._sorted, f"{name}0")]  # 0 follows /
        return found

    @cached_property
    def face(self) -> dict[str, list[str]]:
        """Return where in the package the stub has each name of the face from."""
        words = (line.split() for line in self._text(f"{PACKAGE}/__init__.pyi").splitlines())
        return {
            line[3]: [*line[1].split(".")[1:], line[3]] for line in words if line[:1] == ["from"]
        }

    def module(self, dotted: str) -> set[str]:
        """Return the files of the module that a dotted name means or lies in."""
        first, *rest = dotted.split(".")
        if first != PACKAGE:
            return {f"{shelf}/{first}.py" for shelf in SHELVES} & self.files
        if rest[:1] == ["_core"]:
            return set(self.below(*COMPILED))
        places = [rest, self.face[rest[0]]] if rest and rest[0] in self.face else [rest]
        found = {
            "/".join([PACKAGE, *place[:count]]) + ending
            for place in places
            for count in range(1, len(place) + 1)
            for ending in (".py", "/__init__.py")
        }
        always = {f"{PACKAGE}/__init__.py"}
        return (found & self.files or set(self.below(PACKAGE))) | (always & self.files)

    def _text(self, file: str) -> str:
        return (self.root / file).read_text(encoding="utf-8")

    def _code(self, page: str) -> Iterator[str]:
        """Yield the code of a notebook, or of a page's blocks."""
        text = self._text(page)
        if page.endswith(".ipynb"):
            cells = json.loads(text)["cells"]
            yield "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
        else:
            yield from re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
            yield "\n".join(map(repr, re.findall(r"^\$ (pi2-fluid .*)$", text, re.MULTILINE)))

    def _named(self, source: str, file: str) -> set[str]:
        """Return the files that a Python text imports or names."""
        nodes = list(ast.walk(ast.parse(source)))
        files: set[str] = set()
        faces = set()  # what the package itself is called here
        inside = file.startswith(f"{PACKAGE}/")
        here = file == str(Path(__file__).relative_to(ROOT))  # what it names, it does not need
        prose = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        for node in nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name == PACKAGE:
                        faces.add(alias.asname or PACKAGE)
                    else:
                        files |= self.module(alias.name)
                        if alias.name.startswith(f"{PACKAGE}.") and not alias.asname:
                            faces.add(PACKAGE)
            elif isinstance(node, ast.ImportFrom):
                parts = Path(file).parent.parts if node.level else ()
                parts = parts[: len(parts) - node.level + 1]
                origin = ".".join([*parts, *([node.module] if node.module else [])])
                for alias in node.names:
                    files |= self.module(f"{origin}.{alias.name}")
            elif isinstance(node, ast.Call) and _called(node) == "import_module":
                told = node.args[0]
                if isinstance(told, ast.Constant):
                    files |= self.module(str(told.value))
                elif inside and file != f"{PACKAGE}/__init__.py":
                    files |= set(self.below(str(Path(file).parent)))
            elif isinstance(node, ast.Constant) and not (inside or id(node) in prose or here):
                files |= self._said(node.value, file) if isinstance(node.value, str) else set()
        if faces:
            files |= self._from_face(nodes, faces)
        return files

    def _from_face(self, nodes: list[Any], faces: set[str]) -> set[str]:
        """Return the files behind names like `pf.tune`, and all behind a `pf` that is handed on."""
        files: set[str] = set()
        asked = set()
        for node in nodes:
            inner = node.value if isinstance(node, ast.Attribute) else None
            if isinstance(inner, ast.Name) and inner.id in faces:
                asked.add(id(inner))
                files |= self.module(f"{PACKAGE}.{node.attr}")
            elif isinstance(inner, ast.Attribute) and getattr(inner.value, "id", None) in faces:
                files |= self.module(f"{PACKAGE}.{inner.attr}.{node.attr}")  # pf.loop.margins
        for node in nodes:
            if isinstance(node, ast.Name) and node.id in faces and id(node) not in asked:
                files |= set(self.below(PACKAGE))
        return files

    def _said(self, text: str, file: str) -> set[str]:
        """Return the files that a text in a program means: a path, code, or a command."""
        path = text.split("/*", maxsplit=1)[0]
        if path in self.files or path in self.folders - {"tests"}:
            return set(self.below(path))
        if "pi2-fluid" in text:
            return set(self.below(f"{PACKAGE}/apps/cli"))
        if re.search(rf"\b(import|from) {PACKAGE}\b", text):
            try:
                return self._named(textwrap.dedent(text), file)
            except SyntaxError:
                return set(self.below(PACKAGE))
        dotted = re.findall(rf"\b{PACKAGE}\.[a-z]\w*(?:\.\w+)*", text)
        return set().union(*map(self.module, dotted))


def _called(node: ast.Call) -> str:
    """Return the last name of what is called."""
    return str(getattr(node.func, "attr", getattr(node.func, "id", "")))


def surroundings() -> dict[str, str]:
    """Return the versions of Python and of what is installed beside the package."""
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for line in requirements("test"):
        name = re.split(r"[^\w.-]", line)[0]
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "none"
    return found


def kept_digests() -> dict[str, str]:
    """Return the digests of the last run of all tests, none where other versions are installed."""
    if not (ROOT / KEPT).is_file():
        return {}
    kept = json.loads((ROOT / KEPT).read_text(encoding="utf-8"))
    digests: dict[str, str] = kept["digests"] if kept["with"] == surroundings() else {}
    return digests


def names(tree: Tree) -> list[str]:
    """Return of what digests are kept: files with tests, followed pages, compiled sources."""
    tests = [f for f in tree.files if re.fullmatch(r"tests/.*/test_\w+\.py", f)]
    doctested = [f for f in tree.below(PACKAGE) if f.endswith(".py")]
    followed = [f for f in tree.files if any(f.startswith(kind) for kind in FOLLOWED)]
    return sorted([*tests, *doctested, *followed, COMPILED[1]])


def unchanged(tree: Tree | None = None) -> set[str]:
    """Return the names of what has not changed since all tests were run, but for one in ten."""
    tree = tree or Tree()
    kept = kept_digests()
    same = {name for name in names(tree) if kept.get(name) == tree.digest(name)} if kept else set()
    drawn = "".join(tree.digest(name) for name in sorted(set(names(tree)) - same)) if kept else ""
    return {n for n in same if hashlib.sha256((drawn + n).encode()).digest()[0] % ONE_IN}


def store(file: Path, tree: Tree) -> None:
    """Write the digests of all that tests are kept of."""
    kept = {"with": surroundings(), "digests": {n: tree.digest(n) for n in names(tree)}}
    save_text(file, json.dumps(kept, indent=1) + "\n")


def drop(file: Path, failed: set[str]) -> None:
    """Take what failed out of a file of digests; of a file of tests that follows pages, all."""
    kept = json.loads(file.read_text(encoding="utf-8"))
    followers = failed & set(FOLLOWED.values())
    pages = tuple(page for page, tests in FOLLOWED.items() if tests in followers)
    kept["digests"] = {
        name: digest
        for name, digest in kept["digests"].items()
        if name not in failed and not name.startswith(pages)
    }
    save_text(file, json.dumps(kept, indent=1) + "\n")


def main(arguments: list[str]) -> int:
    """Write digests, take some out, say whether one thing has changed, or list what has not."""
    match arguments:
        case ["--store", file]:
            store(Path(file), Tree())
        case ["--drop", file, failed, *others]:
            drop(Path(file), {*Path(failed).read_text(encoding="utf-8").split(), *others})
        case [name]:
            return int(kept_digests().get(name) != Tree().digest(name))
        case _:
            print("\n".join(sorted(unchanged())))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
