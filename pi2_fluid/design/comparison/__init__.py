"""`compare`: one scenario as a fluid and in packets."""
