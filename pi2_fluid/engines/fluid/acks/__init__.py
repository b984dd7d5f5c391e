"""The fluid by acknowledgements: packets that have been sent, have left, are acked.

A sender without pacing sends one packet for each that is acknowledged, and what its window grows
by. So its rate is no state: what has been sent until now follows from what has left one path ago.
"""
