"""Engines and queues side by side: where they agree, how flows share, whether designs hold."""
