"""`diagnose`: what series of delays and rates say of a queue, each sentence with its evidence."""
