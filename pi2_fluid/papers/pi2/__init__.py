"""PI2: A Linearized AQM for both Classic and Scalable TCP (CoNEXT'16): figures and claims."""
