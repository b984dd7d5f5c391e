"""A device watched as it runs: its tree, who is the bottleneck, and what changed last."""

from pi2_fluid.deployment.watching.rows import Row
from pi2_fluid.deployment.watching.watcher import Instant, Watcher

__all__ = ["Instant", "Row", "Watcher"]
