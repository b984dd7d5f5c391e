"""UDP in either queue of DualPI2 beside Prague and Cubic: packets against a public testbed."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import pi2_fluid as pf

FILE = Path(__file__).resolve().parents[2] / "data" / "dualpi2_overload.csv"
with FILE.open(encoding="utf-8") as lines:
    MEASURED = list(csv.DictReader(line for line in lines if not line.startswith("#")))
LINK = pf.Link("100Mbit/s", packet_size="1514B", kind="htb")
TCP, UDP = 1448 / 1514, 1200 / 1242  # data of a packet, of its bytes in the queue
#: What iperf3 sends of what it is asked to, by its own clock: so in all rows without drops.
SENT = 0.965


@pytest.mark.slow
@pytest.mark.parametrize("ecn", ["none", "ect1"])
def test_rates_are_those_of_the_testbed(ecn) -> None:
    """Within 2.5 Mbit/s where UDP in L has half of the link or more.

    In C within 4: the testbed has two runs of each, its ECT(0) being none, which differ by 3. With
    less UDP within 9, three times by what seeds differ: the testbed had one run of 15 s.
    """
    for row in MEASURED:
        asked = float(row["asked"])
        if row["ecn"] != ecn or (ecn == "none" and row["protection"] != "0.1"):
            continue
        flows = [
            pf.Flows(pf.Prague(version="draft"), 1, "20ms"),
            pf.Flows(pf.Cubic(), 1, "20ms"),
            pf.Flows(
                pf.Cbr(rate=SENT * asked * 1e6 / UDP),
                packet_size=1242,
                ecn=None if ecn == "none" else ecn,
            ),
        ]
        aqm = pf.DualPi2(arithmetic="fixed", c_protection=float(row["protection"]))
        scenario = pf.Scenario("20s", LINK, aqm, flows)
        runs = pf.simulate(scenario, pf.Packets(seeds=6, bin="1s"))
        rates = runs.throughput.sel(time=slice(5.5, None)).mean(("seed", "time")) / 1e6
        for name, rate, data in zip(
            ("prague", "cubic", "udp"), rates, (TCP, TCP, UDP), strict=True
        ):
            room = 9.0 if asked < 50 else 2.5 if ecn == "ect1" else 4.0
            assert float(rate) * data == pytest.approx(float(row[name]), abs=room), (row, name)
