"""Window laws of senders, one per file."""
