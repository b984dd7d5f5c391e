"""From a design to a kernel, and from a kernel to a verdict."""
