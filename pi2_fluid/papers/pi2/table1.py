"""Table 1 of the PI2 paper: the settings of its queues, as the scenarios here have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pi2_fluid as pf
from pi2_fluid.papers.recipe import Case, Measured, Recipe, shipped

#: Those whose queues have what the table says: where the text says otherwise it is not looked for.
_SCENARIOS: Final = (
    *(f"pi2_fig06_{queue}" for queue in ("pi", "pie", "pi2")),
    *(
        f"pi2_fig{name}_{queue}"
        for name in ("11a", "11b", "11c", "12", "13", "14a_20ms")
        for queue in ("pie", "pi2")
    ),
    *(f"pi2_coexistence_{queue}" for queue in ("pie", "coupled")),
)  # fmt: skip


def settings_of_queues(scenarios: Mapping[str, pf.Scenario]) -> list[dict[str, Any]]:
    """Return what the table says, as the scenarios have it: a row per setting and scenario."""
    rows = []
    for name, scenario in scenarios.items():
        aqm: Any = scenario.aqm
        settings = {"target": (1e3 * aqm.target, "ms"), "buffer": (scenario.link.buffer, "packets")}
        if isinstance(aqm, (pf.Pi, pf.Pie)):
            settings |= {"alpha_pie": (aqm.alpha, "Hz"), "beta_pie": (aqm.beta, "Hz")}
        if isinstance(aqm, pf.Pie):
            settings["burst"] = (1e3 * float(aqm.burst or 0.0), "ms")
        if isinstance(aqm, pf.CoupledPi2):
            # Its gains are on p', the table's on the k p' that marks Scalable packets.
            gains = {"alpha_scalable": aqm.alpha, "beta_scalable": aqm.beta}
            settings |= {key: (aqm.k * gain, "Hz") for key, gain in gains.items()}
        rows += [
            {"setting": key, "scenario": name, "value": float(value), "unit": unit}
            for key, (value, unit) in settings.items()
        ]
    return rows


def _measure(case: Case) -> Measured:
    rows = settings_of_queues(case.scenarios)
    found: dict[str, list[float]] = {}
    for row in rows:
        found.setdefault(row["setting"], []).append(row["value"])
    return Measured({"": rows}, found)


RECIPE: Final = Recipe(
    caption="Settings of the queues in the paper's experiments, as the scenarios here have them",
    kind="numbers",
    measure=_measure,
    pages={},
    scenarios=shipped(*_SCENARIOS),
    changeable=(),
    seeds=1,
    decisions=(
        (
            "The table's alpha and beta with DCTCP act on the marks of Scalable packets. Our"
            " coupled queue has them on p′: half as much, at k = 2."
        ),
    ),
    why={"": "The scenarios of Figures 6, 11 to 14 and 15 to 20 all have this number."},
)
