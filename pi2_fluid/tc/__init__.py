"""What `tc` shows of a queue, what the kernel makes of what it was asked for, and the way back.

`parse` reads the output of ``tc qdisc show``; `install` says what a kernel would run if it were
asked for a law, and `show` how `tc` would print that; `to_tc` writes the line to paste. `queues`
reads flow queues, too, for scenarios.
"""

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
