"""What the margins of a design rest on, and what else it survives."""
