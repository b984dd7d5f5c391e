"""How flows and queue answer a signal that is given: measured, without a model of either."""
