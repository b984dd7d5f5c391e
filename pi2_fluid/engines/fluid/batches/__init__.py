"""One scenario, thousands of runs with other numbers, side by side."""
