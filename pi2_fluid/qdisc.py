"""What users call of `tc`: its output read, queues installed as a kernel would, lines to paste."""

from pi2_fluid.tc.flow_queues import ShownQueue, queues
from pi2_fluid.tc.installing import install, install_max_rtt, to_tc
from pi2_fluid.tc.parsing import Found, parse
from pi2_fluid.tc.qdisc import Qdisc
from pi2_fluid.tc.showing import show, show_json

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
