"""Sliders over a loop, in a notebook."""
