"""ns-3 as an engine: its Python wheel, run in a process of its own."""
