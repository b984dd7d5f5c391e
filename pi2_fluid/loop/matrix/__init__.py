"""The loop of a network of several bottlenecks: a matrix L(s), a row and a column for each link."""
