"""What a sweep asks at each point, by what it is given: a run, margins, a rest, a design."""
