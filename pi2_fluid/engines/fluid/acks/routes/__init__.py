"""The fluid by acknowledgements over several links, through whose queues packets go in turn."""
