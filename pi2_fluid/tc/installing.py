"""`install`: what a kernel would run if it were asked for a law; `to_tc`: how to ask for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pi2_fluid.errors import QuantityError, show_value
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.aqms.pi_family import LOOP_WORDS
from pi2_fluid.laws.registry import kind_of
from pi2_fluid.tc.asking import as_words, earlier, microseconds, request, require_mtu
from pi2_fluid.tc.flow_queues import CODELS, codel_line, fq_pie_words
from pi2_fluid.tc.generations import NEWEST, generation_of
from pi2_fluid.tc.options import OPTIONS, Number, defaults, memory_of
from pi2_fluid.tc.parsing import require_hz
from pi2_fluid.tc.qdisc import Qdisc, build
from pi2_fluid.tc.round_trips import TYPICAL, of_round_trips

if TYPE_CHECKING:
    from pi2_fluid.values import Quantity


def install(
    aqm: Aqm, kind: str, *, hz: int = 1000, mtu: int = 1500, kernel: str | None = None
) -> Qdisc:
    """Return the law that the kernel runs when `to_tc` asks for this one.

    Parameters
    ----------
    aqm : Pie, DualPi2, Pi2 or CoupledPi2
        The law. What the kernel lacks of it (the ramp of RFC 9332, other variants' heuristics) is
        replaced by what it has; of the laws with one queue, dualpi2 runs the controller, in two.
    kind : {"pie", "fq_pie", "dualpi2"}
    hz : int
        The kernel's ticks per second (CONFIG_HZ): 100, 250, 300 or 1000.
    mtu : int
        Of the device, in bytes: a default or two depend on it.
    kernel : str, optional
        The version of the kernel, as in `parse`.

    Returns
    -------
    Qdisc
        With `asked` as in `aqm`; times are cut to microseconds, gains of DualPI2 to 1/256 Hz, those
        of PIE rounded to 1/16 Hz, and then whatever the kernel does.

    Raises
    ------
    DomainError
        If tc or the kernel refuses a number, or takes it for none.
    UnsupportedError
        If the kernel has no such controller.

    Examples
    --------
    >>> from pi2_fluid.laws.presets import pi2_paper
    >>> queue = install(pi2_paper(), "dualpi2")
    >>> print(f"{queue.aqm.alpha:.4f} {queue.aqm.beta:.4f}, {100 * queue.rounding['alpha']:.2f} %")
    0.3092 3.1214, -1.05 %
    """
    require_hz(hz)
    generation = NEWEST if kernel is None else generation_of(kernel)
    units, asked = request(aqm, kind, mtu, generation)
    return build(kind, units, hz, generation, parameters=asked)


def install_max_rtt(
    max_rtt: Quantity, typical_rtt: Quantity | None = None, *, hz: int = 1000, mtu: int = 1500
) -> Qdisc:
    """Return what ``tc ... dualpi2 max_rtt`` installs, in tc's own arithmetic.

    target = typical_rtt, by default max_rtt / 6; T = min(typical_rtt, max_rtt / 3);
    alpha = 0.1 T / max_rtt^2, beta = 0.3 / max_rtt, where 0.1 and 0.3 are in single precision.

    Parameters
    ----------
    max_rtt, typical_rtt : float or str
        Round-trip times (s), cut to microseconds.
    hz, mtu
        As in `install`.

    Raises
    ------
    DomainError
        If tc refuses it: typical_rtt above max_rtt, gains below 1/256 Hz or too large.

    Notes
    -----
    Source: iproute2 7.3, tc/q_dualpi2.c.

    Examples
    --------
    >>> queue = install_max_rtt("200ms", "20ms")
    >>> print(f"asked {queue.asked['alpha']:.6f}, acts as {queue.aqm.alpha:.6f}")
    asked 0.050000, acts as 0.043656
    """
    require_hz(hz)
    require_mtu(mtu)
    longest = microseconds(max_rtt, "max_rtt")
    typical = max(longest // TYPICAL, 1)
    if typical_rtt is not None:
        typical = microseconds(typical_rtt, "typical_rtt")
    made, asked = of_round_trips(longest, typical, show_value(max_rtt), show_value(typical_rtt))
    units = defaults("dualpi2", mtu) | made
    return build("dualpi2", units, hz, parameters=asked)


def to_tc(aqm: Aqm, kind: str, *, dev: str = "DEV", hz: int | None = None) -> str:
    """Return the line that asks tc for this law, to paste.

    Parameters
    ----------
    aqm, kind
        As in `install`; also a `FqPie` for fq_pie, a `FqCodel` for fq_codel, a `CoDel` for codel.
    dev : str
        The device, in the place of DEV.
    hz : int, optional
        The kernel's ticks per second. PIE's timer is late by a jiffy; with `hz` the line asks for
        one less, so that the kernel's update interval comes out as the law's if it can.

    Raises
    ------
    DomainError, UnsupportedError
        As `install`.

    Examples
    --------
    >>> from pi2_fluid.laws.presets import linux_pie, tc_max_rtt
    >>> to_tc(linux_pie(), "pie")
    'tc qdisc replace dev DEV root pie target 15ms tupdate 15ms alpha 2 beta 20'
    >>> to_tc(tc_max_rtt("300ms"), "dualpi2", dev="eth0")
    'tc qdisc replace dev eth0 root dualpi2 target 50ms tupdate 50ms alpha 0.0546875 beta 1'
    >>> from pi2_fluid.laws.aqms.fq_codel import FqCodel
    >>> to_tc(FqCodel(target="25ms", interval="120ms", quantum=300), "fq_codel", dev="eth0")
    'tc qdisc replace dev eth0 root fq_codel target 25ms interval 120ms quantum 300'
    """
    name: Any = dev
    if not isinstance(name, str) or not name:
        raise QuantityError(f"dev = {show_value(dev)} is no name of a device: give one, as 'eth0'.")
    if hz is not None:
        require_hz(hz)
    if kind in CODELS:
        return codel_line(aqm, kind, dev)
    own: dict[str, int] = {}
    law: Any = aqm
    if getattr(law, "queues_flows", False) and kind_of(law) == kind:
        own, aqm = fq_pie_words(law), law.inner
    units, exact = request(aqm, kind, 1500)
    units |= own
    if hz is not None:
        units["tupdate"] = earlier(units, hz) if kind != "dualpi2" else units["tupdate"]
    usual = defaults(kind, 1500)
    words = ["tc qdisc replace dev", dev, "root", kind]
    for option in OPTIONS[kind]:
        value = units[option.word]
        if not isinstance(option, Number):
            word = option.words[value]
            if value != usual[option.word] and word is not None:
                words.append(word)
        elif option.word in LOOP_WORDS or value != usual[option.word]:
            words += [option.word, as_words(option, value, exact.get(option.word))]
    return " ".join(words)


def other_words(qdisc: Qdisc) -> list[str]:
    """Return the words for tc of what a queue was asked for beside its loop, but for defaults.

    Examples
    --------
    >>> from pi2_fluid.tc.parsing import parse
    >>> other_words(parse("tc qdisc add dev eth0 root pie limit 500 ecn alpha 3")[0])
    ['limit', '500', 'ecn']
    """
    usual = defaults(qdisc.kind, 1500)
    if "memlimit" in usual:
        usual["memlimit"] = memory_of(qdisc.asked["limit"], 1500)
    words: list[str] = []
    for option in OPTIONS[qdisc.kind]:
        value = qdisc.asked[option.word]
        if value is None or option.word in LOOP_WORDS:
            continue
        if not isinstance(option, Number):
            word = option.words[bool(value)]
            words += [] if bool(value) == usual[option.word] or word is None else [word]
        elif (number := option.unit.nearest(value)) != usual[option.word]:
            words += [option.word, as_words(option, number, None)]
    return words
