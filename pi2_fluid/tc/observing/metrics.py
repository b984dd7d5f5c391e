"""Counters of queues as exporters of Prometheus have them: OpenMetrics text.

Source: the OpenMetrics specification; the collector qdisc of node_exporter.
"""

from __future__ import annotations

import re
from typing import Final

from pi2_fluid.errors import QuantityError
from pi2_fluid.tc.block import Block
from pi2_fluid.tc.observing.observation import Observation

__all__ = ["read_metrics"]

_SAMPLE: Final = re.compile(r"\s*(\w*qdisc\w*)\{([^}]*)\}\s+([0-9.eE+-]+)(?:\s.*)?")
_LABEL: Final = re.compile(r"(\w+)=\"([^\"]*)\"")
#: The ends of their names, by tc's.
_COUNTERS: Final = {
    "bytes_total": "bytes",
    "packets_total": "packets",
    "drops_total": "drops",
    "overlimits_total": "overlimits",
    "requeues_total": "requeues",
    "current_queue_length": "qlen",
    "backlog": "backlog",
}


def read_metrics(text: str) -> list[Observation]:
    """Return the queues that metrics name, with their counters; none of other texts.

    Examples
    --------
    >>> (seen,) = read_metrics('node_qdisc_drops_total{device="wan0",kind="pie"} 26')
    >>> seen.dev, seen.blocks[0].kind, seen.blocks[0].statistics
    ('wan0', 'pie', {'drops': 26})
    """
    found: dict[tuple[str, str], Observation] = {}
    if 'kind="' not in text:
        return []
    for line in text.splitlines():
        sample = _SAMPLE.fullmatch(line)
        labels = dict(_LABEL.findall(sample[2])) if sample else {}
        if sample is None or not {"device", "kind"} <= labels.keys():
            continue
        dev, kind = labels["device"], labels["kind"]
        if (dev, kind) not in found:
            found[dev, kind] = Observation(dev=dev, blocks=[_block(kind, dev)])
        (block,) = found[dev, kind].blocks
        for end, name in _COUNTERS.items():
            if sample[1].endswith(end):
                block.statistics = {**(block.statistics or {}), name: int(float(sample[3]))}
    return list(found.values())


def _block(kind: str, dev: str) -> Block:
    block = Block(kind=kind, handle="", dev=dev)
    if block.ours:
        block.trouble = QuantityError(
            f"these metrics name {kind} on {dev}, and none of its options: give the output of"
            f" `tc -s qdisc show dev {dev}`."
        )
    return block
