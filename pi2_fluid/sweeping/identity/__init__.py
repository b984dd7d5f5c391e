"""What a sweep's answers follow from, as hashes: values, and the code of whoever calls."""
