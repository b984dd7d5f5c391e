"""Queues that run: what a kernel makes of them, and whether that is well chosen."""
