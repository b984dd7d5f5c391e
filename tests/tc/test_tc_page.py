"""docs/qdisc.md: the numbers in its tables, computed afresh."""

from __future__ import annotations

from pathlib import Path

import pytest

import pi2_fluid as pf
from pi2_fluid.tc.kernel import jiffies, timer_period

PAGE = (Path(__file__).parents[2] / "docs/qdisc.md").read_text(encoding="utf-8")


def rows_of(heading):
    """The rows of the table whose header begins like this, cells as text."""
    block = PAGE[PAGE.index(f"| {heading}") :].partition("\n\n")[0]
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()[2:]
    ]


@pytest.mark.parametrize("row", rows_of("asked for | 1000"), ids=lambda row: row[0])
def test_intervals_of_pie(row):
    us = round(float(row[0].removesuffix("ms")) * 1000)
    for hz, cell in zip((1000, 300, 250, 100), row[1:], strict=True):
        runs = 1000 * timer_period(jiffies(us, hz)) / hz
        assert cell == f"{runs:.{len(cell.partition('.')[2])}f}"


@pytest.mark.parametrize("row", rows_of("asked for | alpha, beta in Hz"), ids=lambda row: row[0])
def test_gains_of_dualpi2(row):
    asked, gains, shown, act, error, margin = row
    rtt = "100ms"
    if asked.startswith("max_rtt"):
        rtt = asked.split()[1]
        queue = pf.qdisc.install_max_rtt(rtt)
    elif asked.startswith("nothing"):
        queue = pf.qdisc.install(pf.presets.linux_dualpi2(), "dualpi2")
    else:
        _, alpha, _, beta = asked.split()
        law = pf.DualPi2(alpha=float(alpha), beta=float(beta))
        queue = pf.qdisc.install(law, "dualpi2")
    names = ("alpha", "beta")

    def both(values, digits):
        return ", ".join(f"{value:.{digits}f}" for value in values)

    for cell, values in ((gains, queue.asked), (shown, queue.shown)):
        for text, name in zip(cell.split(", "), names, strict=True):
            digits = len(text.partition(".")[2])
            assert text == f"{values[name]:.{digits}f}"
    assert act == both((queue.aqm.alpha, queue.aqm.beta), 5)
    first, second = (100.0 * queue.rounding[name] for name in names)
    digits = len(error.split(",")[0].partition(".")[2])
    assert error.split(", ")[0] == f"{first:.{digits}f}"
    assert error.split(", ")[1] == f"{second:.2f} %"
    assert margin == f"{-pf.margin_lost_db(queue, pf.Reno(), rtt, 0.1):+.2f} dB"


LAWS = {
    "dualpi2, default": (pf.presets.linux_dualpi2(), "dualpi2", 1000),
    "dualpi2, gains of the PI2 paper": (pf.presets.pi2_paper(), "dualpi2", 1000),
    "pie, default, HZ = 1000": (pf.presets.linux_pie(), "pie", 1000),
    "pie, default, HZ = 100": (pf.presets.linux_pie(), "pie", 100),
}


@pytest.mark.slow
@pytest.mark.parametrize("row", rows_of("queue as Linux makes it"), ids=lambda row: row[0])
def test_verdicts_on_what_is_installed(row):
    name, limit, closest, acks, instead = row
    law, kind, hz = LAWS[name]
    (found,) = pf.check(pf.qdisc.show(pf.qdisc.install(law, kind, hz=hz)), hz=hz)
    assert limit.split(" (")[0] == f"{1e3 * found.stable_up_to:.1f} ms"
    by_acks = found.ack_margins
    assert acks == f"{by_acks.gain_margin_db:.2f} dB, {by_acks.phase_margin_deg:.1f} deg"
    if found.verdict == "unstable":
        assert "unstable at p = 1e-6" in closest
        assert found.worst.p_prime**2 == pytest.approx(1e-6)
    else:
        margins = found.margins
        assert (
            closest
            == f"{margins.gain_margin_db:.{len(closest.split(' ')[0].partition('.')[2])}f} dB,"
            f" {margins.phase_margin_deg:.1f} deg"
        )
    assert found.remedy.tc is not None
    assert instead.strip("`") in found.remedy.tc
