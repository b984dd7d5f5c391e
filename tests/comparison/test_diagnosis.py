"""What series say of a queue: by series whose truth is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from measured_runs import measure, two_flows

import pi2_fluid as pf
from pi2_fluid.comparison.diagnosis.steps import find_steps
from pi2_fluid.comparison.diagnosis.swings import find_swing
from pi2_fluid.measured.dataset import Measurement, Quantity

WAIT = Quantity("band", "s", "how long packets wait")


def noise(memory: float, count: int, chance: np.random.Generator) -> Any:
    drive = chance.normal(size=count)
    values = np.empty(count)
    values[0] = drive[0]
    for k in range(1, count):
        values[k] = memory * values[k - 1] + np.sqrt(1.0 - memory**2) * drive[k]
    return values


def texts(found: list[Any], kind: str) -> str:
    return " ".join(str(one) for one in found if one.kind == kind)


@pytest.mark.slow
@pytest.mark.parametrize("memory", [0.0, 0.5, 0.9, 0.98])
def test_noise_does_not_oscillate(memory: float) -> None:
    chance = np.random.default_rng(7)
    series = [noise(memory, 300, chance) for _ in range(60)]
    # 5 % of 60 are 3: the test is made for 1 %.
    assert sum(find_swing(one, 0.2) is not None for one in series) <= 3


@pytest.mark.slow
@pytest.mark.parametrize(("memory", "least"), [(0.0, 36), (0.5, 34), (0.9, 24)])
def test_an_oscillation_as_large_as_noise_is_found(memory: float, least: int) -> None:
    # Of 40 each with amplitude 1 and noise of deviation 1: measured 97, 92 and 72 %.
    chance = np.random.default_rng(8)
    found = 0
    for _ in range(40):
        swing = np.sin(2.0 * np.pi * np.arange(300) / chance.uniform(6, 30) + chance.uniform(0, 6))
        found += find_swing(noise(memory, 300, chance) + swing, 0.2) is not None
    assert found >= least


@pytest.mark.slow
def test_packets_of_a_calm_loop_do_not_oscillate_and_of_another_do() -> None:
    flows = pf.Flows(pf.Reno(), 10, "20ms")
    calm = pf.Scenario("60s", pf.Link("40Mbit/s", 4000), pf.Pi2(), flows)
    wild = pf.Scenario(
        "60s",
        pf.Link("40Mbit/s", 4000),
        pf.Pi2(alpha=3, beta=6),
        pf.Flows(pf.Reno(), 20, "100ms"),
    )
    counts = []
    for scenario in (calm, wild):
        run = pf.Packets(seeds=8).with_rows(0.05).run(scenario)
        delays = run.queue_delay.sel(time=slice(10.0, None)).to_numpy()[:, 3::4]
        counts.append(sum(find_swing(delay, 0.2) is not None for delay in delays))
    assert counts[0] <= 1
    assert counts[1] == 8


def test_period_and_amplitude_are_those_of_the_sine() -> None:
    time = np.arange(0.0, 60.0, 0.1)
    series = pd.Series(0.03 + 0.004 * np.sin(2.0 * np.pi * time / 2.5), index=time)
    assert "period 2.5 s, amplitude 3.9" in texts(pf.diagnose(series), "oscillation")


@pytest.mark.parametrize("memory", [0.0, 0.8])
def test_noise_has_no_steps(memory: float) -> None:
    chance = np.random.default_rng(9)
    rows = [10.0 + 1.5 * noise(memory, 60, chance) for _ in range(200)]
    assert sum(bool(find_steps(row)) for row in rows) <= 10  # 5 %


def test_a_capacity_that_falls_is_told_by_its_delay() -> None:
    scenario = two_flows(duration="40s", changes=pf.Change("20s", capacity="8Mbit/s"))
    found = texts(pf.diagnose(measure(scenario)), "capacity")
    assert "falls from 19" in found
    assert "the capacity fell" in found
    assert "At 20" in found or "At 19" in found or "At 21" in found


def test_a_sender_that_leaves_is_no_change_of_the_capacity() -> None:
    time = np.arange(1.0, 61.0)
    measurement = Measurement("mine")
    measurement.add("throughput", "a", time, np.where(time < 30.0, 9e6, 4e6))
    measurement.add("delay", "ping", time, np.where(time < 30.0, 0.040, 0.020))
    found = texts(pf.diagnose(measurement.to_dataset()), "capacity")
    assert "Senders may have done it" in found


def queued(own: float) -> Any:
    time = np.arange(0.0, 30.0, 0.2)
    measurement = Measurement("mine", about={"rtt": 0.02})
    measurement.add("delay", "ping", time, np.full(time.size, 0.150))
    measurement.add("throughput", "a", time[1:], np.full(time.size - 1, 9e6))
    measurement.add("queue_delay", "eth0 pie 1:", time, np.full(time.size, own), quantity=WAIT)
    return measurement.to_dataset()


def test_the_delay_is_in_this_queue_or_elsewhere() -> None:
    mine, other = (pf.diagnose(queued(own)) for own in (0.12, 0.012))
    assert "The delay is in this queue: 120 ms of 130 ms" in texts(mine, "queue")
    assert "elsewhere: this queue has 12 ms of 130 ms" in texts(other, "queue")
    assert "Of 150 ms that ping takes, 20 ms are the path and 130 ms" in texts(mine, "where")


def test_a_mapping_of_series_is_one_measurement() -> None:
    time = np.arange(0.0, 30.0, 0.2)
    series = {
        name: xr.DataArray(np.full(time.size, value), {"time": time}, "time")
        for name, value in (("delay", 0.15), ("queue_delay", 0.12), ("throughput", 9e6))
    }
    found = pf.diagnose(series, base_rtt="20ms")
    assert "120 ms of 130 ms" in texts(found, "queue")


def test_what_cannot_be_told_says_what_to_record() -> None:
    measurement = Measurement("mine")
    measurement.add("throughput", "a", np.arange(1.0, 30.0), np.full(29, 9e6))
    found = pf.diagnose(measurement.to_dataset())
    untold = {one.kind for one in found if not one.told}
    assert untold == {"where", "queue", "oscillation"}
    assert all("record" in one.text for one in found if not one.told)


def test_a_file_is_read(tmp_path: Path) -> None:
    lines = [
        f"[{1700000000 + 0.2 * k:.3f}] 64 bytes from 10.0.0.1: icmp_seq={k} time=20.{k % 10} ms"
        for k in range(200)
    ]
    path = tmp_path / "ping.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert "within 1 ms of the path" in texts(pf.diagnose(path), "where")


@pytest.mark.parametrize("given", [3, None, np.zeros(4), [1.0, 2.0]])
def test_what_has_no_times_is_refused(given: Any) -> None:
    with pytest.raises(pf.QuantityError, match="has no times: give a file"):
        pf.diagnose(given)


def test_an_unknown_series_is_refused() -> None:
    with pytest.raises(pf.QuantityError, match="series 'delai' is unknown: give"):
        pf.diagnose({"delai": pd.Series([1.0])})


def few(count: int) -> Any:
    time = np.arange(0.0, count)
    measurement = Measurement("mine")
    measurement.add("delay", "ping", time, np.full(time.size, 0.02))
    measurement.add("throughput", "a", time, np.full(time.size, 9e6))
    return measurement.to_dataset()


@pytest.mark.parametrize("kind", ["where", "capacity"])
def test_nothing_is_told_of_few_samples(kind: str) -> None:
    short, long = (pf.diagnose(few(count)) for count in (3, 40))
    assert "cannot be told" in texts(short, kind)
    assert "cannot be told" not in texts(long, kind)


def test_a_path_longer_than_the_round_trip_is_no_path() -> None:
    found = pf.diagnose(few(40), base_rtt="1h")
    assert "less than the path" in texts(found, "where")


def test_probes_that_were_all_lost_are_counted() -> None:
    measurement = Measurement("mine")
    measurement.add("delay", "ping", np.arange(50.0), np.full(50, np.nan))
    (where,) = (one for one in pf.diagnose(measurement.to_dataset()) if one.kind == "where")
    assert not where.told
    assert "50 probes lost" in where.evidence


def test_ping_without_load_says_nothing_of_the_queue() -> None:
    time = np.arange(0.0, 30.0, 0.2)
    measurement = Measurement("mine")
    measurement.add("delay", "ping", time, np.full(time.size, 0.15))
    measurement.add("throughput", "a", 40.0 + time, np.full(time.size, 9e6))
    measurement.add(
        "queue_delay", "eth0 pie 1:", 40.0 + time, np.full(time.size, 0.1), quantity=WAIT
    )
    assert "cannot be told" in texts(pf.diagnose(measurement.to_dataset()), "queue")


def test_a_clock_that_was_set_makes_no_series_of_years() -> None:
    time = np.r_[np.arange(0.0, 100.0), 1.7e9 + np.arange(0.0, 100.0)]
    measurement = Measurement("mine")
    measurement.add("delay", "ping", time, np.full(time.size, 0.02))
    measurement.add("throughput", "a", time, np.full(time.size, 9e6))
    found = pf.diagnose(measurement.to_dataset())
    assert "at even times" in texts(found, "oscillation")
    assert "set the clock" in texts(found, "capacity")


def test_two_outputs_at_one_time_have_no_rate() -> None:
    time = np.repeat(np.arange(20.0), 2)
    measurement = Measurement("tc_log", clock="relative")
    unit = Quantity("band", "B", "bytes")
    measurement.add("bytes", "eth0", time, 1e6 * np.arange(40.0), quantity=unit)
    measurement.add("backlog", "eth0", time, np.full(40, 5e5), quantity=unit)
    measurement.add("delay", "ping", time[::2], np.full(20, 0.8))
    measurement.add("delay", "ping", time[::2], np.r_[0.3, np.full(19, 0.8)])
    found = texts(pf.diagnose(measurement.to_dataset()), "queue")
    assert "500 ms of 500 ms" in found


def test_less_than_a_millisecond_is_not_said_to_be_a_queue() -> None:
    time = np.arange(0.0, 60.0, 0.2)
    series = pd.Series(0.0006 + 0.0003 * (time > 1.0), index=time)
    found = texts(pf.diagnose(series), "where")
    assert "within 1 ms of the path of 0.6 ms" in found
    assert "are queues" not in found
