/* Inside the margin kernel: the path of a single point. */
#pragma once

/* One point anywhere in the domain, slowly and surely. Returns 0 when the point lies outside it. */
int pi2_margins_point(int scalable, double m, double mu, double a, double c, double rtt, double result[4]);
