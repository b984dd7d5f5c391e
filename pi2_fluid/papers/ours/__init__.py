"""Figures of our own, beside those of the papers."""
