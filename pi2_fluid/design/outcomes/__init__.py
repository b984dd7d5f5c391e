"""Queues by what people feel: candidates, what is measured of them, and which of them is better."""
