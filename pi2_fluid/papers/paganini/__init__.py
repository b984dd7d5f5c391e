"""Paganini, Wang, Low, Doyle: A New TCP/AQM for Stable Operation in Fast Networks: claims."""
