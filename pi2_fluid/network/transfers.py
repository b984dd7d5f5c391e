"""`Transfers`: flows that end, from sources that send one after the other, or as they arrive."""

from __future__ import annotations

from dataclasses import dataclass

from pi2_fluid.errors import ScenarioError, show_value
from pi2_fluid.network.flows import Flows
from pi2_fluid.network.sizes import Sizes
from pi2_fluid.records.record import OptionalParameter, described, quantity


@dataclass(frozen=True, eq=False)
class Transfers(Flows):
    """A class of flows that end after a number of segments (packets only).

    Every transfer is a connection of its own, with a handshake, an initial window and slow start.
    It begins when its SYN is sent, and ends when its last segment is acknowledged; what was lost is
    sent again until it arrives. With `idle` there are `count` sources, each of which sends one
    transfer after the other, from its start on; with `arrivals` transfers come at random whatever
    becomes of the others, `count` of them at once at most.

    Parameters
    ----------
    sender, count, base_rtt, name, start, stop, start_jitter, initial_window, slow_start, \
delayed_ack, push_every, ecn, route, hops, back, back_hops, \
packet_size
        As of `Flows`; transfers that are under way at `stop` are cut off.
    size : Sizes
        How many segments: `Fixed`, `Exponential`, `Pareto` or `Empirical`.
    idle : float or str, optional
        Mean time from the end of a transfer to the next of its source (s), >= 0; exponential.
    arrivals : float or str, optional
        Transfers per second (Hz) in place of `idle`, > 0; times between them are exponential. One
        that comes while `count` of them are under way is turned away, and counted as such.

    Raises
    ------
    ScenarioError
        If the size is missing, or idle and arrivals are given both, or none of them; if the sender
        is not acknowledged; if there is a start_jitter, which sources have, beside arrivals.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> web = pf.Transfers(pf.Reno(), 5, "40ms", size=pf.Pareto(1.2, 10), idle="1s", name="web")
    >>> scenario = pf.Scenario("20s", pf.Link("10Mbit/s"), pf.Pi2(), web)
    >>> runs = pf.simulate(scenario, pf.Packets(seeds=3))
    >>> found = pf.completions(runs)
    >>> found.completion_median.dims, bool((found.completion_median > 0.04).all())
    (('seed', 'flows'), True)
    """

    size: Sizes | None = described(None, "a distribution")
    idle: OptionalParameter = quantity(None, "time", closed=True, optional=True)
    arrivals: OptionalParameter = quantity(None, "frequency", optional=True)

    finite = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.size, Sizes):
            raise ScenarioError(
                f"Transfers size = {show_value(self.size)} is no distribution of sizes: give e.g."
                " Fixed(30) or Pareto(1.2, 10)."
            )
        if self.idle is None and self.arrivals is None:
            raise ScenarioError(
                "Transfers idle = None is missing: give the mean time between two transfers of a"
                ' source, e.g. "1s", or arrivals in place of it, e.g. "20/s".'
            )
        if self.idle is not None and self.arrivals is not None:
            raise ScenarioError(
                f"Transfers arrivals = {show_value(self.arrivals)} are given beside idle ="
                f" {show_value(self.idle)}: give one of them, for sources wait and arrivals do not."
            )
        if self.sender.constant_rate is not None:
            raise ScenarioError(
                f"Transfers sender = {show_value(self.sender)} is not acknowledged, so that no"
                " transfer of it ends: use another sender, e.g. Reno(), or Flows."
            )
        if self.arrivals is not None and self.start_jitter:
            raise ScenarioError(
                f"Transfers start_jitter = {show_value(self.start_jitter)} spreads the first"
                " transfers of sources, and arrivals come at random anyway: leave it out."
            )
