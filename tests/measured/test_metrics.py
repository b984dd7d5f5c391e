"""Metrics of exporters: one scrape or several, with the times of both formats."""

from __future__ import annotations

import json

import pytest

import pi2_fluid as pf
from pi2_fluid.errors import QuantityError
from pi2_fluid.measured.dataset import samples_of


def scrape(packets: int, stamp: str = "") -> str:
    return (
        "# HELP node_qdisc_packets_total Number of packets sent.\n"
        "# TYPE node_qdisc_packets_total counter\n"
        f'node_qdisc_packets_total{{device="wan0",kind="pie"}} {packets}{stamp}\n'
        f'node_qdisc_packets_total{{device="lan0",kind="fq_codel"}} {2 * packets}{stamp}\n'
        f'node_qdisc_backlog{{device="wan0",kind="pie"}} 1514{stamp}\n'
        f"node_load1 0.5{stamp}\n"
    )


@pytest.mark.parametrize(
    ("form", "ending"),
    [
        (" {}.5", ""),  # OpenMetrics: seconds
        (" {}500", ""),  # Prometheus: milliseconds
        (" {}.5", "# EOF\n"),
    ],
)
def test_scrapes_with_times(form: str, ending: str) -> None:
    text = "".join(scrape(10 * n, form.format(1_764_270_000 + n)) + ending for n in range(3))
    data = pf.measured.read(text)
    assert data.attrs["format"] == "metrics"
    assert data.attrs["clock"] == "unix"
    assert data.attrs["start"] == 1_764_270_000.5
    assert data.time.values.tolist() == [0, 1, 2]
    assert samples_of(data, "packets", "lan0 fq_codel")[1].tolist() == [0, 20, 40]
    assert samples_of(data, "backlog", "wan0 pie")[1].tolist() == [1514] * 3


def test_times_on_lines_of_their_own() -> None:
    text = "".join(f"{1_764_270_000 + 5 * n}\n{scrape(n)}" for n in range(3))
    data = pf.measured.read(text)
    assert data.time.values.tolist() == [0, 5, 10]


def test_scrapes_without_times_are_numbered() -> None:
    data = pf.measured.read("".join(scrape(n) for n in (3, 4)))
    assert data.time.values.tolist() == [0, 1]
    assert json.loads(data.attrs["about"])["time"] == "number of the sample"
    assert samples_of(data, "packets", "wan0 pie")[1].tolist() == [3, 4]


def test_metrics_of_no_queue_are_refused() -> None:
    with pytest.raises(QuantityError, match="has no metric of a queue"):
        pf.measured.read('node_load1{kind="x"} 5\n', format="metrics")
