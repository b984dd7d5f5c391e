"""Engines as values; one door to all of them, and which there are, is `engines.simulating`."""
