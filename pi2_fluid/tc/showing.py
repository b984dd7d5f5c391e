"""How tc prints a queue: the line of ``tc qdisc show``, and the object of ``tc -j``."""

from __future__ import annotations

from typing import Any

from pi2_fluid.errors import QuantityError, UnsupportedError, show_value
from pi2_fluid.laws.kernel.gains import single
from pi2_fluid.tc import kernel
from pi2_fluid.tc.options import NULL, OPTIONS, Number, Switch
from pi2_fluid.tc.qdisc import Qdisc


def show(qdisc: Qdisc) -> str:
    """Return the line that ``tc qdisc show`` prints of a queue, with times to three digits.

    Parameters
    ----------
    qdisc : Qdisc
        As `parse` or `install` returns it.

    Raises
    ------
    QuantityError
        If it is something else.
    UnsupportedError
        If it is a queue of FreeBSD.

    Examples
    --------
    >>> from pi2_fluid.laws.presets import linux_pie
    >>> from pi2_fluid.tc.installing import install
    >>> show(install(linux_pie(), "pie"))
    'qdisc pie 0: root limit 1000p target 15ms tupdate 15ms alpha 2 beta 20 '
    """
    _require_qdisc(qdisc)
    words = ["qdisc", qdisc.kind, qdisc.handle or "0:"]
    if qdisc.dev is not None:
        words += ["dev", qdisc.dev]
    parent = qdisc.parent or "root"
    words += [parent] if parent == "root" else ["parent", parent]
    for option in OPTIONS[qdisc.kind]:
        value = qdisc.shown[option.word]
        if value is None:
            continue  # of another tree of tc, or another unit
        if isinstance(option, Number):
            words += [option.word, _number_text(option, value)]
        elif (word := option.words[bool(value)]) is not None:
            words.append(word)
    return " ".join(words) + " "


def show_json(qdisc: Qdisc) -> dict[str, Any]:
    """Return the object that ``tc -j qdisc show`` prints of a queue, as `json` reads it.

    Parameters
    ----------
    qdisc : Qdisc
        As `parse` or `install` returns it.

    Raises
    ------
    QuantityError
        If it is something else.
    UnsupportedError
        If it is a queue of FreeBSD.

    Examples
    --------
    >>> from pi2_fluid.laws.presets import linux_dualpi2
    >>> from pi2_fluid.tc.installing import install
    >>> show_json(install(linux_dualpi2(), "dualpi2"))["options"]["alpha"]
    0.15625
    """
    _require_qdisc(qdisc)
    shown: dict[str, Any] = {"kind": qdisc.kind, "handle": qdisc.handle or "0:"}
    if qdisc.dev is not None:
        shown["dev"] = qdisc.dev
    parent = qdisc.parent or "root"
    shown |= {"root": True} if parent == "root" else {"parent": parent}
    options: dict[str, Any] = {}
    for option in OPTIONS[qdisc.kind]:
        value = qdisc.shown[option.word]
        if value is None:
            continue
        if isinstance(option, Switch):
            value = option.values[bool(value)]
            if value is not None:
                options[option.key] = None if value == NULL else value
        elif option.unit.name == "hertz":
            options[option.key] = float(f"{single(value):g}")
        else:
            options[option.key] = _whole(option, value)
    return shown | {"options": options}


def _require_qdisc(qdisc: object) -> None:
    if not isinstance(qdisc, Qdisc):
        raise QuantityError(
            f"qdisc = {show_value(qdisc)} is no Qdisc: give one of those that parse returns, or"
            " what install returns."
        )
    if qdisc.of_freebsd:
        raise UnsupportedError(
            f"{qdisc.name} is a queue of FreeBSD, which tc cannot show: give one of"
            f" {', '.join(OPTIONS)}."
        )


def _whole(option: Number, value: float) -> int:
    return option.unit.nearest(value)


def _number_text(option: Number, value: float) -> str:
    whole = _whole(option, value)
    match option.unit.name:
        case "time":
            return kernel.time_text(whole)
        case "hertz":
            return f"{single(value):.6f}"
        case "packets":
            return f"{whole}p"
        case "bytes":
            return f"{whole}B"
        case "percent":
            return f"{whole}%"
        case "size":
            return _size_text(whole)
        case _:
            return str(whole)


def _size_text(size: int) -> str:
    """Return a size in the binary prefixes of tc, where it is close to a whole number of them."""
    for unit, name, slack in ((1 << 20, "Mb", 1024), (1 << 10, "Kb", 16)):
        near = round(size / unit)
        if size >= unit and abs(near * unit - size) < slack:
            return f"{near:g}{name}"
    return f"{size}b"
