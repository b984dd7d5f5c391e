"""What the Linux kernel counts the parameters of laws in."""
