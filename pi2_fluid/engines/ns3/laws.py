"""What runs a law in ns-3: a queue disc or a congestion control, by name, with its attributes.

The two tables at the end say which laws ns-3 has. What a law's fields ask for and ns-3 does
otherwise is refused where it decides what the law does, and listed as not modelled elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pi2_fluid.errors import UnsupportedError, show_value
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.elsewhere import stands_for
from pi2_fluid.laws.opaque import require_equations
from pi2_fluid.laws.packet_limits import require_single
from pi2_fluid.laws.registry import kind_of
from pi2_fluid.laws.sender import Sender
from pi2_fluid.network.link import Link
from pi2_fluid.records.record import require_scalars

if TYPE_CHECKING:
    from pi2_fluid.laws.aqms.codel import CoDel
    from pi2_fluid.laws.aqms.pi_family import PiFamily
    from pi2_fluid.laws.aqms.pie import Pie
    from pi2_fluid.laws.aqms.red import Red
    from pi2_fluid.laws.aqms.taildrop import TailDrop
    from pi2_fluid.laws.senders.cubic import Cubic
    from pi2_fluid.laws.senders.dctcp import Dctcp
    from pi2_fluid.laws.senders.reno import Reno

_TABLE: Final = "rfc8033"
_DECAY: Final = 0.98  # of an idle PIE
_LATER: Final = 2  # how the kernel numbers a `half_target` that is asked of the last update's delay
_WEIGHT: Final = 0.5  # of PIE's estimate of the rate
_HALF: Final = 0.5  # what Reno removes
# Adaptive RED: the constants of Floyd, Gummadi and Shenker, of which one differs in ns-3.
_ADAPTIVE: Final = {"Alpha": "0.01", "Beta": "0.9", "Top": "0.5", "Bottom": "0.01"}


class Described(NamedTuple):
    """An object of ns-3."""

    type: str
    """Its TypeId, without namespace."""
    attributes: dict[str, str]
    """As ns-3 reads them from text."""
    full: tuple[str, ...] = ()
    """Of a queue disc: the reasons that it gives for drops for want of room."""
    not_modelled: tuple[str, ...] = ()
    """Fields of the law that ask for what ns-3 does otherwise."""


def queue_disc_of(law: Aqm, link: Link) -> Described:
    """Return the queue disc that runs a law.

    Parameters
    ----------
    law : Aqm
        With single numbers, not arrays.
    link : Link
        Whose packets it queues.

    Raises
    ------
    UnsupportedError
        If ns-3 has no such queue disc (a subclass is another law), or not with these fields.
    DomainError
        If a number is beyond what packets can count.

    Examples
    --------
    >>> from pi2_fluid.laws.aqms.taildrop import TailDrop
    >>> queue_disc_of(TailDrop(), Link("10Mbit/s", buffer=100))[:2]
    ('FifoQueueDisc', {'MaxSize': '100p'})
    """
    require_equations(law)
    make = stands_for(law, _QUEUES, "queue disc in ns-3")
    require_single(law)
    made = make(law, link)
    return made._replace(attributes={"MaxSize": f"{int(link.buffer)}p"} | made.attributes)


def congestion_of(sender: Sender) -> Described:
    """Return the congestion control that runs a sender.

    Raises
    ------
    UnsupportedError
        If ns-3 has no such congestion control (a subclass is another law), or not with these
        fields.

    Examples
    --------
    >>> from pi2_fluid.laws.senders.cubic import Cubic
    >>> congestion_of(Cubic(c=0.5))[:2]
    ('TcpCubic', {'C': '0.5', 'Beta': '0.7', 'HyStart': 'true'})
    """
    require_equations(sender)
    return stands_for(sender, _SENDERS, "congestion control in ns-3", also=" or Cbr")(sender)


def ns3_attributes(aqm: PiFamily) -> dict[str, str]:
    """Return the attributes of ns-3's PieQueueDisc, and of FqPieQueueDisc, as text.

    Raises
    ------
    UnsupportedError
        For any other queue than PIE with the table of RFC 8033.

    Notes
    -----
    Source: ns-3, src/traffic-control/model/pie-queue-disc.cc.

    Examples
    --------
    >>> from pi2_fluid.laws.presets import linux_pie
    >>> ns3_attributes(linux_pie())["Tupdate"]
    '15ms'
    """
    tell = _GAINS.get(str(kind_of(aqm)))
    if tell is None:
        raise UnsupportedError(
            f"ns-3 has no {type(aqm).__name__}, neither PI2 nor DualPI2: give a design of"
            ' aqm="pie".'
        )
    require_scalars(aqm)
    return tell(aqm)


def _pie_gains(law: Pie) -> dict[str, str]:
    """Return the numbers of PIE's loop: gains by the table of RFC 8033, and which part is heard."""
    if law.gain_table != _TABLE:
        raise UnsupportedError(
            f'Pie table = "{law.gain_table}" is not what ns-3 scales its gains by: give table ='
            f' "{_TABLE}".'
        )
    return {
        "A": repr(float(law.alpha)),
        "B": repr(float(law.beta)),
        "QueueDelayReference": _time(law.target),
        "Tupdate": _time(law.update_interval),
        "UseDerandomization": _truth(not law.signals_by_lot),
    }


# The queues


def _pie(law: Pie, link: Link) -> Described:
    """PieQueueDisc: RFC 8033 in real numbers, whose first update comes at time 0.

    It begins the burst allowance with the first packet that comes while p is not in force, exempts
    two packets of queue whatever their size, and has no step for delays above 250 ms.
    """
    numbers = law.packet_parameters(link)
    if law.drop_at != "enqueue":
        raise UnsupportedError(
            f'Pie drop_at = "{law.drop_at}" is not in ns-3, which judges packets as they come:'
            ' give drop_at = "enqueue".'
        )
    other = {
        "arithmetic": law.arithmetic != "real",
        "first_update": law.first_update is not None,
        "boost250": law.boosts,
        "decay": law.idle_decay != _DECAY,
        "half_target": numbers["half_target"] != _LATER,
        "bytemode": law.bytemode,
        "rate_estimator": law.rate_estimator and numbers["rate_weight"] != _WEIGHT,
    }
    return Described(
        "PieQueueDisc",
        _pie_gains(law)
        | {
            "MaxBurstAllowance": _time(numbers["allowance"]),
            "UseCapDropAdjustment": _truth(law.caps),
            "UseDequeueRateEstimator": _truth(law.rate_estimator),
            "DequeueThreshold": str(int(numbers["rate_threshold"])),
            "UseEcn": _truth(law.ecn),
            "MarkEcnThreshold": repr(float(numbers["mark_limit"])),
        },
        full=("Forced drop",),
        not_modelled=tuple(name for name, differs in other.items() if differs),
    )


def _red(law: Red, link: Link) -> Described:
    """RedQueueDisc, which counts in packets as its limit does, in real numbers.

    It lets the average decay while the link is idle by as many packets as the link could have sent;
    that of a law without `idle_decay` is told of a link that sends none.
    """
    numbers = law.packet_parameters(link)
    if law.spacing == "none":
        raise UnsupportedError(
            'Red spacing = "none" is not in ns-3, which spaces its signals: give spacing ='
            ' "uniform" or "wait".'
        )
    for field in ("nodrop", "mark_min"):
        if getattr(law, field):
            raise UnsupportedError(
                f"Red {field} = {show_value(getattr(law, field))} is not in ns-3, which has one"
                " ramp, and drops what it cannot mark: simulate Packets(), or leave it out."
            )
    adaptive: dict[str, str] = {}
    if law.adaptive:
        adaptive = {"AdaptMaxP": "true", "Interval": _time(law.update_interval)} | _ADAPTIVE
    return Described(
        "RedQueueDisc",
        {
            "MinTh": repr(float(law.min)),
            "MaxTh": repr(float(law.max)),
            "LInterm": repr(1.0 / float(law.max_p)),
            "QW": repr(float(law.weight)),
            "Gentle": _truth(law.gentle),
            "Wait": _truth(law.spacing == "wait"),
            "MeanPktSize": str(int(link.packet_size)),
            "LinkBandwidth": f"{round(float(link.capacity)) if law.idle_decay else 1}bps",
            "UseEcn": _truth(law.ecn),
            "UseHardDrop": _truth(law.harddrop),
        }
        | adaptive,
        # A MaxSize in packets has ns-3 count packets, too.
        not_modelled=("arithmetic",) * bool(numbers["fixed"]) + ("bytes",) * law.bytes,
    )


def _codel(law: CoDel, link: Link) -> Described:
    """CoDelQueueDisc, which counts in Linux's integers, and spares a queue of one packet."""
    law.packet_parameters(link)
    return Described(
        "CoDelQueueDisc",
        {
            "Target": _time(law.target),
            "Interval": _time(law.interval),
            "MinBytes": str(int(link.packet_size)),
            "UseEcn": _truth(law.ecn),
        },
        full=("Overlimit drop",),
        not_modelled=("arithmetic",) if law.arithmetic != "fixed" else (),
    )


def _taildrop(law: TailDrop, link: Link) -> Described:
    """FifoQueueDisc."""
    del law, link
    return Described("FifoQueueDisc", {}, full=("Queue disc limit exceeded",))


# The senders


def _reno(sender: Reno) -> Described:
    """TcpLinuxReno, which counts segments, or TcpNewReno, which counts acknowledgements."""
    if sender.decrease != _HALF:
        raise UnsupportedError(
            f"Reno decrease = {float(sender.decrease):g} is not in ns-3, whose Reno removes half:"
            " give decrease = 0.5, or use another engine, e.g. Packets()."
        )
    return Described("TcpNewReno" if sender.growth == "per_ack" else "TcpLinuxReno", {})


def _cubic(sender: Cubic) -> Described:
    """TcpCubic, whose Reno-friendly estimate counts as Linux's does."""
    if sender.variant != "linux":
        raise UnsupportedError(
            f'Cubic variant = "{sender.variant}" is not in ns-3: give variant = "linux", or use'
            " another engine, e.g. Packets()."
        )
    return Described(
        "TcpCubic",
        {
            "C": repr(float(sender.c)),
            "Beta": repr(1.0 - float(sender.decrease)),
            "HyStart": _truth(sender.hystart),
        },
    )


def _dctcp(sender: Dctcp) -> Described:
    """TcpDctcp, in real numbers; its packets carry ECT(1)."""
    return Described(
        "TcpDctcp",
        {"DctcpShiftG": repr(float(sender.gain)), "UseEct0": "false"},
        not_modelled=("variant",) if sender.variant != "rfc8257" else (),
    )


# Text


def _truth(value: Any) -> str:
    return "true" if value else "false"


def _time(seconds: Any) -> str:
    """Return a time as ns-3 reads it: a whole number of the largest unit from ms down to ns.

    Examples
    --------
    >>> _time(0.015), _time(16e-8)
    ('15ms', '160ns')
    """
    ns = round(float(seconds) * 1e9)
    for unit, size in (("ms", 10**6), ("us", 10**3)):
        if ns % size == 0:
            return f"{ns // size}{unit}"
    return f"{ns}ns"


_QUEUES: Final[dict[str, Callable[[Any, Link], Described]]] = {
    "pie": _pie,
    "red": _red,
    "codel": _codel,
    "taildrop": _taildrop,
}
_SENDERS: Final[dict[str, Callable[[Any], Described]]] = {
    "reno": _reno,
    "cubic": _cubic,
    "dctcp": _dctcp,
}
#: What has gains that ns-3 can be told without a scenario.
_GAINS: Final[dict[str, Callable[[Any], dict[str, str]]]] = {"pie": _pie_gains}
