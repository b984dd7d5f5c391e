"""WHAT is analysed: senders, queues, flows, and the operating point they settle at."""
