"""The flows of a measurement: who sends which way, from when to when."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.laws.registry import sender_class
from pi2_fluid.measured.dataset import samples_of
from pi2_fluid.measured.evenly import flow_labels, sent_by
from pi2_fluid.network.flows import Flows

if TYPE_CHECKING:
    import xarray as xr

    from pi2_fluid.laws.sender import Sender

_SLACK: Final = 3.0  # samples before the end, from which on a flow is taken to go on
#: Kinds of senders by what Linux calls them; others have no equations here.
_KINDS: Final = {
    "": "cubic",
    "cubic": "cubic",
    "reno": "reno",
    "newreno": "reno",
    "dctcp": "dctcp",
}
_PUSHED: Final = (6, 6)  # the first kernel whose receivers answer PSH at once


def flows_of(
    data: xr.Dataset,
    about: dict[str, Any],
    path: float,
    goodput: float,
    zero: float,
    sources: dict[str, str],
    assumed: dict[str, str],
) -> list[Flows]:
    """Return the flows of the direction that sends more, in the time of the scenario.

    Parameters
    ----------
    data : xarray.Dataset
    about : dict
        What the file says of itself.
    path : float
        Base round-trip time (s).
    goodput : float
        Part of a packet that is data.
    zero : float
        When the scenario begins, in the time of the measurement (s).
    sources, assumed : dict
        Sentences by part, to which those on flows are added.
    """
    labels = flow_labels(data)
    left_out = lost_directions(data, about)
    if left_out:
        assumed["directions"] = f"one direction alone is run, without {', '.join(left_out)}"
    kept = [label for label in labels if label not in left_out]
    if len(kept) > 1:
        assumed["paths"] = "nothing says that flows have paths of their own: the same for all"
    senders = about.get("senders", {})
    controls = {label: str(senders.get(label) or _in_label(label)).lower() for label in kept}
    unknown = [label for label, control in controls.items() if not control]
    if unknown:
        assumed["senders"] = f"nothing says what {', '.join(unknown)} runs: Cubic"
    named = [f"{label} {control}" for label, control in controls.items() if control]
    if named:
        sources["senders"] = ", ".join(named)
    kernel = _version(str(about.get("kernel", "")))
    if kernel and kernel < _PUSHED:
        sources["kernel"] = f"it is {about['kernel']}, whose receivers do not answer PSH at once"
    ecn = about.get("ecn")
    if ecn is None and any(_classic(control) for control in controls.values()):
        assumed["ecn"] = "nothing says whether Classic flows ask for ECN: they do not"
    end = float(np.nanmax(data["time"].to_numpy()))
    flows = []
    for label, control in controls.items():
        sent = sent_by(data, label)
        usual = float(np.median(np.diff(sent.times)))
        sender = _sender(control, sent.rate(sent.start, sent.stop) / goodput, kernel)
        stop = sent.stop if sent.stop < end - _SLACK * usual else None
        more: dict[str, Any] = {"push_every": 0} if kernel and kernel < _PUSHED else {}
        if ecn and _classic(control):
            more["ecn"] = True
        flows.append(
            Flows(
                sender,
                1,
                path,
                name=label,
                start=round(max(0.0, _first_seen(data, label) - zero), 3),
                stop=None if stop is None else round(stop - zero, 3),
                **more,
            )
        )
    return flows


def _in_label(label: str) -> str:
    """Return the sender that a label ends with, as "upload (cubic)"."""
    found = re.search(r"\((\w+)\)$", label)
    return found[1] if found else ""


def _first_seen(data: xr.Dataset, label: str) -> float:
    """Return when a flow was first seen: by its window or round trip, or in its throughput."""
    first = sent_by(data, label).start
    for name in ("window", "tcp_rtt"):
        if name in data and label in data["flows"]:
            times = samples_of(data, name, label)[0]
            first = min(first, float(times[0])) if times.size else first
    return first


def least_round_trip(data: xr.Dataset) -> tuple[float, str] | None:
    """Return the least round trip (s) and whose it is: of probes, or else of TCP itself."""
    for name in ("delay", "tcp_rtt"):
        if name in data and np.isfinite(data[name].to_numpy()).any():
            dim = str(data[name].dims[1])
            least = data[name].min("time")
            label = str(least[dim].to_numpy()[int(np.nanargmin(least.to_numpy()))])
            return float(least.min()), f"{label}{'' if name == 'delay' else ' (TCP)'}"
    return None


def lost_directions(data: xr.Dataset, about: dict[str, Any]) -> list[str]:
    """Return the flows of the direction that sends less."""
    ways = about.get("directions") or {}
    by_way: dict[str, list[str]] = {}
    for label in flow_labels(data):
        by_way.setdefault(str(ways.get(label, "up")), []).append(label)
    if len(by_way) < 2:
        return []

    def bits(labels: list[str]) -> float:
        return sum(float(sent_by(data, label).bits[-1]) for label in labels)

    most = max(by_way.values(), key=bits)
    return [label for labels in by_way.values() if labels is not most for label in labels]


def _classic(control: str) -> bool:
    return control not in {"prague", "dctcp", "scalable", "udp"}


def _sender(control: str, rate: float, kernel: tuple[int, int] | None) -> Sender:
    if control == "udp":
        return _made("cbr", bitrate=rate)
    if control == "prague":  # of the L4S team's trees, until 6.
        return _made(control, version="draft") if kernel and kernel < (6, 0) else _made(control)
    kind = _KINDS.get(control)
    return _made(kind) if kind else _made("congestion", control=control)


def _made(kind: str, **numbers: object) -> Sender:
    build: Callable[..., Sender] = sender_class(kind)
    return build(**numbers)


def _version(text: str) -> tuple[int, int] | None:
    found = re.match(r"(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else None
