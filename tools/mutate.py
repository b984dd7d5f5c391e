"""Change the sources a little, one place at a time, and see whether the tests notice.

    make mutants                                   120 mutants, drawn by seed 1
    .venv/bin/python tools/mutate.py tc/ sweeping/ --count 60
                                                   60 of the files whose path has one of these in it
    .venv/bin/python tools/mutate.py --table       what is known so far; runs nothing
    .venv/bin/python tools/mutate.py --again       those that lived, once more: for new tests

A mutant is killed if a test fails, or takes far longer than it should. Every file of `TESTS` gets
mutants in proportion to its lines, and its tests run in the order given there. All this happens on
a copy in build/mutants; each result goes to log.jsonl there at once, so that Ctrl-C loses nothing
and the next call goes on. A mutant that is shown to change nothing is written down, with the
reason, in equivalent_mutants.toml beside this file. By hand only: it takes an hour or more.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import multiprocessing
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
import tomllib
import venv
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib import import_module
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any, TextIO, cast

from mutations import Mutation, mutations

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "build" / "mutants"
TREE = WORK / "tree"
PYTHON = WORK / "venv" / "bin" / "python"
LOG = WORK / "log.jsonl"
OUTPUT = WORK / "pytest.out"
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.toml")

# What takes longest to import is imported once, and each run of the tests forked from here.
PRELOADED = (
    "pytest",
    "numpy",
    "jax",
    "scipy.optimize",
    "scipy.signal",
    "scipy.interpolate",
    "xarray",
)
LONGEST = 180  # s of processor time, for all tests of one mutant
ENVIRONMENT = os.environ | {
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",  # cmake and ninja
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}

_QUEUES = "pi2_fluid/native/packet/queues"
_LOOP = "pi2_fluid/loop"
_PROOF = "pi2_fluid/design/guarantees"

# The tests of each file, quickest to notice first.
TESTS = {
    f"{_QUEUES}/pie.c": "replay_pie disciplines digests",
    f"{_QUEUES}/pie_update.c": "replay_pie disciplines digests",
    f"{_QUEUES}/rate_estimator.c": "replay_pie disciplines digests",
    f"{_QUEUES}/pi.c": "replay_pi2 disciplines digests",
    f"{_QUEUES}/pi2.c": "replay_pi2 disciplines digests",
    f"{_QUEUES}/coupled.c": "replay_pi2 disciplines digests",
    f"{_QUEUES}/pi_controller.c": "replay_pi2 disciplines digests",
    f"{_QUEUES}/pi2_update.c": "replay_pi2 disciplines digests",
    f"{_QUEUES}/dualpi2.c": "replay_dualpi2 disciplines digests",
    f"{_QUEUES}/dualpi2_update.c": "replay_dualpi2 disciplines digests",
    f"{_QUEUES}/red.c": "replay_red disciplines digests",
    f"{_QUEUES}/codel.c": "replay_codel disciplines digests",
    f"{_QUEUES}/rem.c": "replay_rem disciplines digests",
    f"{_QUEUES}/avq.c": "replay_avq disciplines digests",
    f"{_QUEUES}/taildrop.c": "disciplines packet_engine digests",
    f"{_QUEUES}/lottery.c": "disciplines packet_engine digests",
    f"{_QUEUES}/qdiscs.c": "disciplines packet_engine digests",
    f"{_QUEUES}/queue.c": "disciplines packet_engine digests",
    f"{_LOOP}/analytic.py": "kernel_margins margins",
    f"{_LOOP}/controllers.py": "equations sampled loop dualpi2_loop laws/red",
    f"{_LOOP}/crossovers.py": "loop brute_force dualpi2_loop sampled",
    f"{_LOOP}/delay_system.py": "state_space stability sampled",
    "pi2_fluid/laws/derivatives.py": "equations theorems loop",
    f"{_LOOP}/answers.py": "loop bad_input brute_force dualpi2_loop stability",
    f"{_LOOP}/construction.py": "loop bad_input mixtures",
    f"{_LOOP}/equations.py": "equations",
    f"{_LOOP}/expansion.py": "dualpi2_loop brute_force",
    f"{_LOOP}/explanation.py": "loop dualpi2_loop sampled",
    f"{_LOOP}/limits.py": "loop bad_input margins",
    f"{_LOOP}/linearization.py": "equations loop dctcp",
    f"{_LOOP}/link.py": "equations dualpi2_loop loop",
    f"{_LOOP}/margins.py": "loop brute_force margins",
    f"{_LOOP}/updates.py": "loop sampled brute_force",
    f"{_LOOP}/matrix/bounds.py": "network_loop price_loops",
    f"{_LOOP}/matrix/counting.py": "matrix_margins network_loop",
    f"{_LOOP}/matrix/delays.py": "network_loop price_loops",
    f"{_LOOP}/matrix/eigenloci.py": "network_loop",
    f"{_LOOP}/matrix/margins.py": "matrix_margins network_loop",
    f"{_LOOP}/matrix/network_loop.py": "network_loop",
    f"{_LOOP}/matrix/response.py": "network_loop price_loops",
    f"{_LOOP}/matrix/sampled.py": "network_loop price_loops",
    f"{_LOOP}/matrix/system.py": "network_loop price_loops",
    f"{_LOOP}/pade.py": "loop interop dualpi2_loop",
    f"{_LOOP}/price_criteria.py": "price_criteria",
    f"{_LOOP}/realization.py": "state_space",
    f"{_LOOP}/polynomials.py": "equations loop sampled",
    f"{_LOOP}/response.py": "equations loop sampled",
    f"{_LOOP}/roots.py": "sampled loop brute_force stability",
    f"{_LOOP}/sampled.py": "sampled dualpi2_loop loop",
    f"{_LOOP}/state_space.py": "equations loop dualpi2_loop",
    f"{_LOOP}/sweep.py": "loop margins",
    f"{_LOOP}/tracking.py": "loop sampled brute_force stability",
    f"{_LOOP}/transfer.py": "loop bad_input interop",
    f"{_LOOP}/transient.py": "loop sampled brute_force",
    f"{_LOOP}/zeros.py": "zeros loop brute_force",
    f"{_PROOF}/certificate.py": "guarantee",
    f"{_PROOF}/enclosure.py": "guarantee",
    f"{_PROOF}/guarantee.py": "guarantee",
    f"{_PROOF}/mixtures.py": "guarantee",
    f"{_PROOF}/tolerances.py": "guarantee",
}

# Folders all of whose files have the same tests, files that are yet to come among them.
FOLDERS = {
    f"{_LOOP}/acks": "pencil loop/acks compiled_acks ack_closed_form ack_ends",
    "pi2_fluid/sweeping": "sweep store identity blocks warned interrupts",
    "pi2_fluid/deployment": (
        "counters judging ticks check check_traffic check_assumptions check_paths check_proposals"
        " check_freebsd"
    ),
    "pi2_fluid/tc": (
        "tc proposals dummynet counters tc_lines observing spellings configurations cli_logs"
    ),
}
for _folder, _tests in FOLDERS.items():
    for _file in sorted((ROOT / _folder).rglob("*.py")):
        if _file.name != "__init__.py":
            TESTS[_file.relative_to(ROOT).as_posix()] = _tests


@dataclass(frozen=True)
class Mutant:
    """A mutation where it stands; its draw and its name depend on its own line alone."""

    file: str
    line: int
    kind: str
    before: str
    after: str
    place: int
    """Among the equal lines of its file, from 0."""
    mutation: Mutation

    @property
    def id(self) -> str:
        """A name that edits elsewhere in the file do not change."""
        return _digest(self.file, self.before, self.after, self.place)

    def diff(self) -> str:
        """Return the change as lines with - and +."""
        lines = [f"  - {x}" for x in self.before.split("\n")]
        return "\n".join(lines + [f"  + {x}" for x in self.after.split("\n")])


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:12]


# The draw


def mutants_of(file: str, text: str, seed: int) -> list[list[Mutant]]:
    """Return the mutants of each line that has any, lines and mutants in the order of the draw."""
    lines: dict[int, list[Mutation]] = {}
    for mutation in mutations(file, text):
        lines.setdefault(text.count("\n", 0, mutation.start) + 1, []).append(mutation)
    seen: Counter[str] = Counter()
    found = {}
    for line, ones in sorted(lines.items()):
        own = text.splitlines()[line - 1].strip()
        key = _digest(seed, file, own, seen[own])
        mutants = [_mutant(file, text, line, seen[own], one) for one in ones]
        found[key] = sorted(mutants, key=lambda m: _digest(seed, m.id))
        seen[own] += 1
    return [found[key] for key in sorted(found)]


def _mutant(file: str, text: str, line: int, place: int, mutation: Mutation) -> Mutant:
    start = text.rfind("\n", 0, mutation.start) + 1
    end = text.find("\n", mutation.end)
    mutant = mutation.apply(text)
    after = mutant[start : end + len(mutant) - len(text)]
    return Mutant(
        file, line, mutation.kind, text[start:end].strip(), after.strip(), place, mutation
    )


def shares(sizes: dict[str, int], count: int) -> dict[str, int]:
    """Divide `count` in proportion to the sizes, by largest remainders."""
    exact = {name: count * size / sum(sizes.values()) for name, size in sizes.items()}
    found = {name: int(share) for name, share in exact.items()}
    rest = sorted(exact, key=lambda name: found[name] - exact[name])
    for name in rest[: count - sum(found.values())]:
        found[name] += 1
    return found


# The copy


def prepare() -> None:
    """Make the copy as the checkout is now, with an environment and an extension of its own."""
    names = _output(["git", "ls-files", "-co", "--exclude-standard"]).splitlines()
    wanted = {name for name in names if (ROOT / name).is_file()}
    TREE.mkdir(parents=True, exist_ok=True)
    for old in TREE.rglob("*"):
        name = old.relative_to(TREE).as_posix()
        if old.is_file() and name not in wanted and old.suffix not in (".so", ".pyc"):
            old.unlink()
    for name in wanted:
        _copy(ROOT / name, TREE / name)
    if not PYTHON.exists():
        venv.create(WORK / "venv", symlinks=True)
        site = WORK / "venv" / Path(sysconfig.get_path("purelib")).relative_to(sys.prefix)
        # What is installed here, but for this package, which is the copy's.
        (site / "mutants.pth").write_text(f"{TREE}\n{sysconfig.get_path('purelib')}\n")
    places = {"Python_EXECUTABLE": PYTHON, "CMAKE_LIBRARY_OUTPUT_DIRECTORY": TREE / "pi2_fluid"}
    given = [f"-D{name}={path}" for name, path in places.items()]
    _output(["cmake", "-S", TREE, "-B", WORK / "cmake", "-G", "Ninja", *given])
    _output(["cmake", "--build", WORK / "cmake"])


def _copy(source: Path, target: Path) -> None:
    if not target.exists() or target.read_bytes() != source.read_bytes():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


def _output(command: Sequence[str | Path]) -> str:
    run = subprocess.run(
        command, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    if run.returncode:
        raise SystemExit(f"{command[0]} failed:\n{run.stdout}{run.stderr}")
    return run.stdout


def _write(file: str, text: str) -> None:
    (TREE / file).write_text(text, encoding="utf-8")
    # One written within the same second and of the same length would not be compiled again.
    Path(cache_from_source(str(TREE / file))).unlink(missing_ok=True)


# One mutant


def run_tests(tests: Sequence[str]) -> tuple[str, str]:
    """Return killed, survived or late, and what killed."""
    child = multiprocessing.get_context("fork").Process(target=_run_pytest, args=(tests,))
    child.start()
    try:
        child.join(10 * LONGEST)
    finally:
        if child.is_alive():
            os.killpg(cast("int", child.pid), signal.SIGKILL)
            child.join()
    if child.exitcode in (-signal.SIGKILL, -signal.SIGXCPU):
        return "late", ""
    if child.exitcode == 0:
        return "survived", ""
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", OUTPUT.read_text("utf-8"), re.MULTILINE)
    return "killed", failed[1] if failed else f"exit status {child.exitcode}"


def _run_pytest(tests: Sequence[str]) -> None:
    """Run files of tests, in a process of its own."""
    os.setsid()
    os.chdir(TREE)
    resource.setrlimit(resource.RLIMIT_CPU, (LONGEST, LONGEST + 10))
    output = os.open(OUTPUT, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    import pytest

    options = ["-q", "-x", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-m", "not slow"]
    status = pytest.main([*options, "--hypothesis-seed=1", *tests])
    sys.stdout.flush()
    os._exit(status)


@cache
def require_pass(test: str) -> None:
    """Stop unless a file of tests passes on the copy as it is: else it says nothing of mutants."""
    _output(["cmake", "--build", WORK / "cmake"])  # of what was put back
    result, by = run_tests([test])
    if result != "survived":
        raise SystemExit(f"{test} fails without any mutant: {by}. Mend it first.")


def file_of(name: str, top: Path) -> str:
    """Return the path of the file of tests of a name, which its folder may precede."""
    folder, _, stem = name.rpartition("/")
    (found,) = (top / "tests").rglob(f"{folder or '.'}/test_{stem}.py")
    return found.relative_to(top).as_posix()


def try_mutant(mutant: Mutant) -> tuple[str, str]:
    """Return killed, survived, late or unbuilt, and what killed; leaves the copy as it was."""
    original = (TREE / mutant.file).read_text(encoding="utf-8")
    examples = [mutant.file] if mutant.file.endswith(".py") else []
    tests = [file_of(name, TREE) for name in TESTS[mutant.file].split()]
    try:
        _write(mutant.file, mutant.mutation.apply(original))
        if not _builds(mutant.file):
            return "unbuilt", ""
        result, by = run_tests(examples + tests)
    finally:
        _write(mutant.file, original)
    noticed = by.split("::")[0]
    if noticed in tests:
        require_pass(noticed)
    return result, by


def _builds(file: str) -> bool:
    if file.endswith(".py"):
        try:
            compile((TREE / file).read_text(encoding="utf-8"), file, "exec")
        except SyntaxError:
            return False
        return True
    command = ["cmake", "--build", str(WORK / "cmake")]
    return (
        subprocess.run(
            command, cwd=ROOT, env=ENVIRONMENT, capture_output=True, check=False
        ).returncode
        == 0
    )


# The table


def known_equivalent() -> dict[tuple[str, str, str], str]:
    """Return why those mutants change nothing that are known not to."""
    entries = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8"))["mutant"]
    return {(x["file"], x["before"], x["after"]): x["why"] for x in entries}


def print_table(results: Sequence[tuple[Mutant, str]]) -> None:
    """Print the score of each folder, and those that lived."""
    folders: dict[str, Counter[str]] = {}
    for mutant, result in results:
        for name in (Path(mutant.file).parent.as_posix(), "all"):
            folders.setdefault(name, Counter())[result] += 1
    columns = ("drawn", "killed", "equivalent", "survived")
    print(f"\n{'folder':32}" + "".join(f"{x:>12}" for x in (*columns, "score")))
    for name in sorted(folders, key=lambda x: (x == "all", x)):
        counts = folders[name]
        killed = counts["killed"] + counts["late"]
        drawn = counts.total()
        row = (drawn, killed, counts["equivalent"], counts["survived"])
        score = killed / max(drawn - counts["equivalent"], 1)
        print(f"{name:32}" + "".join(f"{x:12}" for x in row) + f"{score:12.0%}")
    for mutant, result in results:
        if result == "survived":
            print(f"\n{mutant.file}:{mutant.line} ({mutant.kind})\n{mutant.diff()}")


# All of them


def read_log() -> dict[str, str]:
    """Return the last result of each mutant that was run."""
    lines = LOG.read_text(encoding="utf-8").splitlines() if LOG.exists() else []
    return {x["id"]: x["result"] for x in map(json.loads, lines)}


def drawn(known: dict[str, str], files: Sequence[str], args: Any) -> Iterator[Mutant]:
    """Yield the mutants of the draw; one known not to build gives its place to the next."""
    lines = {file: mutants_of(file, (ROOT / file).read_text("utf-8"), args.seed) for file in files}
    share = shares({file: len(found) for file, found in lines.items()}, args.count)
    for file in files:
        left = share[file]
        for ones in lines[file]:
            for mutant in ones:
                if not left:
                    break
                yield mutant
                if known.get(mutant.id) != "unbuilt":
                    left -= 1
                    break


def run(args: Any, log: TextIO) -> list[tuple[Mutant, str]]:
    """Run what has not been run, and return the results of the whole draw."""
    if not args.table:
        for name in PRELOADED:
            import_module(name)
    known, equivalent = read_log(), known_equivalent()
    files = [file for file in TESTS if any(part in file for part in args.files or [""])]
    results = []
    for mutant in drawn(known, files, args):
        result = known.get(mutant.id)
        if (mutant.file, mutant.before, mutant.after) in equivalent:
            result = known[mutant.id] = "equivalent"
        elif not args.table and (result is None or (args.again and result == "survived")):
            start = time.monotonic()
            result, by = try_mutant(mutant)
            known[mutant.id] = result
            entry = {"id": mutant.id, "result": result, "by": by} | asdict(mutant)
            log.write(json.dumps(entry | {"seconds": round(time.monotonic() - start, 1)}) + "\n")
            log.flush()
            print(f"{result:9} {mutant.file}:{mutant.line} {by}\n{mutant.diff()}", flush=True)
        if result not in (None, "unbuilt"):
            results.append((mutant, result))
    return results


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", help="parts of paths; default all")
    parser.add_argument("--count", type=int, default=120, help="over these files (default 120)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--again", action="store_true", help="run those that lived once more")
    parser.add_argument("--table", action="store_true", help="run nothing")
    args = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    with LOG.open("a", encoding="utf-8") as log:
        if not args.table:
            try:
                fcntl.flock(log, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise SystemExit("another one is at work on the same copy: wait for it.") from None
            if Path(sys.prefix) != WORK / "venv":
                prepare()
                os.execve(PYTHON, [str(PYTHON), *sys.argv], ENVIRONMENT)
        try:
            print_table(run(args, log))
        except KeyboardInterrupt:
            raise SystemExit("\nstopped; the next call goes on from here.") from None


if __name__ == "__main__":
    main()
