"""A design tried at the corners of its region, in the fluid and in packets."""
