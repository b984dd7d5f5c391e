"""The child process: started, heard, and ended whatever happens."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.engines.ns3.task import Task
from pi2_fluid.errors import SolverError, UnsupportedError

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: What is started: a Python of its own, which looks for nothing beside the script.
COMMAND: Final = (sys.executable, "-P", str(Path(__file__).with_name("child.py")))
_KINDS: Final = {"delays": np.dtype(np.uint32), "segments": np.dtype(np.uint32)}
_NUMBER: Final = np.dtype(np.float64)
#: What a line says that names the reason; ns-3 and C++ go on to say that they end.
_TELLING: Final = re.compile(r"error:|Error:|assert|msg=|what\(\)")


def require_installed() -> None:
    """Refuse to run where the wheel of ns-3 is not installed.

    Raises
    ------
    UnsupportedError
        With what to install.
    """
    if find_spec("ns3") is None or find_spec("cppyy") is None:
        raise UnsupportedError(
            "ns-3 is not installed beside this package, as Ns3() needs it: pip install"
            ' "pi2-fluid[ns3]" (Linux on x86_64, Python 3.13 or older), or use Packets().'
        )


def run_seeds(
    task: Task,
    seeds: Sequence[int],
    workers: int,
    progress: Callable[[float, float], None] | None,
) -> tuple[dict[int, dict[str, Any]], bool]:
    """Return what was counted for each seed that was finished, and whether it was interrupted.

    Parameters
    ----------
    task : Task
        What each seed runs.
    seeds : sequence of int
        In this order.
    workers : int
        Processes side by side.
    progress : callable or None
        Called as ``progress(done, total)``, in seconds simulated, of all seeds together.

    Raises
    ------
    SolverError
        If a process ended before its seed did, with what it said of the reason.
    KeyboardInterrupt
        If interrupted before any seed was finished.
    """
    duration = task.request["duration"] / 1e9
    finished: list[int] = []
    interrupted = False
    with tempfile.TemporaryDirectory(prefix="pi2_fluid-ns3-") as folder:
        asked = task.request | {"seeds": list(seeds), "workers": workers, "folder": folder}
        said = Path(folder, "stderr")
        child = _start(asked, said)
        try:
            _listen(child, seeds, duration, progress, finished, said)
        except KeyboardInterrupt:
            interrupted = True
        finally:
            _end(child)
        found = {seed: _read(Path(folder, str(seed)), task) for seed in sorted(finished)}
    ordered = {seed: found[seed] for seed in seeds if seed in found}
    if not ordered:
        raise KeyboardInterrupt
    return ordered, interrupted


def _start(asked: dict[str, Any], said: Path) -> subprocess.Popen[str]:
    # In a session of its own: Ctrl-C is for this process, which then ends all of that session.
    request = Path(asked["folder"], "request")
    request.write_text(json.dumps(asked), encoding="utf-8")
    with request.open("rb") as source, said.open("wb") as errors:
        return subprocess.Popen(
            COMMAND,
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )


def _listen(
    child: subprocess.Popen[str],
    seeds: Sequence[int],
    duration: float,
    progress: Callable[[float, float], None] | None,
    finished: list[int],
    errors: Path,
) -> None:
    """Hear the child until it ends, and note which seeds are finished."""
    reached = dict.fromkeys(seeds, 0.0)
    total = duration * len(seeds)
    assert child.stdout is not None
    if progress is not None:
        progress(0.0, total)
    for line in child.stdout:
        told = _words(line)
        if told.get("ended"):
            raise _failure(f"seed {told['seed']}", told["ended"], errors)
        if "seed" not in told:
            continue
        if told.get("done"):
            finished.append(told["seed"])
        reached[told["seed"]] = duration if told.get("done") else float(told.get("time", 0.0))
        if progress is not None:
            progress(min(sum(reached.values()), total), total)
    code = child.wait()
    if len(finished) < len(seeds):
        raise _failure("its start", code, errors)


def _words(line: str) -> dict[str, Any]:
    """Return what a line says; nothing if it is not of the protocol, but of ns-3 itself."""
    with contextlib.suppress(ValueError):
        told = json.loads(line)
        if isinstance(told, dict):
            return told
    return {}


def _failure(where: str, code: int, said: Path) -> SolverError:
    how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
    lines = [line.strip() for line in said.read_text(errors="replace").splitlines()]
    telling = [line for line in lines if _TELLING.search(line)]
    last = (telling or [line for line in lines if line] or ["nothing"])[-1]
    return SolverError(
        f"ns-3 ended with {how} in {where}, and said last: {last[:200]}; change the scenario, or"
        " use another engine, e.g. Packets()."
    )


def _end(child: subprocess.Popen[str]) -> None:
    """End the child and all that it has started, at once."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    if child.stdout is not None:
        child.stdout.close()


def _read(path: Path, task: Task) -> dict[str, Any]:
    """Return what a seed counted, as `_core.PacketRun.outcome` does."""
    data, at = path.read_bytes(), 0
    arrays = {}
    for name, shape in task.shapes.items():
        kind = _KINDS.get(name, _NUMBER)
        count = int(np.prod(shape))
        arrays[name] = np.frombuffer(data, kind, count, at).reshape(shape)
        at += count * kind.itemsize
    return {
        "bins": _columns(arrays["bins"], ("controller", "classic", "scalable")),
        "bands": _columns(arrays["bands"], ("bytes", "square")),
        "legs": _columns(arrays["legs"], _LEG),
        "classes": _columns(arrays["classes"], _CLASS),
        "totals": _totals(arrays["totals"].astype(np.int64), arrays["ends"].astype(np.int64)),
        "delays": arrays["delays"],
        "segments": arrays["segments"],
        "block": task.request["per_block"],
    }


# The columns of `row.hpp`, in its order.
_LEG: Final = ("arrivals", "departures", "bits", "drops", "marks", "sojourn")
_CLASS: Final = ("window", "flows")
_TOTALS: Final = ("sent", "delivered", "drop_aqm", "drop_full", "mark_aqm", "queued", "in_flight")
_ENDS: Final = ("retransmissions", "timeouts")
_NEVER: Final = ("drop_overload", "mark_step")  # ns-3 has no queue that does so


def _columns(array: Any, names: Sequence[str]) -> dict[str, Any]:
    return {name: array[..., k] for k, name in enumerate(names)}


def _totals(
    of_legs: NDArray[np.int64], of_classes: NDArray[np.int64]
) -> dict[str, NDArray[np.int64]]:
    found = _columns(of_legs, _TOTALS) | _columns(of_classes, _ENDS)
    return found | {name: np.zeros_like(found["sent"]) for name in _NEVER}
