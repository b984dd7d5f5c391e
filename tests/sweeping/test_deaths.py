"""A worker that is killed costs the block that it was at."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import NamedTuple

import pytest

import pi2_fluid as pf
from pi2_fluid.sweeping import blocks, running
from pi2_fluid.sweeping.outcomes import Rows


class Deadly(NamedTuple):
    """Kills its process at one block, as often as there are files to take away."""

    start: int
    files: Path

    def __call__(self) -> Rows:
        if self.start == 1:
            for file in self.files.iterdir():
                file.unlink()
                os.kill(os.getpid(), signal.SIGKILL)
        return Rows({}, 1, {0: str(self.start)}, "")


class Killers(NamedTuple):
    files: Path

    def task(self, block: blocks.Block) -> Deadly:
        return Deadly(block.start, self.files)


@pytest.mark.slow
@pytest.mark.parametrize("deaths", [1, 3])
def test_only_its_block_is_done_again(tmp_path: Path, deaths: int) -> None:
    for number in range(deaths):
        (tmp_path / str(number)).touch()
    work = Killers(tmp_path)
    kept: list[str] = []
    these = blocks.blocks_of((4,), (1,))

    def run() -> None:
        running.run_local(
            work, these, lambda _, rows: kept.extend(rows.errors.values()), 2, processes=True
        )

    if deaths == 3:
        with pytest.raises(pf.SolverError, match="points 1 to 1 ended 3 processes"):
            run()
    else:
        run()
        assert sorted(kept) == ["0", "1", "2", "3"]
