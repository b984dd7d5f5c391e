"""Measurements made of packets: what tools would have written of a run, with its truth known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import pi2_fluid as pf
from pi2_fluid.measured.dataset import Measurement

if TYPE_CHECKING:
    import xarray

#: Payload of a packet on the wire.
GOODPUT = 1448.0 / 1514.0


def two_flows(**more: Any) -> pf.Scenario:
    flows = [
        pf.Flows(pf.Cubic(), 1, "20ms", name="one", start="1s"),
        pf.Flows(pf.Cubic(), 1, "20ms", name="two", start="2s"),
    ]
    link = pf.Link("20Mbit/s", 1000, packet_size="1514B", kind="htb")
    made: dict[str, Any] = {"duration": "30s", "link": link, "aqm": pf.presets.linux_pie()}
    return pf.Scenario(**(made | {"flows": flows} | more))


def measure(scenario: pf.Scenario, seed: int = 77, **about: Any) -> xarray.Dataset:
    """Goodput every 0.2 s and a ping every 0.2 s, printed as ping does, of one seed."""
    run = pf.Packets(seeds=[seed]).with_rows(0.005).run(scenario).isel(seed=0)
    told = {
        "title": "20Mbit 20ms pie",
        "senders": dict.fromkeys(scenario.class_names, "cubic"),
        "ecn": False,
    } | about
    measurement = Measurement("flent", "flent 2.1", "unix", about=told)
    time, start = run.time.to_numpy(), 1.7e9
    edges = np.arange(0.0, float(scenario.duration) + 0.01, 0.2)
    for index, name in enumerate(scenario.class_names):
        sent = np.concatenate([[0.0], np.cumsum(run.throughput.to_numpy()[:, index] * 0.005)])
        rates = GOODPUT * np.diff(np.interp(edges, np.concatenate([[0.0], time]), sent)) / 0.2
        seen = edges[1:] > float(scenario.flows[index].start)
        measurement.add("throughput", name, start + edges[1:][seen], rates[seen])
    at = np.arange(0.0, float(scenario.duration), 0.2)
    delay = run.queue_delay.to_numpy()
    met = 0.02 + np.interp(at, time, delay if delay.ndim == 1 else delay[:, 0])
    measurement.add("delay", "ping", start + at, np.round(met, 4))
    return measurement.to_dataset()
