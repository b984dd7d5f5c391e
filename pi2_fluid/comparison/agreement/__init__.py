"""`compare`: one scenario in several engines, and why they differ."""
