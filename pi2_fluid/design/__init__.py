"""Decisions: what follows from the engines together, which none of them says alone."""
