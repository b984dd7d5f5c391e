"""Queue laws, one per file."""
