"""The Linux kernel: what users call of its engine, and laws that it has and that none models."""

from pi2_fluid.laws.aqms.qdisc import Qdisc
from pi2_fluid.laws.senders.congestion import Congestion

__all__ = ["Congestion", "Qdisc"]
