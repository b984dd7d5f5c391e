"""The floors of the package, its laziness, and the face it shows, checked from outside."""

from __future__ import annotations

import ast
import importlib
import json
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest
from programs import printed_by

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = "pi2_fluid"
ROOT = Path(__file__).resolve().parents[1] / PACKAGE
TOPS = (ROOT, ROOT.parent)

# Low to high. A room is a folder, or a file where one is enough; what is not named here belongs to
# the folder that holds it. Rooms that share a floor never import one another; the ground floor is
# one room. "" is pi2_fluid itself, with the doors that users call: only what lies above may use it.
FLOORS: list[set[str]] = [
    {
        "_core",
        "ascending",
        "errors",
        "units",
        "ops",
        "html",
        "intervals",
        "latex",
        "missing",
        "progress",
        "saving",
        "values",
    },
    {"records"},
    {"laws.kernel"},
    {"laws"},
    {"network"},
    {"tc", "results", "plot"},
    {"engines.engine", "measured"},
    {"loop", "engines.fluid", "engines.packet", "engines.ns3", "engines.linux"},
    {"engines.fluid.lanes"},
    {"engines.fluid.batches", "engines.packet.replays"},
    {"engines"},
    {"comparison.agreement", "comparison.sharing", "comparison.response"},
    {
        "comparison.verification",
        "comparison.queues",
        "comparison.measurement",
        "comparison.diagnosis",
    },
    {"comparison"},
    {"design"},
    {"deployment"},
    {"sweeping"},
    {""},
    {"papers", "referee"},
    {"apps.cli", "apps.explorer"},
    {"apps"},
]
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}

# What neither importing the package nor asking for help may load.
HEAVY = ["control", "jax", "matplotlib", "pandas", "scipy", "xarray"]


def imported_modules(source: str, module: str, *, is_package: bool) -> Iterator[tuple[int, str]]:
    """Yield (line, absolute dotted name) of each import in `source`, wherever it stands."""
    package = module if is_package else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")
            above = parts[: len(parts) - node.level + 1] if node.level else []
            origin = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                yield node.lineno, f"{origin}.{alias.name}"
        elif (
            isinstance(node, ast.Call)
            and ast.unparse(node.func).rpartition(".")[2] in {"import_module", "__import__"}
            and node.args
            and isinstance(node.args[0], ast.Constant)
        ):
            yield node.lineno, str(node.args[0].value)


def room_of(module: str) -> str | None:
    """Return the room a dotted name lies in, "" for the package's face, None for other packages."""
    head, _, rest = module.partition(".")
    if head != PACKAGE:
        return None
    while rest not in FLOOR_OF:
        folder = rest.rpartition(".")[0]
        # A name that is no room is an attribute of the face: `from pi2_fluid import Reno`.
        assert folder or not (ROOT / rest).is_dir(), f"give {rest} a floor in FLOORS"
        rest = folder
    return rest


def wrong_arrows(source: str, module: str, *, is_package: bool = False) -> list[str]:
    """Describe each import in `source` that points upward or sideways."""
    here = room_of(module)
    assert here is not None
    wrong = []
    for line, name in imported_modules(source, module, is_package=is_package):
        there = room_of(name)
        if there is None or there == here:
            continue
        rise = FLOOR_OF[there] - FLOOR_OF[here]
        if rise > 0 or (rise == 0 and FLOOR_OF[here] > 0):
            direction = "up" if rise > 0 else "sideways"
            wrong.append(f"{module}:{line} imports {name}, which points {direction}")
    return wrong


def python_files() -> list[Path]:
    return sorted(ROOT.rglob("*.py"))


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


# --- the floors -----------------------------------------------------------------------------


def test_every_room_has_a_floor() -> None:
    rooms = {room_of(module_name(path)) for path in python_files()}
    assert len(rooms) > 20, "few modules found: does the test look in the right place?"
    assert rooms <= set(FLOOR_OF)
    assert set(FLOOR_OF) - rooms <= {"_core"}, "nobody lives there any more"


@pytest.mark.parametrize("path", python_files(), ids=module_name)
def test_imports_point_down(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    arrows = wrong_arrows(source, module_name(path), is_package=path.name == "__init__.py")
    assert not arrows, "\n".join(arrows)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("pi2_fluid.units", "import pi2_fluid.laws.sender"),
        ("pi2_fluid.records.record", "from pi2_fluid.laws.kernel.units import Told"),
        ("pi2_fluid.laws.aqm", "from pi2_fluid.loop.margins import margins_of"),
        ("pi2_fluid.laws.aqm", "from pi2_fluid import loop"),
        ("pi2_fluid.laws.aqm", "from pi2_fluid import Reno"),
        ("pi2_fluid.laws.aqms.pi", "from ...network import link"),
        ("pi2_fluid.loop.margins", "from pi2_fluid.engines.fluid import engine"),
        ("pi2_fluid.engines.fluid.fluid", "def f():\n    import pi2_fluid.engines.packet"),
        ("pi2_fluid.engines.fluid.fluid", "from pi2_fluid.engines import simulate"),
        ("pi2_fluid.engines.ns3.ns3", "if TYPE_CHECKING:\n    from pi2_fluid.loop import Loop"),
        ("pi2_fluid.tc", "from . import results"),
        ("pi2_fluid.results", "importlib.import_module('pi2_fluid.design.tuning')"),
        ("pi2_fluid.comparison.verification.table", "from pi2_fluid.design.design import Design"),
        ("pi2_fluid.papers.claims", "import pi2_fluid.apps.cli"),
        ("pi2_fluid.design.tuning", "import pi2_fluid as pf"),
    ],
)
def test_a_wrong_arrow_is_seen(module: str, source: str) -> None:
    assert len(wrong_arrows(source, module)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("pi2_fluid.units", "from pi2_fluid.errors import QuantityError"),
        ("pi2_fluid.loop.margins", "from pi2_fluid import _core"),
        ("pi2_fluid.loop.margins", "from .roots import rightmost"),
        ("pi2_fluid.laws.aqms.pi", "from ..aqm import Aqm"),
        ("pi2_fluid.engines.fluid.fluid", "from pi2_fluid.engines.engine import Engine"),
        ("pi2_fluid.design.tuning", "from pi2_fluid.engines.packet import engine"),
        ("pi2_fluid.papers.pi2.fig04", "import pi2_fluid as pf"),
        ("pi2_fluid.apps.cli", "from pi2_fluid.papers import claims"),
        ("pi2_fluid.units", "import re, math\nfrom typing import Any"),
    ],
)
def test_an_arrow_down_is_allowed(module: str, source: str) -> None:
    assert wrong_arrows(source, module) == []


# --- the page that describes them -----------------------------------------------------------


def test_the_page_names_every_room_and_only_files_that_are_there() -> None:
    page = (ROOT.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    words = set(re.findall(r"\w+", page.split("## Where things belong")[1].split("### Three")[0]))
    assert {room.rpartition(".")[2] for room in FLOOR_OF} - {""} <= words
    named = set(re.findall(r"`([a-z0-9_]+/[a-z0-9_/]+(?:\.[a-z]+|/))`", page))
    assert len(named) > 20
    made = {"build/screenshots/", "build/browser/", "build/mutants/"}
    assert [path for path in named - made if not any((top / path).exists() for top in TOPS)] == []


# --- circles --------------------------------------------------------------------------------


def imports_among(sources: dict[str, str]) -> dict[str, set[str]]:
    """Return which of the modules each one imports, whether at once, later, or for types alone."""
    found: dict[str, set[str]] = {}
    for module, source in sources.items():
        is_package = any(other.startswith(f"{module}.") for other in sources)
        names = [name for _, name in imported_modules(source, module, is_package=is_package)]
        parts = {name if name in sources else name.rpartition(".")[0] for name in names}
        found[module] = parts & set(sources) - {module, PACKAGE}
    return found


def circle(sources: dict[str, str]) -> list[str]:
    """Return modules that import one another in a circle; none: []."""
    graph = imports_among(sources)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def sources() -> dict[str, str]:
    return {module_name(path): path.read_text(encoding="utf-8") for path in python_files()}


def test_no_modules_import_one_another() -> None:
    assert circle(sources()) == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("pi2_fluid.loop.state_space", "from pi2_fluid.loop.sampled import alias_sums"),
        ("pi2_fluid.network.checks", "def f():\n    from pi2_fluid.network import scenario"),
        ("pi2_fluid.laws.aqm", "if TYPE_CHECKING:\n    from pi2_fluid.laws.aqms.pie import Pie"),
    ],
)
def test_a_circle_is_seen(module: str, source: str) -> None:
    broken = sources()
    broken[module] += f"\n{source}\n"
    assert module in circle(broken)


# --- what is asked of laws ------------------------------------------------------------------

# Outside these, a class of laws/aqms or laws/senders is made (called, or a method of it that makes
# one), or written in a type. Nothing else: no isinstance, no comparison, no case of it, no table of
# classes, no subclass. Nor is what names a law compared with a word. Who wants to know something of
# a law asks a member of Aqm or Sender, which a law of one's own answers, too.
OF_LAWS = ("laws.", "papers.")
NAMING = {"discipline", "congestion"}
CLASSES_BY_KIND = {"aqm_class", "sender_class", "laws_of_tc"}


def named_laws() -> set[str]:
    """Return the classes of laws, with their modules, such as "pi2_fluid.laws.aqms.pie.Pie"."""
    return {
        f"{module_name(path)}.{node.name}"
        for folder in ("aqms", "senders")
        for path in sorted((ROOT / "laws" / folder).glob("*.py"))
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    }


def parts_of(nodes: list[ast.expr | None]) -> set[ast.AST]:
    return {part for node in nodes if node is not None for part in ast.walk(node)}


def names_a_law(node: ast.expr) -> bool:
    """Return whether it is the name of a law, as `kind_of(law)` or `law.discipline` is."""
    if isinstance(node, ast.Call):
        words = {part.value for part in node.args if isinstance(part, ast.Constant)}
        function = ast.unparse(node.func).rpartition(".")[2]
        return function == "kind_of" or (function == "declares" and bool(words & NAMING))
    return (
        isinstance(node, ast.Attribute)
        and node.attr in NAMING
        and ast.unparse(node.value).rpartition(".")[2] in {"law", "aqm", "sender", "queue"}
    )


def asked_by_class(source: str, laws: set[str]) -> list[int]:
    """Return the lines on which a named law is neither made nor a type, or compared by its name."""
    tree, names = ast.parse(source), {law.rpartition(".")[2] for law in laws}
    imported, faces = set[str](), set[str]()
    types, constructed, lines = list[ast.expr | None](), set[ast.AST](), list[int]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            faces |= {alias.asname or PACKAGE for alias in node.names if alias.name == PACKAGE}
        elif isinstance(node, ast.ImportFrom):
            origins = {f"{node.module}.{alias.name}": alias for alias in node.names}
            imported |= {
                alias.asname or alias.name
                for origin, alias in origins.items()
                if origin in laws or (node.module == PACKAGE and alias.name in names)
            }
        elif isinstance(node, ast.arg | ast.AnnAssign):
            types.append(node.annotation)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            types.append(node.returns)
        elif isinstance(node, ast.Call):
            constructed |= {node.func}
            constructed |= {node.func.value} if isinstance(node.func, ast.Attribute) else set()
            if ast.unparse(node.func) in {"isinstance", "issubclass"}:
                asked = {ast.unparse(part) for part in parts_of([node.args[-1]])}
                lines += [node.lineno] if asked & CLASSES_BY_KIND else []
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            others = parts_of([side for side in sides if not names_a_law(side)])
            words = [part.value for part in others if isinstance(part, ast.Constant)]
            worded = any(isinstance(word, str) for word in words)
            lines += [node.lineno] if worded and any(map(names_a_law, sides)) else []
    innocent = constructed | parts_of(types)
    for node in ast.walk(tree):
        by_face = isinstance(node, ast.Attribute) and ast.unparse(node.value) in faces
        if node not in innocent and (
            (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in imported)
            or (by_face and node.attr in names)
        ):
            lines.append(node.lineno)
    return sorted(lines)


def test_no_room_above_asks_which_law_it_is() -> None:
    laws = named_laws()
    assert len(laws) > 20
    found = {
        module: asked_by_class(source, laws)
        for module, source in sources().items()
        if not module.removeprefix(f"{PACKAGE}.").startswith(OF_LAWS)
    }
    told = [f"{module}:{line}" for module, lines in found.items() for line in lines]
    assert told == [], "ask a member of Aqm or Sender instead"


@pytest.mark.parametrize(
    "question",
    [
        "isinstance(law, Pie)",
        "isinstance(law, (int, Pie))",
        "issubclass(type(law), Pie)",
        "type(law) is Pie",
        "type(law) in (Pie, Pi2)",
        "{Pie: 1}.get(type(law))",
        "law.encode is Pie.encode",
        "require(law, Pie)",
        "KNOWN = (Pie,)",
        "class Mine(Pie): pass",
        "match law:\n    case Pie(): pass",
        "isinstance(law, pf.Pie)",
        "isinstance(law, aqm_class('pie'))",
        "kind_of(law) == 'pie'",
        "kind_of(law) in {'pie', 'pi2'}",
        "'pie' == law.discipline",
        "self.law.discipline in ('pie',)",
        "declares(law, 'congestion') == 'reno'",
    ],
)
def test_a_question_of_which_law_it_is_is_seen(question: str) -> None:
    source = (
        "import pi2_fluid as pf\nfrom pi2_fluid.laws.aqms.pie import Pie\n"
        f"from pi2_fluid.laws.aqms.pi2 import Pi2\n{question}"
    )
    assert asked_by_class(source, named_laws()), "not seen"


def test_to_make_a_law_is_no_question() -> None:
    source = """
from pi2_fluid.laws.aqms.pie import Pie
usual: Pie = Pie()
def make(law: Pie | None = None, *, other: "tuple[Pie, ...]" = ()) -> Pie:
    return Pie.from_somewhere(alpha=1) if law is None else replace(law, discipline=Pie().discipline)
same = kind_of(law) == kind_of(other) or engine.kernel == "6.18" or kind == "pie"
none = declares(law, "congestion") is None or law.discipline is None
"""
    assert asked_by_class(source, named_laws()) == []


# --- what types say -------------------------------------------------------------------------

# Parameters and returns that are annotated with nothing but Any: laws take a number or a tuple of
# them, operators any operand, and what third parties hand over has no types. May only fall.
MOST_ANY = 150


def bare_any(source: str) -> list[int]:
    """Return the lines on which a parameter or a return is annotated with Any alone."""
    lines = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.arg):
            given = node.annotation
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = node.returns
        else:
            continue
        if given is not None and ast.unparse(given).strip("'\"") in {"Any", "typing.Any"}:
            lines.append(given.lineno)
    return lines


@pytest.mark.slow
def test_types_say_something() -> None:
    found = {
        path.relative_to(ROOT): bare_any(path.read_text(encoding="utf-8"))
        for path in [*python_files(), *sorted(ROOT.rglob("*.pyi"))]
    }
    count = sum(map(len, found.values()))
    told = ", ".join(f"{path} {len(lines)}" for path, lines in found.items() if lines)
    assert count <= MOST_ANY, f"{count} say nothing but Any: {told}"


def test_a_bare_any_is_seen() -> None:
    source = "def f(a: Any, *b: 'Any', c: list[Any]) -> typing.Any: ..."
    assert len(bare_any(source)) == 3


# --- what is loaded when --------------------------------------------------------------------

REPORT = f"import json, sys; print(json.dumps([m for m in {HEAVY!r} if m in sys.modules]))"


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert json.loads(printed_by(f"import {PACKAGE}; {REPORT}")) == []


@pytest.mark.slow
def test_help_loads_nothing_heavy() -> None:
    code = f"""
import sys
from {PACKAGE}.apps.cli import main
sys.argv = ["pi2-fluid", "--help"]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print()
{REPORT}
"""
    help_text, _, loaded = printed_by(code).rstrip().rpartition("\n")
    assert "Usage" in help_text
    assert json.loads(loaded) == []


@pytest.mark.slow
@pytest.mark.parametrize("command", ["margins --rtt 100ms --p-prime 0.1", "tune --max-rtt 100ms"])
def test_a_command_loads_nothing_heavy(command: str) -> None:
    code = f"""
import sys
from {PACKAGE}.apps.cli import run
assert run({command.split()!r}) == 0
assert "{PACKAGE}.apps.cli.replays" not in sys.modules
print()
{REPORT}
"""
    assert json.loads(printed_by(code).rstrip().rpartition("\n")[2]) == []


def test_every_command_is_found_in_its_file() -> None:
    folder = ROOT / "apps" / "cli"
    found = {}
    for path in sorted(folder.glob("*.py")):
        room = importlib.import_module(f"{PACKAGE}.apps.cli.{path.stem}")
        found |= {one.name: path.stem for one in getattr(room, "COMMANDS", ())}
    assert found == importlib.import_module(f"{PACKAGE}.apps.cli.shell").ROOMS


# --- the face -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def package() -> ModuleType:
    return importlib.import_module(PACKAGE)


def test_every_exported_name_resolves(package: ModuleType) -> None:
    exports: dict[str, str] = package._EXPORTS
    assert exports
    for name, origin in exports.items():
        value = getattr(package, name)
        assert value is not None
        if isinstance(value, ModuleType):
            assert value.__name__ == f"{origin}.{name}"
        else:
            assert value is getattr(importlib.import_module(origin), name)


def test_all_and_dir_show_the_table(package: ModuleType) -> None:
    assert {n for n in package.__all__ if not n.startswith("_")} == set(package._EXPORTS)
    assert len(package.__all__) == len(set(package.__all__))
    assert set(package.__all__) <= set(dir(package))


def test_the_stub_is_a_list_of_names_and_nothing_else(package: ModuleType) -> None:
    """The face is read from it line by line: one import of one name on each, under its own."""
    lines = (ROOT / "__init__.pyi").read_text(encoding="utf-8").split("\n")
    listed = [f"from {origin} import {name} as {name}" for name, origin in package._EXPORTS.items()]
    assert lines == [*listed, "", "__version__: str", ""]


def test_an_unknown_name_is_an_attribute_error(package: ModuleType) -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = package.no_such_name
