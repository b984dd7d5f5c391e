"""The thesis on PI2 in ns-3: claims."""
