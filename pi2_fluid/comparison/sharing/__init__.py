"""How Classic and Scalable flows share a link."""
