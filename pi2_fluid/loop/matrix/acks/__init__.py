"""The loop of several links by acknowledgements: another plant before the same controllers."""
