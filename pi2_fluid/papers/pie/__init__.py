"""PIE: A Lightweight Control Scheme to Address the Bufferbloat Problem (HPSR'13): claims."""
