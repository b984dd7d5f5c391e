"""Counters of queues as exporters of Prometheus have them: OpenMetrics text.

Source: the OpenMetrics specification; the collector qdisc of node_exporter.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from pi2_fluid.errors import QuantityError
from pi2_fluid.tc.block import Block
from pi2_fluid.tc.observing.observation import Observation

_SAMPLE: Final = re.compile(
    r"\s*(\w*(?:qdisc|tc_class|tc_band)\w*)\{([^}]*)\}\s+([0-9.eE+-]+|NaN|\+Inf)"
    r"(?:\s+([0-9.eE+]+))?(?:\s.*)?"
)
_LABEL: Final = re.compile(r"(\w+)=\"((?:[^\"\\]|\\.)*)\"")
#: The ends of their names, by tc's.
_COUNTERS: Final = {
    "_bytes_total": "bytes",
    "_packets_total": "packets",
    "_drops_total": "drops",
    "_overlimits_total": "overlimits",
    "_requeues_total": "requeues",
    "_marks_total": "ecn_mark",
    "_current_queue_length": "qlen",
    "_queue_packets": "qlen",
    "_backlog": "backlog",
    "_backlog_bytes": "backlog",
    "_delay_seconds": "delay",
    "_signal_ratio": "prob",
}
_MILLISECONDS: Final = 1e11  # above it a time counts these, as Prometheus' older format has them


class MetricSample(NamedTuple):
    """One line of metrics: of which queue, which counter by tc's name, its value, its time (s)."""

    labels: Mapping[str, str]
    name: str
    value: float
    time: float | None

    @property
    def band(self) -> str:
        """What to call what it is of: "wan0 pie 1:", without a handle where none is named."""
        labels = self.labels
        shaped = ("class", labels["kind"], labels["class"]) if "class" in labels else ()
        words = shaped or (labels["kind"], labels.get("handle", ""))
        label = " ".join(filter(None, (labels["device"], *words, labels.get("band", ""))))
        unnumbered = labels.get("handle") in {"", "0:"} and labels.get("parent", "root") != "root"
        return f"{label} parent {labels['parent']}" if unnumbered else label


def sample_in(line: str) -> MetricSample | None:
    """Return the sample in a line of metrics; None where it is of no queue.

    Examples
    --------
    >>> sample = sample_in('node_qdisc_drops_total{device="wan0",kind="pie"} 26 1764270000.5')
    >>> sample.band, sample.name, sample.value, sample.time
    ('wan0 pie', 'drops', 26.0, 1764270000.5)
    """
    match = _SAMPLE.fullmatch(line.rstrip("\n"))
    labels = dict(_LABEL.findall(match[2])) if match else {}
    if match is None or not {"device", "kind"} <= labels.keys():
        return None
    name = next((name for end, name in _COUNTERS.items() if match[1].endswith(end)), None)
    try:
        value = float(match[3])
        time = None if match[4] is None else float(match[4])
    except ValueError:
        return None
    if name is None or not math.isfinite(value):
        return None
    if time is not None and time > _MILLISECONDS:
        time /= 1e3
    return MetricSample(labels, name, value, time)


def read_metrics(text: str) -> list[Observation]:
    """Return the queues that metrics name, with their counters; none of other texts.

    Examples
    --------
    >>> (seen,) = read_metrics('node_qdisc_drops_total{device="wan0",kind="pie"} 26')
    >>> seen.dev, seen.blocks[0].kind, seen.blocks[0].statistics
    ('wan0', 'pie', {'drops': 26})
    """
    observations: dict[tuple[str, str], Observation] = {}
    if 'kind="' not in text:
        return []
    for line in text.splitlines():
        sample = sample_in(line)
        if sample is None or {"band", "class"} & sample.labels.keys():
            continue
        dev, kind = sample.labels["device"], sample.labels["kind"]
        if (dev, kind) not in observations:
            observations[dev, kind] = Observation(dev=dev, blocks=[_block(kind, dev)])
        (block,) = observations[dev, kind].blocks
        whole = sample.name not in {"delay", "prob"}
        value = int(sample.value) if whole else sample.value
        block.statistics = {**(block.statistics or {}), sample.name: value}
    return list(observations.values())


def _block(kind: str, dev: str) -> Block:
    block = Block(kind=kind, handle="", dev=dev)
    if block.ours:
        block.trouble = QuantityError(
            f"these metrics name {kind} on {dev}, and none of its options: give the output of"
            f" `tc -s qdisc show dev {dev}`."
        )
    return block
