"""The Linux kernel as an engine: what a guest is told, and what its log says."""
