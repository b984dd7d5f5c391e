"""Packet by packet: queues, senders and the link between them, in a compiled kernel."""
