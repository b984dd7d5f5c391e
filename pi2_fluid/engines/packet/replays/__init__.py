"""The algorithms of queues and senders, step by step and without a network."""
