"""A worker that is killed costs the block that it was at."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
import xarray as xr

import pi2_fluid as pf
from pi2_fluid.sweeping import blocks, running
from pi2_fluid.sweeping.axes import Grid
from pi2_fluid.sweeping.outcomes import Layout, Rows
from pi2_fluid.sweeping.questions import Runs

SCENARIO = pf.Scenario("1s", pf.Link("4Mbit/s"), pf.Pi2(), pf.Flows(pf.Reno(), 2, "40ms"))


class Deadly(blocks.Work):
    """Kills its process at one block, as often as there are files to take away."""

    def __call__(self, start: int, stop: int) -> Rows:
        if start == 1:
            for file in Path(self.question.scenario.name).iterdir():
                file.unlink()
                os.kill(os.getpid(), signal.SIGKILL)
        return Rows({}, [str(start)], "")


@pytest.mark.slow
@pytest.mark.parametrize("deaths", [1, 3])
def test_only_its_block_is_done_again(tmp_path: Path, deaths: int) -> None:
    for number in range(deaths):
        (tmp_path / str(number)).touch()
    named = pf.Scenario("1s", SCENARIO.link, SCENARIO.aqm, SCENARIO.flows, name=str(tmp_path))
    work = Deadly(Runs(named, pf.Fluid(), xr.Dataset), Grid(()), Layout({}, {}), raising=True)
    kept: list[str] = []
    these = blocks.blocks_of((4,), (1,))

    def run() -> None:
        running.run_local(work, these, lambda _, rows: kept.extend(rows.errors), 2, processes=True)

    if deaths == 3:
        with pytest.raises(pf.SolverError, match="points 1 to 1 ended 3 processes"):
            run()
    else:
        run()
        assert sorted(kept) == ["0", "1", "2", "3"]
