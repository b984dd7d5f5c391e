"""Guests, heard and ended: shell scripts take the place of kernels."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

import pi2_fluid as pf
from pi2_fluid.engines.linux import boot
from pi2_fluid.engines.linux.boot import Machine, run_guests, start_command

STORED = Path(__file__).parents[2] / "data" / "linux_log"
DONE = f"cp {STORED}/* .; echo guest at 0.5; echo guest done; sleep 60"


def machine(tmp_path: Path, script: str) -> Machine:
    program = tmp_path / "program"
    program.write_text("what becomes /init")
    return Machine(("/bin/sh", "-c", script), program, None, 0)


def run(tmp_path: Path, script: str, seeds=(1, 2), workers=2, progress=None):
    plans = {seed: f"plan of {seed}\n" for seed in seeds}
    made = machine(tmp_path, script)
    return run_guests(
        made, plans, workers, 1.0, lambda seed, log: (seed, len(log.packets)), progress
    )


def test_each_guest_has_a_folder_with_its_program_and_plan_and_its_log_is_counted(tmp_path) -> None:
    script = (
        f'test "$(cat init)" = "what becomes /init" && grep -q "plan of $PI2_SEED" plan && {DONE}'
    )
    found, interrupted = run(tmp_path, script)
    assert not interrupted
    assert found == {1: (1, 471), 2: (2, 471)}


def test_progress_is_of_all_guests_together_and_never_goes_back(tmp_path) -> None:
    told: list[tuple[float, float]] = []
    run(tmp_path, DONE, progress=lambda *part: told.append(part))
    assert told[-1] == (2.0, 2.0)
    assert told == sorted(told)


def test_nothing_is_left_behind(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    run(tmp_path, f"echo $$ >> {tmp_path}/started; {DONE}")
    assert {path.name for path in tmp_path.iterdir()} == {"started", "program"}
    for pid in (tmp_path / "started").read_text().split():
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (
            "echo guest failed: message 36 for r_d: No such file",
            r"the guest of seed 1 failed: message 36 for r_d: No such file; change the scenario",
        ),
        (
            "echo Kernel panic - not syncing; echo because >&2; exit 1",
            r"seed 1 ended before its run; .* words: Kernel panic - not syncing / because; run it",
        ),
        ("exit 0", r"ended before its run; its console's last words: nothing;"),
        ("echo guest done", r"the guest left no out\.pkt"),
    ],
)
def test_a_guest_that_ends_says_why(tmp_path, script, reason) -> None:
    with pytest.raises(pf.SolverError, match=reason):
        run(tmp_path, script, seeds=(1,))


def test_a_guest_that_hangs_is_ended(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(boot, "_SILENCE", 0.3)
    begun = time.monotonic()
    with pytest.raises(pf.SolverError, match=r"seed 1 said nothing for 0 s; .* last words: hm;"):
        run(tmp_path, "echo hm; sleep 60", seeds=(1,))
    assert time.monotonic() - begun < 20.0


def test_one_that_fails_ends_the_others(tmp_path) -> None:
    begun = time.monotonic()
    with pytest.raises(pf.SolverError, match="seed 2 failed: so it is"):
        run(tmp_path, 'test "$PI2_SEED" = 2 && echo guest failed: so it is || sleep 60')
    assert time.monotonic() - begun < 20.0


def test_an_interrupt_keeps_what_is_finished(tmp_path) -> None:
    def interrupt(done: float, _: float) -> None:
        if done >= 1.0:
            raise KeyboardInterrupt

    script = f'test "$PI2_SEED" = 1 && {{ {DONE}; }} || sleep 60'
    found, interrupted = run(tmp_path, script, progress=interrupt)
    assert interrupted
    assert found == {1: (1, 471)}
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, "sleep 60", progress=lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))


def test_memory_lies_in_memory_where_there_is_room(tmp_path) -> None:
    assert boot._memory_folder(tmp_path, 10**9) == tmp_path
    assert boot._memory_folder(tmp_path, 1) in {tmp_path, Path("/dev/shm")}


def test_every_run_has_the_same_command() -> None:
    """The kernel takes chance from it."""
    command = start_command(Path("/k/uml"), 300)
    assert command[:2] == ("/k/uml", "mem=300M")
    assert "time-travel=inf-cpu" in command
    assert not any("seed" in word for word in command)
