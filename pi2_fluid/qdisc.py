"""What users call of `tc`: its output read, queues installed as a kernel would, lines to paste."""

from pi2_fluid.tc import (
    Found,
    Qdisc,
    ShownQueue,
    install,
    install_max_rtt,
    parse,
    queues,
    show,
    show_json,
    to_tc,
)

__all__ = [
    "Found",
    "Qdisc",
    "ShownQueue",
    "install",
    "install_max_rtt",
    "parse",
    "queues",
    "show",
    "show_json",
    "to_tc",
]
