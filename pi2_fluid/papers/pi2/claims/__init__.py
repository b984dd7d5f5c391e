"""What the PI2 paper claims: why gains scale, how large they may be, what it did in practice."""
