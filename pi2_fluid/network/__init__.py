"""The network: link, flows, scenario and schedule, and where all of it comes to rest."""
