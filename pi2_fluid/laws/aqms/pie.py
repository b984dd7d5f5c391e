"""PIE: the PI controller with gains scaled by a table of its own output.

Below the class: its numbers as the packet kernel takes them, named as in native/packet/queues/pie.c
and native/packet/controllers/pie.h. What a variant leaves open, such as its burst allowance, is
settled there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

from pi2_fluid.errors import UnsupportedError
from pi2_fluid.laws.aqm import Signal
from pi2_fluid.laws.aqms.pi_family import (
    PiFamily,
    controller_numbers,
    first_update_of,
    require_computable,
    require_integer_gains,
)
from pi2_fluid.laws.kernel.units import PIE_GAIN, PIE_INTERVAL, PIE_TARGET, SWITCH
from pi2_fluid.laws.packet_limits import require_single
from pi2_fluid.laws.seen import Seen
from pi2_fluid.ops import Number, maximum, minimum, sqrt, where
from pi2_fluid.records.record import OptionalParameter, Parameter, again, choice, quantity
from pi2_fluid.units import LONG_WAIT

if TYPE_CHECKING:
    from pi2_fluid.laws.aqm import Line
    from pi2_fluid.values import FloatArray

E = TypeVar("E", float, "FloatArray")

_EXTENDED: Final = (
    (1e-6, 1 / 2048),
    (1e-5, 1 / 512),
    (1e-4, 1 / 128),
    (1e-3, 1 / 32),
    (1e-2, 1 / 8),
    (1e-1, 1 / 2),
)
#: (edge, factor on alpha and beta below that edge), first match wins; 1 above all edges.
TABLES: Final[dict[str, tuple[tuple[float, float], ...]]] = {
    # RFC 8033 section 4.2, and Linux since 5.1
    "rfc8033": _EXTENDED,
    # DOCSIS cable modems: the steps go on upwards, too
    "rfc8034": (*_EXTENDED, (1.0, 2.0), (10.0, 8.0)),
    # PIE paper (HPSR'13), and Linux 3.14 to 5.0
    "hpsr13": ((1e-2, 1 / 8), (1e-1, 1 / 2)),
    # The first IETF drafts stopped at 0.1 %
    "ietf_early": ((1e-3, 1 / 32), (1e-2, 1 / 8), (1e-1, 1 / 2)),
    "none": (),
}
_VARIANT_TABLE: Final = {
    "linux6.18": "rfc8033",
    "linux4.14": "hpsr13",
    "rfc8033": "rfc8033",
    "hpsr13": "hpsr13",
}
# Which variant has which heuristic, and by what factor it lets p decay on an idle queue.
_CAPS: Final = {"linux6.18", "linux4.14", "rfc8033"}
_BOOSTS: Final = {"linux6.18", "linux4.14"}
_DECAY: Final = {"linux6.18": 1.0 - 1.0 / 64.0, "linux4.14": 0.98, "rfc8033": 0.98}
#: Of probability: the most that an update adds, and what a long delay adds.
STEP: Final = 0.02
_CAPPED_ABOVE: Final = 0.1
_LONG_DELAY: Final = 0.25  # s
_SPACING: Final = 0.85  # of probabilities that have added up, before a signal may come
_SPREAD: Final = 1.0 / (1.0 + _SPACING)  # of u that packets see on average
# From u = 0.85 on, where each packet's u adds up to enough: straight from there to 1.
_STEEP: Final = (1.0 - _SPACING * _SPREAD) / (1.0 - _SPACING)
# A p this close (relative) to an edge counts as on it, hence not below it: powers of ten computed
# by 10.0**x or logspace may come out one rounding below the decade, a jump of 12 dB.
_SNAP: Final = 1e-9


def just_below(edge: E) -> E:
    """Return where the factor below `edge` ends."""
    return edge * (1.0 - _SNAP)


# As the packet kernel counts and knows them.
#: Gain tables of PIE, in the order of their numbers in the kernel; those that shifts can express.
_TABLES: Final = ("none", "rfc8033", "rfc8034", "hpsr13", "ietf_early", "sqrt2p")
_BY_SHIFTS: Final = {
    "linux6.18": ("rfc8033", "hpsr13", "ietf_early", "none"),
    "linux4.14": ("hpsr13", "ietf_early", "none"),
}
_ARITHMETIC: Final = {"linux6.18": 1, "linux4.14": 2}
#: Of each variant of PIE: burst allowance (s), bytes and weight of the rate estimator.
_BURST: Final = {"linux6.18": 0.15, "linux4.14": 0.1, "rfc8033": 0.15, "hpsr13": 0.1}
_CYCLE: Final = {"linux6.18": 16384, "linux4.14": 10000, "rfc8033": 16384, "hpsr13": 10000}
_WEIGHT: Final = {"rfc8033": 0.5}
_LINUX: Final = ("linux6.18", "linux4.14")


@dataclass(frozen=True, eq=False, kw_only=True)
class Pie(PiFamily):
    """PIE: every packet sees p = u, or a part of it, and a factor of u multiplies alpha and beta.

    Parameters
    ----------
    alpha, beta
        The base gains in Hz, before the table.
    target, update_interval, arithmetic, quirks, first_update
        As in `PiFamily`; only the Linux variants have integers.
    table : {"rfc8033", "rfc8034", "hpsr13", "ietf_early", "sqrt2p", "none"}, optional
        The scaling of both gains: a step table, or the curve sqrt(2p) that the tables approximate
        (PI2 paper, Figure 5). None takes the variant's.
    variant : {"linux6.18", "linux4.14", "rfc8033", "hpsr13"}
        Whose table and heuristics are meant where the field itself is None.
    cap : bool, optional
        From p = 10 % on, no update adds more than 2 %. Not in "hpsr13".
    boost250 : bool, optional
        Each update with a delay above 250 ms adds 2 % more. Linux only.
    decay : bool, optional
        On an idle queue (two delays of 0) each update multiplies p by 1 - 1/64 (Linux since 5.1)
        or 0.98. Not in "hpsr13".
    burst : float or str, optional
        Burst allowance (s): nothing is signalled until it has run out; it is given anew when p is
        0 and two delays were below half the target. None: no allowance in the fluid, but the
        variant's in packets, 150 ms ("linux6.18", "rfc8033") or 100 ms. It runs out with the time
        between departures (Linux) or at each update.
    half_target : bool, optional
        Nothing is signalled while p is below 20 % and the delay below half the target: the latest
        delay (Linux), or that of the last update. Not in "hpsr13".
    derandomize : bool, optional
        Signals are spread: none before the probabilities of the packets since the last one add up
        to 0.85, and one at 8.5 at the latest. So they are 1.85/u packets apart, and flows hear
        u/1.85; from u = 0.85 on more, up to all. In "linux6.18" alone.
    rate_estimator : bool, default False
        The delay is the backlog over the rate at which packets leave, as in the PIE paper and in
        Linux 4.14; otherwise it is the time that the last packet has waited.
    ecn : bool, default False
        Packets that can be marked are marked instead of dropped, as long as p is at most
        `mark_limit`.
    mark_limit : float, default 0.1
        That limit, in [0, 1]; 1 marks always. Linux has 10 %, and tc no word for it; RFC 8033,
        section 5.1, recommends 10 %, and ns-3 asks for one. The PI2 paper's PIE marks above it,
        too (section 5).
    drop_at : {"enqueue", "dequeue"}
        Where packets are judged.
    bytemode : bool, default False
        A packet is signalled with p times its part of a full one: small packets are spared.

    Raises
    ------
    QuantityError
        If a field is no number of its unit, or a word that it does not know.
    DomainError
        If a number is outside its range, as alpha = 0 is: without it
        the delay never settles at its target.

    Notes
    -----
    The last five, and `half_target`, are for packets only: the fluid does not tell marks from
    drops. Packets see a random u by lots of their own; of Linux's, which are spread, fluids and
    loops have the mean.

    The other heuristics do not act at rest, so a loop does not depend on them.

    Source: PIE paper (HPSR'13), section IV; RFC 8033, sections 4.2 and 5; PI2 paper, Figure 5.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> queue = pf.Pie(table="rfc8033")
    >>> [queue.gain_factor(p) for p in (0.0005, 0.05, 0.5)]
    [0.03125, 0.5, 1.0]
    >>> margins = pf.Loop(pf.Reno(), queue, rtt="100ms", p=0.01).margins()
    >>> print(f"{margins.gain_margin_db:.2f} dB")
    2.11 dB
    """

    discipline: ClassVar = "pie"
    encoder: ClassVar = "linear"
    spares: ClassVar = True
    packets_only: ClassVar = (
        *PiFamily.packets_only,
        "half_target",
        "rate_estimator",
        "ecn",
        "mark_limit",
        "drop_at",
        "bytemode",
    )

    alpha: Parameter = again(PiFamily, "alpha", kernel=PIE_GAIN)
    beta: Parameter = again(PiFamily, "beta", kernel=PIE_GAIN)
    target: Parameter = again(PiFamily, "target", "15ms", kernel=PIE_TARGET)
    update_interval: Parameter = again(PiFamily, "update_interval", "15ms", kernel=PIE_INTERVAL)
    table: str | None = choice(None, (None, *TABLES, "sqrt2p"))
    variant: str = choice("linux6.18", tuple(_VARIANT_TABLE))
    cap: bool | None = choice(None, (None, True, False))
    boost250: bool | None = choice(None, (None, True, False))
    decay: bool | None = choice(None, (None, True, False))
    burst: OptionalParameter = quantity(None, "time", usual=LONG_WAIT, closed=True, optional=True)
    half_target: bool | None = choice(None, (None, True, False))
    derandomize: bool | None = choice(None, (None, True, False))
    rate_estimator: bool = choice(False, (True, False), tc="dq_rate_estimator", kernel=SWITCH)
    ecn: bool = choice(False, (True, False), tc="ecn", kernel=SWITCH)
    mark_limit: Parameter = quantity(0.1, "number", high=1.0, closed=True)
    drop_at: str = choice("enqueue", ("enqueue", "dequeue"))
    bytemode: bool = choice(False, (True, False), tc="bytemode", kernel=SWITCH)

    def initial(self) -> tuple[Number, ...]:
        """Return (u, delay before) of an idle queue, and the burst allowance if there is one."""
        return (0.0, 0.0) if self.burst is None else (0.0, 0.0, self.burst)

    def gain_factor(self, u: Number) -> Number:
        """Return the factor on alpha and beta at probability `u`.

        Examples
        --------
        >>> [float(Pie().gain_factor(p)) for p in (0.005, 0.01, 0.2)]
        [0.125, 0.5, 1.0]
        """
        name = self.gain_table
        if name == "sqrt2p":
            return sqrt(2.0 * u)
        factor: Number = 1.0
        for edge, below in reversed(TABLES[name]):
            factor = where(u < just_below(edge), below, factor)
        return factor

    @property
    def gain_edges(self) -> tuple[float, ...] | None:
        """The table's edges; None of the curve "sqrt2p"."""
        table = TABLES.get(self.gain_table)
        return None if table is None else tuple(edge for edge, _ in table)

    def update(self, state: tuple[Number, ...], seen: Seen, dt: Number) -> tuple[Number, ...]:
        """Return the state after one update: the PI step, then the heuristics in their order."""
        u, before = state[:2]
        delay = seen.queue_delay
        step = self.alpha * (delay - self.target) + self.beta * (delay - before)
        step = self.gain_factor(u) * step
        if self.caps:
            step = where((step > STEP) & (u >= _CAPPED_ABOVE), STEP, step)
        if self.boosts:
            step = step + where(delay > _LONG_DELAY, STEP, 0.0)
        new = u + step
        if self.idle_decay < 1.0:
            idle = (delay == 0.0) & (before == 0.0)
            new = where(idle, new * self.idle_decay, new)
        if self.burst is None:
            return (new, delay)
        calm = (delay < self.target / 2) & (before < self.target / 2) & (new <= 0.0)
        left = where(state[2] > dt, state[2] - dt, 0.0)
        return (new, delay, where(calm, self.burst, left))

    def flow(
        self, state: tuple[Number, ...], seen: Seen, d_queue_delay: Number
    ) -> tuple[Number, ...]:
        """Return d(state)/dt: equation (29), and the heuristics as rates per update interval.

        The cap limits the integral part only, so that a jump of the delay keeps its meaning.
        """
        (u, *rest), T = state, self.update_interval
        delay = seen.queue_delay
        factor = self.gain_factor(u)
        integral = factor * self.alpha * (delay - self.target)
        if self.caps:
            integral = where((integral > STEP) & (u >= _CAPPED_ABOVE), STEP, integral)
        if self.boosts:
            integral = integral + where(delay > _LONG_DELAY, STEP, 0.0)
        if self.idle_decay < 1.0:
            integral = integral + where(delay == 0.0, (self.idle_decay - 1.0) * u, 0.0)
        slope = integral / T + factor * (self.beta + self.alpha / 2) * d_queue_delay
        if len(rest) == 1:
            return (slope, d_queue_delay)
        return (slope, d_queue_delay, where(rest[1] > 0.0, -1.0, 0.0))

    def signals(self, state: tuple[Number, ...], seen: Seen) -> Signal:
        """Return what `encode` says, or nothing while the burst allowance lasts."""
        if len(state) == 2:
            return self.encode(state[0])
        return self.encode(where(state[2] > 0.0, 0.0, state[0]))

    def holds(self) -> bool:
        """Return True: the heuristics act where p does, at updates."""
        return True

    def saturate(self, state: tuple[Number, ...]) -> tuple[Number, ...]:
        """Return the state with `u` kept in [0, 1]."""
        return (super().saturate(state[:2])[0], *state[1:])

    def at_rest(self, u: Number, capacity: Number) -> tuple[tuple[Number, ...], Number]:
        """Return the state at rest, (u, target), and the queue delay: the target, at any load."""
        state, delay = super().at_rest(u, capacity)
        return (state if self.burst is None else (*state, 0.0)), delay

    @property
    def measures(self) -> str:
        """The head's waiting, or the backlog over the rate that is estimated."""
        return "backlog" if self.rate_estimator else "head"

    @property
    def signals_by_lot(self) -> bool:
        """Whether `derandomize` is not in force."""
        spread = self.variant == "linux6.18" if self.derandomize is None else self.derandomize
        return not spread

    @property
    def signal_spacing(self) -> float:
        """0.85 where `derandomize` is in force (RFC 8033, section 5.4)."""
        return 0.0 if self.signals_by_lot else _SPACING

    @property
    def gain_table(self) -> str:
        """The name of the scaling in force: `table`, or else the variant's."""
        return self.table or _VARIANT_TABLE[self.variant]

    @property
    def caps(self) -> bool:
        """Whether `cap` is in force."""
        return self.variant in _CAPS if self.cap is None else self.cap

    @property
    def boosts(self) -> bool:
        """Whether `boost250` is in force."""
        return self.variant in _BOOSTS if self.boost250 is None else self.boost250

    @property
    def idle_decay(self) -> float:
        """The factor on p at each update of an idle queue, 1 if `decay` is not in force."""
        if self.decay is False:
            return 1.0
        return _DECAY.get(self.variant, 0.98 if self.decay else 1.0)

    def packet_parameters(self, link: Line) -> dict[str, Any]:
        """Return the numbers of the discipline "pie"."""
        return pie_parameters(self)

    def update_parameters(self, link: Line) -> tuple[str, dict[str, Any]]:
        """Return the discipline "pie" without its estimate of the rate, since the delay is told."""
        return "pie", pie_parameters(replace(self, rate_estimator=False))

    def encode(self, u: Number) -> Signal:
        """Return (u, u), or where signals are spread u/1.85 twice.

        There, from u = 0.85 on, what packets see rises straight to 1: no signal waits any longer.

        Examples
        --------
        >>> for u in (0.0185, 0.85, 1.0):
        ...     print(f"{Pie().encode(u).classic:.4f}", end=" ")
        0.0100 0.4595 1.0000
        """
        if self.signals_by_lot:
            return Signal(u, u)
        p = maximum(u * _SPREAD, 1.0 - (1.0 - u) * _STEEP)
        return Signal(p, p)

    def decode(self, p: Number, signal: str) -> Number:
        """Return the u of which packets see `p`."""
        if self.signals_by_lot:
            return p
        return minimum(p / _SPREAD, 1.0 - (1.0 - p) / _STEEP)

    def heard_factor(self, p: Number) -> Number:
        """Return the factor of the table where packets see `p`, and that from u to p.

        Examples
        --------
        >>> queue = Pie(table="rfc8033")  # whose u is 0.0185 where packets see 1 %
        >>> print(f"{queue.heard_factor(0.01):.4f}", queue.gain_factor(0.0185))
        0.2703 0.5
        """
        factor = self.gain_factor(self.decode(p, "classic"))
        if self.signals_by_lot:
            return factor
        return factor * where(p < _SPREAD * _SPACING, _SPREAD, _STEEP)

    @property
    def heard_edges(self) -> tuple[float, ...] | None:
        """Where packets see the table's edges, and 0.459, where spread signals cease to wait."""
        edges = self.gain_edges
        if edges is None or self.signals_by_lot:
            return edges
        return tuple(float(self.encode(u).classic) for u in sorted({*edges, _SPACING}))


def heuristic_numbers(law: Pie) -> dict[str, Any]:
    """Return the table of gains by its number, and the heuristics that are in force."""
    return {
        "table": _TABLES.index(law.gain_table),
        "cap": law.caps,
        "boost": law.boosts,
        "decay": law.idle_decay,
    }


def pie_parameters(law: Pie) -> dict[str, Any]:
    """Return what configures the queue discipline "pie".

    Returns
    -------
    dict of str to float
        As native/packet/queues/pie.c says: the law's numbers, whose burst is -1 unless it runs out
        at updates; arithmetic, 0 real, 1 of 56 bits, 2 of 32 bits; half_target, 0 no, 1 latest
        delay, 2 last update's.

    Raises
    ------
    UnsupportedError
        If a field holds an array, or ``arithmetic="fixed"`` is asked of a variant or a table that
        no kernel has.
    DomainError
        If a time or a gain is beyond what packets, or the kernel's integers, can count.
    """
    require_single(law)
    variant, linux = law.variant, law.variant in _LINUX
    require_computable(law)
    if law.arithmetic == "fixed":
        _require_kernel(law)
        require_integer_gains(law)
    burst = _BURST[variant] if law.burst is None else law.burst
    half = variant != "hpsr13" if law.half_target is None else law.half_target
    return (
        controller_numbers(law)
        | heuristic_numbers(law)
        | {
            "burst": -1.0 if linux else burst,
            "allowance": burst,
            "burst_by_update": not linux,
            "strict_idle": linux,
            "first_update": first_update_of(law, late=linux),
            "arithmetic": _ARITHMETIC[variant] if law.arithmetic == "fixed" else 0,
            "quirks": law.quirks,
            "half_target": (1 if linux else 2) if half else 0,
            "derandomize": not law.signals_by_lot,
            "rate_estimator": law.rate_estimator,
            "rate_threshold": _CYCLE[variant],
            "rate_weight": _WEIGHT.get(variant, 1 / 8),
            "ecn": law.ecn,
            "mark_limit": law.mark_limit,
            "at_dequeue": law.drop_at == "dequeue",
            "bytemode": law.bytemode,
        }
    )


def _require_kernel(law: Pie) -> None:
    if law.variant not in _BY_SHIFTS:
        raise UnsupportedError(
            f'Pie variant = "{law.variant}" is no kernel, so that arithmetic = "fixed" has no'
            f' meaning: give variant = "linux6.18" or "linux4.14", or arithmetic = "real".'
        )
    known = _BY_SHIFTS[law.variant]
    if law.gain_table not in known:
        raise UnsupportedError(
            f'Pie table = "{law.gain_table}" is more than the integers of {law.variant} can'
            f' express: give one of {", ".join(known)}, or arithmetic = "real".'
        )
