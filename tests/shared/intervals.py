"""Interval arithmetic on arrays: bounds that hold whatever the rounding."""

from __future__ import annotations

import numpy as np

# Of NumPy's sine and cosine, and more than that.
_ERROR = 1e-15
_EPS, _TINY, _MOST = 2.0**-52, 5e-324, np.finfo(float).max


# The next number or the one after it: np.nextafter, which takes its numbers one by one, was most of
# what proofs cost. Of what is infinite, the side that bounds is the largest number, as there.
def _down(x):
    return np.minimum(x, _MOST) - (np.minimum(np.abs(x), _MOST) * _EPS + _TINY)


def _up(x):
    return np.maximum(x, -_MOST) + (np.minimum(np.abs(x), _MOST) * _EPS + _TINY)


class Interval:
    """All numbers from `low` to `high`, arrays of one shape, or numbers."""

    def __init__(self, low, high=None):
        self.low = np.asarray(low, dtype=float)
        self.high = self.low if high is None else np.asarray(high, dtype=float)

    def __add__(self, other):
        other = _interval(other)
        return Interval(_down(self.low + other.low), _up(self.high + other.high))

    def __neg__(self):
        return Interval(-self.high, -self.low)

    def __sub__(self, other):
        return self + -_interval(other)

    def __rsub__(self, other):
        return -self + other

    def __mul__(self, other):
        other = _interval(other)
        with np.errstate(invalid="ignore"):  # 0 times infinity: nothing is known, and NaN says so
            corners = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        low = np.minimum(np.minimum(*corners[:2]), np.minimum(*corners[2:]))
        high = np.maximum(np.maximum(*corners[:2]), np.maximum(*corners[2:]))
        return Interval(_down(low), _up(high))

    __radd__ = __add__
    __rmul__ = __mul__

    def inverse(self):
        with np.errstate(divide="ignore", over="ignore"):
            has_zero = (self.low <= 0.0) & (self.high >= 0.0)
            low, high = _down(1.0 / self.high), _up(1.0 / self.low)
        return Interval(np.where(has_zero, -np.inf, low), np.where(has_zero, np.inf, high))

    def __truediv__(self, other):
        return self * _interval(other).inverse()

    def square(self):
        ends = self.low * self.low, self.high * self.high
        least = np.where((self.low <= 0.0) & (self.high >= 0.0), 0.0, np.minimum(*ends))
        return Interval(np.maximum(_down(least), 0.0), _up(np.maximum(*ends)))

    def root(self):
        return Interval(_down(np.sqrt(np.maximum(self.low, 0.0))), _up(np.sqrt(self.high)))

    def at_least(self, bound):
        """Return what is left if it is known to be no less."""
        return Interval(np.maximum(self.low, bound), np.maximum(self.high, bound))


class Complex:
    """A rectangle of the plane."""

    def __init__(self, re, im):
        self.re, self.im = re, im

    def __add__(self, other):
        return Complex(self.re + other.re, self.im + other.im)

    def __mul__(self, other):
        return Complex(
            self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re
        )

    def __neg__(self):
        return Complex(-self.re, -self.im)

    def conjugate(self):
        return Complex(self.re, -self.im)

    def inverse(self):
        one = (self.re.square() + self.im.square()).inverse()
        return Complex(self.re * one, -(self.im * one))

    def size(self):
        return (self.re.square() + self.im.square()).root()


TWO_PI = Interval(_down(2 * np.pi), _up(2 * np.pi))


def around(radius):
    """Return all numbers that are no larger than `radius`."""
    return Interval(-radius, radius)


def cos(x):
    """Return cosines, which are 1 at even multiples of pi and -1 at odd ones."""
    ends, near = (np.cos(x.low), np.cos(x.high)), 1e-12
    low, high = np.minimum(*ends) - _ERROR, np.maximum(*ends) + _ERROR
    for turn, level in ((0.0, 1.0), (np.pi, -1.0)):
        first = np.ceil((x.low - near - turn) / (2 * np.pi))
        within = 2 * np.pi * first + turn <= x.high + near
        low, high = (
            np.where(within, np.minimum(low, level), low),
            np.where(within, np.maximum(high, level), high),
        )
    return Interval(np.maximum(low, -1.0), np.minimum(high, 1.0))


def sin(x):
    """Return sines."""
    return cos(x - Interval(_down(np.pi / 2), _up(np.pi / 2)))


def sinc(x):
    """Return sin x/x for 0 <= x <= 4.49, where it falls."""
    assert np.all(x.high <= 4.49)
    return Interval(np.sinc(x.high / np.pi) - 1e-14, np.sinc(x.low / np.pi) + 1e-14)


def slope_of_sinc(x):
    """Return (sin x/x - cos x)/x^2 for 0 <= x <= 4.49, where it falls: -2 d(sin x/x)/d(x^2)."""
    assert np.all(x.high <= 4.49)

    def value(at):
        u = at * at
        # the next term is below 1e-16 where the series is used
        series = 1 / 3 - u / 30 + u**2 / 840 - u**3 / 45360 + u**4 / 3991680 - u**5 / 518918400
        large = np.where(at < 0.3, 1.0, at)
        return np.where(at < 0.3, series, (np.sinc(large / np.pi) - np.cos(large)) / large**2)

    return Interval(value(x.high) - 1e-13, value(x.low) + 1e-13)


def _interval(value):
    return value if isinstance(value, Interval) else Interval(value)
