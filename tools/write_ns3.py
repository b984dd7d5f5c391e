"""Write what ns-3 makes of the thesis's scenarios: pi2_fluid/papers/thesis/ns3*.csv.

    .venv/bin/python -m pip install "ns3==3.44.post0"
    .venv/bin/python tools/write_ns3.py

ns-3 has no PI2: `pi2_queue_disc.hpp` beside this file is the thesis's, by its pseudo code; PIE, TCP
and all else are the wheel's. Each scenario runs as the engine `Ns3` runs it, with access links that
are nowhere, and once more with the thesis's, of 10 Mbit/s. It takes some minutes.
"""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pi2_fluid as pf
from pi2_fluid.comparison.agreement.curves import stretch_means
from pi2_fluid.engines.ns3.process import run_seeds
from pi2_fluid.engines.ns3.task import make_task
from pi2_fluid.laws.aqms.taildrop import TailDrop
from pi2_fluid.network.schedule import to_ns
from pi2_fluid.papers.runs import spread
from pi2_fluid.papers.thesis.experiments import BIN, MEAN, summary_of
from pi2_fluid.results.runs import runs_dataset
from pi2_fluid.results.schema import RUNS, provenance
from pi2_fluid.results.seeds import thread_count
from pi2_fluid.saving import save_text

SCENARIOS: Final = tuple(f"thesis_fig4_{n}_{line}" for n in (2, 5, 8) for line in ("pie", "pi2"))
SEEDS: Final = tuple(range(1, 11))
#: bit/s of the access links, by what the table calls them.
ACCESS: Final = {"none": 0.0, "10Mbit/s": 10e6}
_FOLDER: Final = Path(__file__).resolve().parents[1] / "pi2_fluid" / "papers" / "thesis"
_SOURCE: Final = Path(__file__).with_name("pi2_queue_disc.hpp")
_VERSION: Final = "3.44.post0"
_HEAD: Final = f"""\
# ns-{_VERSION} of PyPI, seeds {SEEDS[0]} to {SEEDS[-1]}: python tools/write_ns3.py
# PIE is ns-3's own (RFC 8033); PI2 is the queue disc of tools/pi2_queue_disc.hpp.
"""


def run_ns3(scenario: pf.Scenario, seeds: Sequence[int], access: float = 0.0) -> Any:
    """Return runs of one of the thesis's scenarios in ns-3, also of PI2."""
    law = scenario.aqm
    asked = scenario
    if isinstance(law, pf.Pi2):  # a queue that ns-3 knows stands for it until it is told
        asked = dataclasses.replace(scenario, aqm=TailDrop())
    task = make_task(asked, to_ns(BIN))
    task.request["access"] = access
    if isinstance(law, pf.Pi2):
        task.request["sources"] = [str(_SOURCE)]
        task.request["links"][0]["queue"] = {
            "type": "pi2::ThesisPi2",
            "attributes": {
                "A": repr(law.alpha), "B": repr(law.beta),
                "QueueDelayReference": f"{round(1e9 * law.target)}ns",
                "Tupdate": f"{round(1e9 * law.update_interval)}ns",
                "MaxSize": f"{int(scenario.link.buffer)}p",
            },
            "full": ["Forced drop", "Dropped by internal queue"],
        }  # fmt: skip
    found, interrupted = run_seeds(task, seeds, thread_count(None, len(seeds)), None)
    said = provenance(scenario, "ns3", RUNS, [], interrupted=interrupted)
    return runs_dataset(scenario, found, to_ns(BIN), [0] * len(scenario.flows), said)


def main() -> None:
    """Run all, and write both tables."""
    numbers: list[dict[str, Any]] = []
    curves: list[dict[str, Any]] = []
    for name in SCENARIOS:
        scenario = pf.named_scenario(name)
        for called, access in ACCESS.items():
            run = run_ns3(scenario, SEEDS, access)
            found = summary_of(run, scenario)
            for i, seed in enumerate(SEEDS):
                row = {"scenario": name, "access": called, "seed": seed}
                numbers.append(row | {key: f"{values[i]:.5g}" for key, values in found.items()})
            print(
                name, called, {key: float(values.mean().round(4)) for key, values in found.items()}
            )
            if not access:
                time, delay = stretch_means(run, "queue_delay", MEAN)
                columns = {"time_s": time} | spread("queue_delay", 1e3 * delay, "_ms")
                curves += [
                    {"scenario": name, **dict(zip(columns, map("{:.4g}".format, at), strict=True))}
                    for at in zip(*columns.values(), strict=True)
                ]
    _write(
        "ns3.csv", numbers, "# access: the links of senders and receivers; none: they are nowhere."
    )
    _write(
        "ns3_curves.csv",
        curves,
        "# Queue delay in means over 0.5 s; median, least and most of the seeds.",
    )


def _write(name: str, rows: list[dict[str, Any]], more: str) -> None:
    made = io.StringIO()
    made.write(f"{_HEAD}{more}\n")
    writer = csv.DictWriter(made, rows[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    save_text(_FOLDER / name, made.getvalue())


if __name__ == "__main__":
    main()
