"""`compare` of several queues: the same traffic through each, with the same seeds."""
