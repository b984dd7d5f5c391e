"""The laws: what queues and senders promise, each of them, and what kernels make of them."""
