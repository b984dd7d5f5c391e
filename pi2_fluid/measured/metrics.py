"""Counters of queues as exporters of Prometheus have them, of one scrape or several.

Source: the OpenMetrics specification, its text format; the collector qdisc of node_exporter.
"""

from __future__ import annotations

from typing import Final

from pi2_fluid.errors import QuantityError
from pi2_fluid.measured.counters import Bands
from pi2_fluid.measured.dataset import Measurement
from pi2_fluid.measured.source import Source
from pi2_fluid.tc.observing.metrics import sample_in
from pi2_fluid.tc.observing.times import leading_time

_END: Final = "# EOF"


def recognises(source: Source) -> bool:
    """Say whether a source has metrics of queues."""
    return 'kind="' in source.head and any(
        sample_in(line) is not None for line in source.head.splitlines()
    )


def measurement(source: Source) -> Measurement:
    """Return the counters of each queue, by tc's names.

    A scrape ends with ``# EOF``, or where a counter comes again. Its time is that of its samples,
    or a time that stands on a line before it.

    Raises
    ------
    QuantityError
        If no queue is in it.
    """
    read = Measurement("metrics")
    bands = Bands()
    time: float | None = None
    scrape: dict[tuple[str, str, float | None], dict[str, float]] = {}

    def close() -> None:
        for (device, band, at), counts in scrape.items():
            bands.add(device, band, at, counts)
        scrape.clear()

    for line in source.lines():
        sample = sample_in(line)
        if sample is None:
            stamp = leading_time(line)
            if line.startswith(_END) or stamp is not None:
                close()
            if stamp is not None:
                time = stamp[0]
            continue
        at = time if sample.time is None else sample.time
        key = sample.labels["device"], sample.band, at
        if sample.name in scrape.get(key, ()):
            close()
        scrape.setdefault(key, {})[sample.name] = sample.value
    close()
    if bands.empty:
        raise QuantityError(
            f"{source.said} has no metric of a queue: give what an exporter's page has, with labels"
            " device and kind."
        )
    bands.hand_to(read)
    return read
