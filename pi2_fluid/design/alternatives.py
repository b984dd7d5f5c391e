"""What the published and deployed gains would give in the same region, computed in the same way."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.design.by_acks import worst_by_acks
from pi2_fluid.design.plants import plant_of
from pi2_fluid.design.region import Region, Worst, stable_up_to, worst_margins
from pi2_fluid.errors import DomainError
from pi2_fluid.laws import presets
from pi2_fluid.laws.aqms.coupled import CoupledPi2
from pi2_fluid.laws.aqms.pi_family import PiFamily
from pi2_fluid.laws.gains import coupling_of
from pi2_fluid.laws.sender import Sender
from pi2_fluid.records.record import declares

if TYPE_CHECKING:
    import xarray

#: Whose gains the rows of a comparison are.
LABELS: Final = {
    "tuned": "this design",
    "paper": "PI2 paper",
    "rfc9332": "RFC 9332",
    "tc_max_rtt": "tc max_rtt",
    "linux_default": "Linux dualpi2",
    "rfc8033": "RFC 8033 PIE",
}
#: p' at which what depends on the load is quoted.
TYPICAL_LOAD: Final = 0.1
_LEAST: Final = 1e-6  # p, by which PIE's table ends: Reno has 1400 segments there
_LONGEST: Final = 10.0  # times the largest RTT, of an update interval
_STEP: Final = 0.1  # of the load, for the delay error

#: Numbers of a row: unit and meaning.
COLUMNS: Final = {
    "alpha": ("Hz", "integral gain"),
    "beta": ("Hz", "proportional gain"),
    "update_interval": ("s", "time between updates"),
    "target": ("s", "target queue delay"),
    "gain_margin_db": ("dB", "smallest gain margin by rates"),
    "phase_margin": ("degree", "smallest phase margin by rates"),
    "modulus_margin": ("1", "smallest |1 + L| by rates"),
    "verdict_code": ("1", "1 stable by rates, -1 unstable, 0 undecided"),
    "ack_gain_margin_db": ("dB", "smallest gain margin by acknowledgements, on a grid"),
    "ack_phase_margin": ("degree", "smallest phase margin by acknowledgements, on a grid"),
    "ack_verdict_code": ("1", "1 stable by acknowledgements, -1 unstable, 0 undecided or unknown"),
    "worst_rtt": ("s", "round-trip time, with the queue, of the smallest gain margin"),
    "worst_p_prime": ("1", "load of the smallest gain margin, 0 for the limit of none"),
    "rtt_limit": (
        "s",
        "round-trip time, with the queue, up to which every load is stable by rates",
    ),
    "integral_gain": ("1/s^2", "alpha/T on p' at the typical load"),
    "delay_error": ("s^2", "integral of the delay error after 10 % more load"),
    "load_from": ("1", "smallest load of the first sender"),
}


def compare_designs(
    region: Region, aqm: PiFamily, update: str, tuned: Worst
) -> list[dict[str, Any]]:
    """Return margins and integral gain of a design and of the alternatives, a row for each.

    The alternatives are the PI2 paper's gains, the rule of RFC 9332 and tc's ``max_rtt`` for this
    largest RTT, Linux's defaults of DualPI2, and PIE as of RFC 8033. PIE's table has an end; it is
    judged from p = 1e-6 on, in favour of it. Left out is what tc does not take, and what updates
    less than once in ten of the largest RTT.

    Parameters
    ----------
    region : Region
    aqm : PiFamily
        The design.
    update : {"continuous", "delayed", "sampled"}
    tuned : Worst
        Its margins.
    """
    longest = region.max_rtt
    makers: dict[str, Callable[[], PiFamily]] = {
        "tuned": lambda: aqm,
        "paper": presets.pi2_paper,
        "rfc9332": lambda: presets.rfc9332(longest),
        "tc_max_rtt": lambda: presets.tc_max_rtt(longest),
        "linux_default": presets.linux_dualpi2,
        "rfc8033": presets.rfc8033,
    }
    rows = []
    for name, make in makers.items():
        try:
            queue = make()
        except DomainError:
            continue  # tc has no such max_rtt
        if float(queue.update_interval) > _LONGEST * longest:
            continue
        own, where = _for_senders(queue, region.senders), within_reach(region, queue)
        worst = tuned if name == "tuned" else worst_margins(where, own, update)
        rows.append({"design": name, **_row(where, own, update, worst)})
    return rows


def _row(region: Region, aqm: PiFamily, update: str, worst: Worst) -> dict[str, float]:
    strength = integral_gain(aqm, region.senders[0], typical_load(region))
    acks = worst_by_acks(region, aqm, update).worst
    return {
        "alpha": float(aqm.alpha),
        "beta": float(aqm.beta),
        "update_interval": float(aqm.update_interval),
        "target": float(aqm.target),
        "gain_margin_db": float(worst.margins.gain_margin_db),
        "phase_margin": float(worst.margins.phase_margin_deg),
        "modulus_margin": float(worst.margins.modulus_margin),
        "verdict_code": int(worst.margins.verdict_code),
        "ack_gain_margin_db": math.nan if acks is None else float(acks.margins.gain_margin_db),
        "ack_phase_margin": math.nan if acks is None else float(acks.margins.phase_margin_deg),
        "ack_verdict_code": 0 if acks is None else int(acks.margins.verdict_code),
        "worst_rtt": worst.rtt,
        "worst_p_prime": worst.p_prime,
        "rtt_limit": stable_up_to(region, aqm, update),
        "integral_gain": strength,
        "delay_error": _STEP * typical_load(region) / strength,
        "load_from": region.hull[0][0],
    }


def dataset_of(rows: list[dict[str, Any]]) -> xarray.Dataset:
    """Return the rows of a comparison as a Dataset along ``design``."""
    from pi2_fluid.results import Column, make_dataset  # xarray takes 0.3 s to import
    from pi2_fluid.results.ratios import with_ratios

    names = np.array([row["design"] for row in rows])
    table = {
        name: Column(("design",), np.array([row[name] for row in rows]), unit, text)
        for name, (unit, text) in COLUMNS.items()
    }
    designs = {"design": Column(("design",), names, "1", "whose gains")}
    return with_ratios(make_dataset(table, designs, {}))


def integral_gain(aqm: PiFamily, sender: Sender, p_prime: float) -> float:
    """Return alpha/T (1/s^2) as it acts on the sender's p', at a load."""
    factor = 1.0
    if declares(aqm, "encoder") == "linear":
        p = p_prime**2 if sender.signal == "classic" else p_prime
        factor = float(aqm.heard_factor(np.float64(p)))
        if sender.signal == "classic":
            factor /= 2.0 * p_prime
    elif sender.signal == "scalable":
        factor = float(coupling_of(aqm))
    return factor * float(aqm.alpha) / float(aqm.update_interval)


def typical_load(region: Region) -> float:
    """Return the load at which bandwidth and delay error are quoted: 0.1, or the nearest there."""
    low, high = (float(end) for end in region.ends(0, float(region.rtts(0)[-1])))
    return min(max(TYPICAL_LOAD, low), high)


def within_reach(region: Region, aqm: PiFamily) -> Region:
    """Return the region without the loads below p = 1e-6 of pairs whose gain has no bound there.

    These are all senders under PIE, whose table ends there, or any law whose gains change with p,
    and under laws that are not of this package; Cubic, whose gain grows as p falls; and senders
    without a closed form.
    """
    everyone = aqm.gain_edges != () or declares(aqm, "encoder") is None
    ends = []
    for sender in region.senders:
        end = _LEAST**0.5 if sender.signal == "classic" else _LEAST
        bounded = not everyone and plant_of(sender) in ("reno", "scalable")
        ends.append(0.0 if bounded else end)
    load = tuple((max(low, end), high) for (low, high), end in zip(region.load, ends, strict=True))
    return replace(region, load=load)


def _for_senders(aqm: PiFamily, senders: tuple[Sender, ...]) -> PiFamily:
    """Under plain PI2 Scalable senders have no signal of their own: couple the same gains."""
    scalable = any(plant_of(sender) == "scalable" for sender in senders)
    if declares(aqm, "encoder") == "square" and scalable:
        return CoupledPi2(
            alpha=aqm.alpha,
            beta=aqm.beta,
            target=aqm.target,
            update_interval=aqm.update_interval,
            drop_at=aqm.signals_at,
        )
    return aqm
