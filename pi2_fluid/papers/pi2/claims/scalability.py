"""PI2 paper (CoNEXT'16), claims 62 to 64: which senders scale, and PIE without its heuristics."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.papers.claim import Claim, decide, matches

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray

_RTT: Final = 0.1
#: Loads between which windows follow a power of p: Cubic's cubic region begins below some 1e-4.
_LOADS: Final = (1e-8, 1e-7)
#: One DCTCP flow before a threshold: bit/s, its length (s), and paths (s).
_RATE: Final = 40e6
_STEP: Final = "2ms"
_PATHS: Final = (0.02, 0.04, 0.08)
#: Of the text: the scenarios of Figures 11 to 14, and by how much bare PIE may differ.
SCENARIOS: Final = ("11a", "11b", "11c", "12", "13", "14a_5ms", "14a_20ms")
ALIKE: Final = 0.1
_SEEDS: Final = 6
_NEAR: Final = 0.25  # of 2: nearer to it than to 3/2, and as a part
_MOST: Final = 5  # of them, at least, in which a relation holds


def _window(sender: pf.Sender, p: float) -> float:
    rest: Any = sender.at_rest(_RTT, p)
    return float(rest[0] if isinstance(rest, tuple) else rest)


def _exponent(sender: pf.Sender) -> float:
    """Return B of W proportional to 1/p^B, where p is small."""
    few, many = (_window(sender, p) for p in _LOADS)
    return float(np.log(few / many) / np.log(_LOADS[1] / _LOADS[0]))


def _exponents() -> Claim:
    stated = {
        "Reno": (pf.Reno(), "0.50"),
        "Cubic in its Reno mode": (pf.CReno(), "0.50"),
        "Cubic": (pf.Cubic(), "0.75"),
        "DCTCP": (pf.Dctcp(), "1.00"),
        "DCTCP, renewal": (pf.Dctcp(law="renewal"), "1.00"),
        "Scalable": (pf.Scalable(), "1.00"),
    }
    found = {name: _exponent(sender) for name, (sender, _) in stated.items()}
    return Claim(
        id="pi2-62",
        source="PI2 paper, section 2, equations (1) to (3)",
        text=(
            "Windows fall as 1/p^B, B = 1/2 for Reno and CReno, 3/4 for Cubic and 1 for DCTCP under"
            " random marks; signals per round trip, W^(1 - 1/B), vanish with growing windows unless"
            " B is at least 1."
        ),
        computed=f"{', '.join(f'{name} {b:.3f}' for name, b in found.items())}.",
        verdict=decide(*(matches(found[name], b) for name, (_, b) in stated.items())),
        why=f"These are windows at p = {_LOADS[0]:g} and {_LOADS[1]:g}, with an RTT of 100 ms.",
    )


def _step_marks() -> tuple[FloatArray, FloatArray]:
    """Return W and p of one DCTCP flow before a threshold, by path and seed."""
    windows, marked = np.zeros((2, len(_PATHS), _SEEDS))
    for i, path in enumerate(_PATHS):
        flows = pf.Flows(pf.Dctcp(variant="rfc8257"), 1, path, start_jitter="100ms", push_every=0)
        # L4S traffic alone: nothing but the step marks.
        scenario = pf.Scenario(120.0, pf.Link(_RATE, 40_000), pf.DualPi2(step=_STEP), flows)
        runs = pf.packet.simulate(scenario, seeds=_SEEDS, bin=1.0).sel(time=slice(40.0, None))
        windows[i] = runs.window.mean("time").to_numpy()[:, 0]
        arrivals = runs.arrivals.sum("time").to_numpy().reshape(_SEEDS, -1)[:, 0]
        marked[i] = runs.marks.sum("time").to_numpy()[:, 0] / arrivals
    return windows, marked


def _step() -> Claim:
    windows, marked = _step_marks()
    exponents = np.array(
        [-np.polyfit(np.log(p), np.log(w), 1)[0] for w, p in zip(windows.T, marked.T, strict=True)]
    )
    constants = windows * marked**2
    near = np.abs(exponents - 2.0) < _NEAR
    return Claim(
        id="pi2-63",
        source="PI2 paper, Appendix A, equation (12)",
        text="Under a step threshold DCTCP's window is 2/p^2, as marks come in whole round trips.",
        computed=(
            f"One flow on {_RATE / 1e6:g} Mbit/s, base RTTs of {1e3 * _PATHS[0]:g} to"
            f" {1e3 * _PATHS[-1]:g} ms, windows of {windows.min():.0f} to {windows.max():.0f}"
            f" segments: the exponent is {np.median(exponents):.2f} ({exponents.min():.2f} to"
            f" {exponents.max():.2f} over {_SEEDS} seeds); W p^2 from {constants.min():.2f} to"
            f" {constants.max():.2f}."
        ),
        verdict=decide(
            bool(abs(np.median(exponents) - 2.0) < _NEAR and near.sum() >= _MOST),
            bool(np.all(np.abs(constants / 2.0 - 1.0) < _NEAR)),
        ),
        why=(
            "This is the step of DualPI2 with L4S traffic alone, where nothing else marks. The"
            " power is that of a step, not of random marks. The factor is half: how long such a"
            " train of marks lasts was not measured."
        ),
    )


def bare(pie: pf.Aqm) -> pf.Aqm:
    """Return PIE without its heuristics."""
    off: dict[str, Any] = dict.fromkeys(("cap", "boost250", "decay", "half_target"), False)
    off["burst"] = 1e-9  # s: there is an allowance, but the first packet uses it up
    return replace(pie, **off)


def _delays(name: str) -> FloatArray:
    """Return mean and P99 of the queue delay and throughput, of both queues, by seed."""
    scenario = pf.named_scenario(f"pi2_fig{name}_pie")
    rows = []
    for aqm in (scenario.aqm, bare(scenario.aqm)):
        runs = pf.packet.simulate(replace(scenario, aqm=aqm), seeds=_SEEDS, bin=0.1)
        delay = runs.queue_delay.sel(time=slice(5.0, None))
        rate = runs.throughput.sum("flows").mean("time")
        rows.append([delay.mean("time"), delay.quantile(0.99, "time"), rate])
    return np.array(rows)


def _bare() -> Claim:
    apart = {
        name: np.abs(found[1] / found[0] - 1.0) for name in SCENARIOS for found in [_delays(name)]
    }
    # By scenario: mean delay, P99, throughput.
    alike = {
        name: (np.median(parts, axis=1) < ALIKE) & ((parts < ALIKE).sum(axis=1) >= _MOST)
        for name, parts in apart.items()
    }
    means = np.array([np.median(parts, axis=1) for parts in apart.values()])
    counts = np.sum(list(alike.values()), axis=0)
    worst = SCENARIOS[int(means[:, 0].argmax())]
    return Claim(
        id="pi2-64",
        source="PI2 paper, section 5",
        text="PIE without its heuristics does what PIE does in every experiment.",
        computed=(
            f"Figures 11 to 14, {len(SCENARIOS)} scenarios, {_SEEDS} seeds: alike are"
            f" {counts[2]} of the throughputs, {counts[0]} of the mean delays and {counts[1]} of"
            f" the P99. The medians differ by at most {100 * means[:, 2].max():.0f} %,"
            f" {100 * means[:, 0].max():.0f} % and {100 * means[:, 1].max():.0f} %, the mean delay"
            f" most in {worst.replace('_', ', ')}."
        ),
        verdict=decide(*(bool(count == len(SCENARIOS)) for count in counts)),
        why=(
            f'"Alike" is within {100 * ALIKE:g} % in the median and with {_MOST} of {_SEEDS} seeds.'
            " With a target of 5 ms bare PIE has a shorter queue. Without the rule below half the"
            " target alone, the decay alone or the cap alone it is shorter by 5 to 9 %."
        ),
    )


CLAIMS: Final = (_exponents, _step, _bare)
