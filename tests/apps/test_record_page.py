"""docs/howto/record_queue.md: what its scripts print is what `replay` reads."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pytest

from pi2_fluid.apps.cli.logs import read_rows

PAGE = (Path(__file__).parents[2] / "docs/howto/record_queue.md").read_text(encoding="utf-8")
SCRIPTS = dict(re.findall(r'```text title="(\w+\.bt)"\n(.*?)```', PAGE, re.DOTALL))


@pytest.mark.parametrize("name", ["pie.bt", "dualpi2.bt"])
def test_what_a_script_prints_is_read(name):
    header, row = re.findall(r'printf\("(.*?)\\n"', SCRIPTS[name])
    numbers = re.sub(r"%(?:llu|u|d)", "{}", row)
    printed = f"{header}\n" + "".join(
        numbers.format(ns, 1500) + "\n" for ns in (0, 64, 15_000_000, 4_000_000_000)
    )
    read = read_rows(io.StringIO(printed), name)
    np.testing.assert_allclose(read["queue_delay"], [0.0, 64e-9, 0.015, 4.0], rtol=1e-12)
    assert ("backlog" in read) == (name == "pie.bt")


def test_the_sample_has_what_the_rule_gives():
    from pi2_fluid.packet import replay

    sample = re.search(r'title="updates.csv"\n(.*?)```', PAGE, re.DOTALL)[1]
    read = read_rows(io.StringIO(sample), "sample")
    shown = [int(line.partition(",")[2]) for line in sample.splitlines()[1:]]
    answered = replay("dp2-6.18-default", queue_delay=read["queue_delay"])
    assert answered.state.to_numpy().tolist() == shown
