"""Guests: booted, heard, and ended whatever happens.

A guest is a User-Mode-Linux kernel, a program like any other, in which time is what its events make
of it: work takes none, and where nothing is to be done it goes on to the next timer. It sees a
folder as its disk, with the guest's program and the plan in it, and leaves its log there.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

from pi2_fluid.engines.linux.reader import Log, read_log
from pi2_fluid.errors import SolverError

_PATIENCE: Final = 0.05  # s between two looks at the guests
_SILENCE: Final = 300.0  # s without a word, after which a guest hangs
_LINES: Final = 12  # of its console that are kept
_TOLD: Final = 300  # characters of them in a message
_FOLDERS: Final = ("proc", "dev", "sys")
_SHARED_MEMORY: Final = Path("/dev/shm")  # where the guests' memory lies, if there is room
_MIB: Final = 2**20
#: When time begins in every guest (ns since 1970).
_EPOCH: Final = 1_700_000_000_000_000_000


class Machine(NamedTuple):
    """What a guest is made of."""

    command: tuple[str, ...]
    """That starts it, in its folder."""
    program: Path
    """Its process 1."""
    seeded: Path | None
    """The library through which chance from outside follows from the seed."""
    memory: int
    """MiB that it may use at most; 0 where it has none of its own."""


def start_command(image: Path, memory: int) -> tuple[str, ...]:
    """Return what starts a kernel in virtual time.

    It is the same for every run and every folder, because a kernel takes chance from it.
    """
    return (
        str(image),
        f"mem={memory}M",
        "rootfstype=hostfs",
        "rootflags=/proc/self/cwd",
        "rw",
        "init=/init",
        "time-travel=inf-cpu",
        "seccomp=auto",
        f"time-travel-start={_EPOCH}",
        "con=null",
        "con0=null,fd:1",
        "quiet",
        "panic=-1",
        "umid=guest",
        "uml_dir=./",
    )


def run_guests(
    machine: Machine,
    plans: Mapping[int, str],
    workers: int,
    duration: float,
    count: Callable[[int, Log], dict[str, Any]],
    progress: Callable[[float, float], None] | None,
) -> tuple[dict[int, dict[str, Any]], bool]:
    """Return what was counted for each seed that was finished, and whether it was interrupted.

    Parameters
    ----------
    machine : Machine
        What each guest is made of.
    plans : mapping of int to str
        Of each seed what its guest is told.
    workers : int
        Guests side by side.
    duration : float
        Of a run (s).
    count : callable
        Called as ``count(seed, log)`` when a guest is done; what it returns is kept.
    progress : callable or None
        Called as ``progress(done, total)``, in seconds simulated, of all seeds together.

    Raises
    ------
    SolverError
        If a guest ends before its run does, or says nothing for five minutes, with what its console
        said last.
    KeyboardInterrupt
        If interrupted before any seed was finished.
    """
    reached = dict.fromkeys(plans, 0.0)
    total = duration * len(plans)
    guests = {seed: _Guest(machine, seed, reached) for seed in plans}

    def run(seed: int) -> dict[str, Any]:
        with tempfile.TemporaryDirectory(prefix="pi2_fluid-linux-") as folder:
            guests[seed].run(Path(folder), plans[seed])
            reached[seed] = duration
            return count(seed, read_log(Path(folder)))

    pool = ThreadPoolExecutor(workers, "pi2_fluid.linux")
    futures = {seed: pool.submit(run, seed) for seed in plans}
    interrupted = False
    try:
        _await(futures, guests, lambda: min(sum(reached.values()), total), total, progress)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        for guest in guests.values():
            guest.end()
        pool.shutdown(wait=True, cancel_futures=True)
    failures = [one.exception() for one in futures.values() if not one.cancelled()]
    # What failed says why here, unless somebody wanted it to end anyway.
    for failure in failures:
        if failure is not None and not interrupted and not isinstance(failure, _EndedError):
            raise failure
    done = {
        seed: future.result()
        for seed, future in futures.items()
        if not future.cancelled() and future.exception() is None
    }
    if not done:
        raise KeyboardInterrupt
    return done, interrupted


def _await(
    futures: Mapping[int, Future[Any]],
    guests: Mapping[int, _Guest],
    reached: Callable[[], float],
    total: float,
    progress: Callable[[float, float], None] | None,
) -> None:
    """Wait here until all are done or one has failed; Ctrl-C comes here and not to a worker."""
    pending: set[Future[Any]] = set(futures.values())
    while pending:
        if progress is not None:
            progress(reached(), total)
        done, pending = wait(pending, timeout=_PATIENCE, return_when=FIRST_EXCEPTION)
        if any(future.exception() for future in done):
            return
        for guest in guests.values():
            guest.end_if_silent()
    if progress is not None:
        progress(total, total)


class _EndedError(Exception):
    """A guest that was ended because another failed, or because of Ctrl-C."""


class _Guest:
    """One guest, which a thread hears and others may end."""

    def __init__(self, machine: Machine, seed: int, reached: dict[int, float]) -> None:
        self._machine, self._seed, self._reached = machine, seed, reached
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._heard = 0.0
        self._silent = self._ended = False

    def run(self, folder: Path, plan: str) -> None:
        """Boot it, and return when it has done what the plan says."""
        for name in _FOLDERS:
            (folder / name).mkdir()
        shutil.copy(self._machine.program, folder / "init")
        (folder / "plan").write_text(plan, encoding="utf-8")
        lines: list[str] = []
        with (folder / "errors").open("w+", errors="replace") as errors:
            process = self._start(folder, errors)
            with process:
                try:
                    done = self._listen(process, lines)
                finally:
                    # Nobody may end it once it is gone: its number may be another's then.
                    with self._lock:
                        _kill(process)
                        self._process = None
            if self._ended and not self._silent:
                raise _EndedError
            if not done:
                errors.seek(0)
                raise self._failure(lines, errors.read().splitlines())

    def end(self) -> None:
        """Have it end now, if it runs, and not begin, if it does not."""
        with self._lock:
            self._ended = True
            if self._process is not None:
                _kill(self._process)

    def end_if_silent(self) -> None:
        """Have it end if it has said nothing for long."""
        with self._lock:
            if self._process is None or time.monotonic() - self._heard <= _SILENCE:
                return
            self._silent = True
        self.end()

    def _start(self, folder: Path, errors: IO[str]) -> subprocess.Popen[str]:
        machine = self._machine
        environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        environment |= {"TMPDIR": str(_memory_folder(folder, machine.memory))}
        environment |= {"PI2_SEED": str(self._seed)}
        if machine.seeded is not None:
            environment["LD_PRELOAD"] = str(machine.seeded)
        with self._lock:
            if self._ended:
                raise _EndedError
            self._heard = time.monotonic()
            # In a session of its own: Ctrl-C is for this process, which then ends all of that one.
            self._process = subprocess.Popen(
                machine.command,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                errors="replace",
                start_new_session=True,
            )
        return self._process

    def _listen(self, process: subprocess.Popen[str], lines: list[str]) -> bool:
        """Hear it to its end, and return whether it did all it was told."""
        assert process.stdout is not None
        for line in process.stdout:
            self._heard = time.monotonic()
            words = line.split()
            if words[:2] == ["guest", "at"]:
                self._reached[self._seed] = float(words[2])
            elif words == ["guest", "done"]:
                return True
            elif line.strip():
                lines.append(line.strip())
                del lines[:-_LINES]
        return False

    def _failure(self, said: list[str], errors: list[str]) -> SolverError:
        reasons = [line for line in said if line.startswith("guest failed: ")]
        if reasons:
            return SolverError(
                f"the guest of seed {self._seed} failed: {reasons[-1][len('guest failed: ') :]};"
                " change the scenario, or use another kernel or engine, e.g. Packets()."
            )
        lines = [line for line in (*said, *errors[-_LINES:]) if line.strip()]
        last = " / ".join(lines)[-_TOLD:] or "nothing"
        how = f"said nothing for {_SILENCE:.0f} s" if self._silent else "ended before its run"
        return SolverError(
            f"the guest of seed {self._seed} {how}; its console's last words: {last}; run it"
            " again, with more memory free, or build its kernel anew: pi2-fluid linux build."
        )


def _memory_folder(folder: Path, memory: int) -> Path:
    """Return where the file that is the guest's memory goes: into memory, if there is room."""
    with contextlib.suppress(OSError):
        if shutil.disk_usage(_SHARED_MEMORY).free > 2 * memory * _MIB:
            return _SHARED_MEMORY
    return folder


def _kill(process: subprocess.Popen[str]) -> None:
    """End a guest and all that it has started, at once."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
