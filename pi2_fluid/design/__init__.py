"""Designs: gains for a region, what they rest on, and what the kernel makes of them."""
