"""What is known of devices as OpenMetrics text, for a scraper.

Source: the OpenMetrics specification 1.0, its text format and its rules for names and units.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from pi2_fluid.deployment.watching.rows import Row
from pi2_fluid.deployment.watching.watcher import Instant

CONTENT_TYPE: Final = "application/openmetrics-text; version=1.0.0; charset=utf-8"


class _Metric(NamedTuple):
    name: str
    type: str
    unit: str
    text: str
    value: Callable[[Row], float | None]


def _counter(name: str) -> Callable[[Row], float | None]:
    return lambda row: row.totals.get(name)


def _marks(row: Row) -> float | None:
    found = [row.totals[name] for name in ("ecn_mark", "ce_mark", "marked") if name in row.totals]
    return sum(found) if found else None


_METRICS: Final = (
    _Metric("bytes", "counter", "bytes", "Bytes that have left.", _counter("bytes")),
    _Metric("packets", "counter", "packets", "Packets that have left.", _counter("packets")),
    _Metric("drops", "counter", "", "Packets dropped.", _counter("drops")),
    _Metric("marks", "counter", "", "Packets marked with CE.", _marks),
    _Metric(
        "overlimits", "counter", "", "Times that a limit held packets.", _counter("overlimits")
    ),
    _Metric("requeues", "counter", "", "Packets put back.", _counter("requeues")),
    _Metric("backlog_bytes", "gauge", "bytes", "Bytes that wait.", lambda row: row.backlog),
    _Metric("queue_packets", "gauge", "packets", "Packets that wait.", lambda row: row.qlen),
    _Metric(
        "delay_seconds",
        "gauge",
        "seconds",
        "How long packets wait, as the queue shows it.",
        lambda row: row.delay if row.delay_from == "tc" else None,
    ),
    _Metric("signal_ratio", "gauge", "ratio", "Probability of a signal.", lambda row: row.p),
    _Metric(
        "rate_limit_bytes_per_second",
        "gauge",
        "bytes_per_second",
        "The most that is let through.",
        lambda row: None if row.limit is None else row.limit / 8.0,
    ),
)


def metrics_of(instants: Iterable[Instant]) -> str:
    """Return the last instant of each device as OpenMetrics text.

    Families are ``tc_qdisc_*``, ``tc_class_*`` and, of bands and tins, ``tc_band_*``: what is
    added up over one of them counts nothing twice but what stands below one another.

    Examples
    --------
    >>> row = Row(name="pie 1:", depth=0, kind="pie", handle="1:", parent="root",
    ...     totals={"drops": 26})
    >>> from pi2_fluid.deployment.watching.bottleneck import Bottleneck
    >>> instant = Instant(device="wan0", time=1.0, number=1, interval=None, rows=[row],
    ...     bottleneck=Bottleneck("cannot be told", None, ""))
    >>> print(metrics_of([instant]).splitlines()[2])
    tc_qdisc_drops_total{device="wan0",kind="pie",handle="1:",parent="root"} 26
    """
    seen = list(instants)
    lines: list[str] = []
    for family in ("qdisc", "class", "band"):
        rows = [(one.device, row) for one in seen for row in one.rows if _family(row) == family]
        for metric in _METRICS:
            told = [
                (device, row, value)
                for device, row in rows
                if (value := metric.value(row)) is not None
            ]
            if told:
                lines += _of_family(f"tc_{family}_{metric.name}", metric, told)
    found = [
        f'tc_bottleneck_qdisc_info{{device="{_escaped(one.device)}",verdict="{one.bottleneck.verdict}"'
        f',queue="{_escaped(one.bottleneck.queue or "")}"}} 1'
        for one in seen
    ]
    if found:
        lines += ["# TYPE tc_bottleneck_qdisc info", *found]
    return "\n".join([*lines, "# EOF"]) + "\n"


def _family(row: Row) -> str:
    return "class" if row.is_class else "band" if row.band else "qdisc"


def _of_family(name: str, metric: _Metric, told: Iterable[tuple[str, Row, float]]) -> Iterable[str]:
    yield f"# TYPE {name} {metric.type}"
    if metric.unit and name.endswith(metric.unit):
        yield f"# UNIT {name} {metric.unit}"
    yield f"# HELP {name} {metric.text}"
    end = "_total" if metric.type == "counter" else ""
    for device, row, value in told:
        labels = {"device": device, "kind": row.kind}
        labels |= {"class" if row.is_class else "handle": row.handle, "parent": row.parent or ""}
        labels |= {"band": row.band} if row.band else {}
        said = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
        yield f"{name}{end}{{{said}}} {_number(value)}"


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
