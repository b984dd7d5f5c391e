"""Sweeps: one question asked at every point of a grid, on all cores or many machines."""
