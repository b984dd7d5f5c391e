"""The figure of bursts: its trains are what they are said to be, and what its page says holds."""

from __future__ import annotations

import csv
import re

import numpy as np
import pytest
import write_gallery

import pi2_fluid as pf
from pi2_fluid.papers.ours import bursts

PAGE = (write_gallery.ROOT / "docs/coexistence.md").read_text(encoding="utf-8")


def recorded() -> dict[tuple[str, str, int], dict[str, np.ndarray]]:
    """The stored numbers, by queue, place and length of the trains."""
    found: dict[tuple[str, str, int], list[dict[str, str]]] = {}
    with (write_gallery.PAGES / "bursts.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            key = row["queue"], row["trains_in"], int(row["train_segments"])
            found.setdefault(key, []).append(row)
    return {
        key: {
            name: np.array([float(row[name]) for row in rows])
            for name in rows[0]
            if name not in {"queue", "trains_in"}
        }
        for key, rows in found.items()
    }


@pytest.mark.parametrize("train", bursts.TRAINS)
def test_all_trains_offer_the_same_load(train: int) -> None:
    trains = bursts.scenario("DualPI2", "C", train).flows[-1]
    assert trains.arrivals * trains.size.size * 12e3 == pytest.approx(5e6)
    assert trains.initial_window == train  # at once


def test_they_enter_the_queue_that_they_are_said_to() -> None:
    assert [len(bursts.scenario("PIE", "C", n).flows) for n in (0, 5)] == [2, 3]
    assert [bursts.SENDERS[where].signal for where in "CL"] == ["classic", "scalable"]


def test_the_percentile_is_of_the_class_alone() -> None:
    run = pf.packet.simulate(bursts.scenario("DualPI2", "C", 20), seeds=[1], bin=1.0)
    cubic, prague = (bursts.percentile_of(run, name).item() for name in ("cubic", "prague"))
    assert prague < 0.001 < 0.02 < cubic
    assert bursts.percentile_of(run, "cubic", 0.5).item() < cubic


def test_the_first_runs_are_those_recorded() -> None:
    run = pf.packet.simulate(bursts.scenario("DualPI2", "L", 20), seeds=[1], bin=0.1)
    kept = recorded()["DualPI2", "L", 20]
    assert bursts.percentile_of(run, "prague") == pytest.approx(kept["prague_p99_s"][:1])


ROWS = {
    "DualPI2: Cubic (Mbit/s)": ("DualPI2", "cubic_mbit_s", 1.0),
    "Prague (Mbit/s)": ("DualPI2", "prague_mbit_s", 1.0),
    "Cubic's 99 % delay (ms)": ("DualPI2", "cubic_p99_s", 1000.0),
    "Prague's 99 % delay (ms)": ("DualPI2", "prague_p99_s", 1000.0),
    "link used (%)": ("DualPI2", "utilization", 100.0),
    "one coupled queue: Cubic (Mbit/s)": ("one coupled queue", "cubic_mbit_s", 1.0),
    "its Prague (Mbit/s)": ("one coupled queue", "prague_mbit_s", 1.0),
    "its 99 % delay, of Cubic (ms)": ("one coupled queue", "cubic_p99_s", 1000.0),
    "its link used (%)": ("one coupled queue", "utilization", 100.0),
}
COLUMNS = (("C", 0), ("C", 20), ("C", 80), ("L", 20), ("L", 80))


@pytest.mark.parametrize("row", ROWS)
def test_the_page_has_what_was_recorded(row: str) -> None:
    queue, name, scale = ROWS[row]
    cells = re.search(rf"^\| {re.escape(row)} \|(.*)\|$", PAGE, re.MULTILINE)[1].split("|")
    table = recorded()
    for cell, place in zip(cells, COLUMNS, strict=True):
        values = scale * table[queue, *place][name]
        told = [values.mean(), values.min(), values.max()]
        for text, value in zip(re.findall(r"[0-9.]+", cell), told, strict=False):
            digits = len(text.partition(".")[2])
            assert abs(float(text) - value) <= 0.5001 * 10.0**-digits
