"""Packets, one by one."""
