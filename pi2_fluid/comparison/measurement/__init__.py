"""`compare` with a measurement: what a file has beside what engines make of its scenario."""
