"""The child process of the engine Ns3: builds what it is told of in ns-3, and runs each seed.

    python -P child.py < REQUEST

It imports neither this package nor ns-3's own Python face, which needs many seconds: cppyy compiles
`row.hpp` against the wheel's headers and libraries. Each seed runs in a process of its own,
forked when all is compiled, since what ns-3 has simulated once stays in its global state.

The request is JSON, see `request.py`; answers are lines of JSON: ``{"seed": 1, "time": 0.5}`` now
and then; ``{"seed": 1, "done": true}`` when the counts of a seed lie in its file; ``{"seed": 1,
"ended": -11}`` if its process ended otherwise, by a signal or with an exit status.
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import importlib
import importlib.util
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any, Final

_PARENT_DEATH: Final = 1  # PR_SET_PDEATHSIG
_FATAL: Final = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)
_LIBRARIES: Final = ("core", "network", "internet", "point-to-point", "traffic-control")
_LISTS: Final = {
    "bins": "d",
    "bands": "d",
    "legs": "d",
    "classes": "d",
    "totals": "d",
    "ends": "d",
    "delays": "I",
    "segments": "I",
}


def main() -> None:
    """Run what standard input says."""
    _die_with_parent()
    asked = json.load(sys.stdin)
    pi2 = _compile(asked["sources"])
    waiting: list[int] = list(asked["seeds"])
    running: dict[int, int] = {}
    while waiting or running:
        while waiting and len(running) < asked["workers"]:
            seed = waiting.pop(0)
            process = os.fork()
            if process == 0:
                _simulate(pi2, asked, seed)
            running[process] = seed
        process, status = os.wait()
        code, seed = os.waitstatus_to_exitcode(status), running.pop(process)
        _say({"seed": seed, "ended": code} if code else {"seed": seed, "done": True})


def _die_with_parent() -> None:
    """Be killed when the process that started this one ends, however it does (Linux)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PARENT_DEATH, signal.SIGKILL)


def _say(words: dict[str, Any]) -> None:
    os.write(1, (json.dumps(words) + "\n").encode())


def _compile(sources: list[str]) -> Any:
    """Return the namespace of `row.hpp`, beside which further sources are compiled."""
    found = importlib.util.find_spec("ns3")
    places = list(found.submodule_search_locations or ()) if found else []
    root = Path(places[0])
    cppyy = importlib.import_module("cppyy")
    for number in _FATAL:  # cppyy would have a debugger print the stack, and go on
        signal.signal(number, signal.SIG_DFL)
    cppyy.add_include_path(str(root / "include"))
    for name in _LIBRARIES:
        (library,) = root.glob(f"lib*/libns3.[0-9]*-{name}.so")
        cppyy.load_library(str(library))
    for source in (Path(__file__).with_name("row.hpp"), *map(Path, sources)):
        cppyy.cppdef(source.read_text(encoding="utf-8"))
    return cppyy.gbl.pi2


def _simulate(pi2: Any, asked: dict[str, Any], seed: int) -> None:
    """Run one seed, write its counts to its file, and end this process."""
    code = 1
    _die_with_parent()
    try:
        run = pi2.Run(_request(pi2, asked, seed))
        run.simulate()
        with Path(asked["folder"], str(seed)).open("wb") as file:
            for name, kind in _LISTS.items():
                array.array(kind, getattr(run, name)).tofile(file)
        code = 0
    finally:
        sys.stderr.flush()
        os._exit(code)  # without ns-3's destructors


def _request(pi2: Any, plan: dict[str, Any], seed: int) -> Any:
    request = pi2.Request()
    for entry in plan["links"]:
        link = pi2.Link()
        _describe(link.queue, entry["queue"])
        for reason in entry["queue"]["full"]:
            link.full.push_back(reason)
        link.capacity, link.delay = entry["capacity"], entry["delay"]
        request.add_link(link)
    for entry in plan["classes"]:
        group = pi2.Class()
        if entry["congestion"]:
            _describe(group.congestion, entry["congestion"])
        for name in (
            "interval",
            "first",
            "last",
            "leg",
            "rtt",
            "access",
            "jitter",
            "initial_window",
            "slow_start",
            "delayed_ack",
            "ecn",
        ):
            setattr(group, name, entry[name])
        request.add_class(group)
    for change in plan["changes"]:
        request.add_change(*change)
    for flow in plan["flows"]:
        request.add_flow(*flow)
    for edge in plan["edges"]:
        request.edges.push_back(edge)
    for name in (
        "packet_size",
        "segment",
        "window_bytes",
        "duration",
        "bin",
        "per_block",
        "access",
    ):
        setattr(request, name, plan[name])
    request.seed = seed
    return request


def _describe(made: Any, told: dict[str, Any]) -> None:
    made.type = told["type"]
    for name, value in told["attributes"].items():
        made.set(name, value)


if __name__ == "__main__":
    main()
