"""PI2 paper (CoNEXT'16), claim 61: how long short flows take under PIE, bare PIE and PI2."""

from __future__ import annotations

from typing import Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.papers.claim import Claim, decide
from pi2_fluid.papers.pi2.claims.scalability import bare

#: Mbit/s, and ms; and what part of the link Web-like flows ask for, lightly and heavily.
RATES: Final = (4.0, 12.0, 40.0)
RTTS: Final = (10.0, 100.0)
LOADS: Final = (0.25, 0.75)
#: Segments of a Web-like flow: some, and now and then many.
SIZES: Final = pf.Pareto(1.2, 4, cap=200)
#: How much longer or shorter is the same.
ALIKE: Final = 0.1
_BITS: Final = 2e9  # that the link carries: a slow one has more time
_AFTER: Final = 10.0
_SEEDS: Final = 2
_AT_ONCE: Final = 2000


def _queues() -> dict[str, pf.Aqm]:
    """Return PIE and PI2 as in the experiments, and PIE without its heuristics."""
    pie, pi2 = (pf.named_scenario(f"pi2_fig12_{name}").aqm for name in ("pie", "pi2"))
    return {"PIE": pie, "bare PIE": bare(pie), "PI2": pi2}


def _times(aqm: pf.Aqm, rate: float, rtt: float, load: float) -> tuple[float, float]:
    """Return median and mean of what Web-like flows take (s), beside one long flow."""
    arrivals = load * 1e6 * rate / (12_000.0 * SIZES.mean)
    flows = [
        pf.Flows(pf.Reno(), 1, 1e-3 * rtt, push_every=0),  # as Linux acknowledged then
        pf.Transfers(
            pf.Reno(), _AT_ONCE, 1e-3 * rtt, size=SIZES, arrivals=arrivals, name="web", push_every=0
        ),
    ]  # fmt: skip
    scenario = pf.Scenario(_BITS / (1e6 * rate), pf.Link(1e6 * rate, 40_000), aqm, flows)
    found = pf.completions(pf.simulate(scenario, pf.Packets(seeds=_SEEDS)), _AFTER).sel(flows="web")
    return float(found.completion_median.mean()), float(found.completion_mean.mean())


def _alike() -> Claim:
    settings = [(rate, rtt, load) for rate in RATES for rtt in RTTS for load in LOADS]
    times = {
        name: np.array([_times(aqm, *setting) for setting in settings])
        for name, aqm in _queues().items()
    }
    apart = {name: times["PI2"] / times[name] - 1.0 for name in ("PIE", "bare PIE")}
    every = np.abs(np.stack(list(apart.values())))
    typical = np.median(every, axis=1)
    ranges = [
        f"{100 * middle:.0f} % in the median and {100 * mean:.0f} % in the mean from {name}"
        for name, (middle, mean) in zip(apart, typical, strict=True)
    ]
    rate, rtt, load = settings[int(every.max(axis=(0, 2)).argmax())]
    return Claim(
        id="pi2-61",
        source="PI2 paper, section 6",
        text=(
            "Completion times of short flows are essentially the same under PIE, bare PIE and PI2."
        ),
        computed=(
            f"{len(settings)} settings of {RATES[0]:g} to {RATES[-1]:g} Mbit/s, {RTTS[0]:g} to"
            f" {RTTS[-1]:g} ms, Web-like flows for {100 * LOADS[0]:g} or {100 * LOADS[1]:g} % of"
            f" the link beside a long one: PI2 typically is {' and '.join(ranges)}; at most"
            f" {100 * every[..., 0].max():.0f} and {100 * every[..., 1].max():.0f} %, with"
            f" {rate:g} Mbit/s, {rtt:g} ms and {100 * load:g} %."
        ),
        verdict=decide(bool(typical.max() < ALIKE), bool(every.max() < ALIKE)),
        why=(
            f"{100 * ALIKE:g} % counts as the same, and most settings are. Under a heavy load a few"
            " busy periods decide the mean. Sizes and loads are ours: the text has none."
        ),
    )


CLAIMS: Final = (_alike,)
