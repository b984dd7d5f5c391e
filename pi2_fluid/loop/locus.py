"""The root locus: where the closed loop's modes are while its gain rises, with delays exact.

The modes at a gain factor K are the roots of 1/L + K = 0, in s, or of a sampled loop in z = e^{sT}.
First roots come at both ends of the factors, of a continuous loop from `rightmost_roots`, of a
sampled one from a rational function through 1/L on two circles (the AAA algorithm). From there on
they are followed (`root_following`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from pi2_fluid.errors import DomainError, SolverError, show_value
from pi2_fluid.loop.delays import DelayLoop
from pi2_fluid.loop.root_following import LostRootError, Plane, follow, is_followed, roots_near
from pi2_fluid.loop.roots import distinct, polish, rightmost_roots
from pi2_fluid.loop.state_space import AnyLoop
from pi2_fluid.loop.updates import longest_delay, respond
from pi2_fluid.loop.zeros import zero_between

if TYPE_CHECKING:
    import xarray
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from pi2_fluid.values import ComplexArray, FloatArray

_POINTS: Final = 160
_ENDS: Final = (1e-2, 10.0)  # of the factors, about 1 and the gain margin
_SPARE: Final = 4  # roots more than asked for, where one meets another that was not
_TRIES: Final = 3
_SAME: Final = 1e-6
_ASIDE: Final = 1e-6
_FLOOR: Final = -7.0  # of Re s, times the longest delay
_LEAST: Final = 0.42  # of |z|: what the sum over aliases is expanded in has a pole at z = 1/e
_CIRCLES: Final = (1.06, 0.55)  # radii in the z plane
_ON_CIRCLE: Final = 64


class AxisCrossing(NamedTuple):
    """Where a mode crosses the boundary of stability.

    Attributes
    ----------
    factor : float
        On the gain of the loop.
    w : float
        Frequency (rad/s).
    enters : bool
        Whether it begins to grow as the gain rises, or ceases to.
    """

    factor: float
    w: float
    enters: bool


@dataclass(frozen=True, eq=False)
class RootLocus:
    """The modes of a closed loop over a factor on its gain.

    Attributes
    ----------
    factor : numpy.ndarray, shape (m,)
        Rising; 1 is the loop as it is.
    root : numpy.ndarray of complex, shape (branches, m)
        Characteristic roots s (rad/s), or of a sampled loop z = e^{sT}; both of each pair.
    crossings : tuple of AxisCrossing
        Where a mode crosses the imaginary axis, or the unit circle, by rising factor.
    update : {"continuous", "delayed", "sampled"}
    interval : float or None
        T of a sampled loop (s).

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> locus = pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=0.1).root_locus()
    >>> print(locus)
    A pair of modes begins to grow at 1.719 times the gain (+4.70 dB), at 7.313 rad/s.
    >>> locus.dataset.root.sel(factor=1.0).dims
    ('branch',)
    """

    factor: FloatArray
    root: ComplexArray
    crossings: tuple[AxisCrossing, ...]
    update: str
    interval: float | None = None

    @property
    def s(self) -> ComplexArray:
        """The roots in s (rad/s), of a sampled loop those up to pi/T."""
        if self.interval is None:
            return self.root
        s: Any = np.log(self.root) / self.interval
        result: ComplexArray = s
        return result

    @property
    def dataset(self) -> xarray.Dataset:
        """The same, labelled.

        ``root`` by ``branch`` and ``factor``, with its ``growth`` (1/s) and ``frequency`` (rad/s);
        ``crossing_factor``, ``crossing_frequency`` and ``crossing_enters`` by ``crossing``.
        """
        import xarray

        s, dims = self.s, ("branch", "factor")
        factor, w, enters = (
            np.array([each[k] for each in self.crossings], dtype=kind)
            for k, kind in enumerate((float, float, bool))
        )
        unit = {"units": "rad/s"} if self.interval is None else {}
        return xarray.Dataset(
            {
                "root": (dims, self.root, unit),
                "growth": (dims, s.real, {"units": "1/s"}),
                "frequency": (dims, s.imag, {"units": "rad/s"}),
                "crossing_factor": ("crossing", factor),
                "crossing_frequency": ("crossing", w, {"units": "rad/s"}),
                "crossing_enters": ("crossing", enters),
            },
            {"factor": self.factor},
            {"update": self.update, "plane": "s" if self.interval is None else "z"},
        )

    def plot(self, ax: Axes | None = None) -> list[Artist]:
        """Draw the branches, where they are at factor 1, and where they cross; returns the artists.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new one if not given.
        """
        from pi2_fluid.plot import draw_root_locus, new_axes

        axes = new_axes() if ax is None else ax
        crossings = [(each.factor, each.w) for each in self.crossings]
        return draw_root_locus(axes, self.factor, self.root, crossings, self.interval)

    def __str__(self) -> str:
        if not self.crossings:
            ends = f"{self.factor[0]:.3g} to {self.factor[-1]:.3g}"
            return f"No mode begins or ceases to grow at any gain factor from {ends}."
        return "\n".join(
            f"{'A pair of modes' if w > 0.0 else 'A mode'} {'begins' if enters else 'ceases'} to"
            f" grow at {factor:.4g} times the gain ({20.0 * np.log10(factor):+.2f} dB), at"
            f" {w:.4g} rad/s."
            for factor, w, enters in self.crossings
        )


def usual_factors(gain_margin: float) -> FloatArray:
    """Return factors on the gain about 1 and the gain margin (a ratio), 1 among them."""
    margin = gain_margin if np.isfinite(gain_margin) and gain_margin > 0.0 else 1.0
    ends = _ENDS[0] * min(margin, 1.0), _ENDS[1] * max(margin, 1.0)
    return np.union1d(np.geomspace(*ends, _POINTS), [1.0])


def read_factors(factors: Sequence[float] | FloatArray) -> FloatArray:
    """Return factors as a rising array.

    Raises
    ------
    DomainError
        If there are fewer than two, or one is not positive and finite.
    """
    try:
        found = np.unique(np.asarray(factors, dtype=float))
    except (TypeError, ValueError):
        found = np.array([np.nan])
    if found.size < 2 or not np.all(np.isfinite(found)) or found[0] <= 0.0:
        raise DomainError(
            f"factors = {show_value(factors)} are no gain factors: give two or more numbers above"
            " 0, e.g. np.geomspace(0.1, 10, 100)."
        )
    return found


def find_locus(loop: AnyLoop, update: str, factors: FloatArray, n: int) -> RootLocus:
    """Return the root locus of a scalar loop.

    Parameters
    ----------
    loop : AnyLoop
    update : {"continuous", "delayed", "sampled"}
    factors : array
        Rising, above 0.
    n : int
        How many rightmost roots, each pair once, are there at both ends of the factors at least.

    Raises
    ------
    SolverError
        If roots cannot be followed.
    """
    plane = _plane_of(loop, update)
    for extra in range(_TRIES):
        count = n + _SPARE * extra
        first = [_first_roots(loop, update, plane, float(factors[end]), count) for end in (-1, 0)]
        try:
            down = follow(plane, first[0], factors[::-1])[:, ::-1]
            up = follow(plane, first[1], factors)
        except LostRootError:
            continue
        begin = np.where(np.isnan(down[:, 0]), np.inf, down[:, 0])
        apart = np.min(np.abs(up[:, :1] - begin), axis=1, initial=np.inf)
        new = apart > _SAME * (np.abs(up[:, 0]) + plane.scale)
        root = np.concatenate([down, up[new]])
        return RootLocus(factors, root, _crossings(plane, factors, root), update, plane.interval)
    raise SolverError(
        f"the {n} rightmost roots could not be followed from a gain factor of {factors[0]:.3g} to"
        f" {factors[-1]:.3g}: give a shorter range of factors, or a smaller n."
    )


def _plane_of(loop: AnyLoop, update: str) -> Plane:
    if update != "sampled":
        delay = longest_delay(loop, update)
        return Plane(
            lambda s: 1.0 / respond(loop, s, update), 1.0 / delay, np.real, _FLOOR / delay, None
        )
    interval = float(loop.controller.interval)
    return Plane(
        lambda z: 1.0 / respond(loop, np.log(z) / interval, update),
        1.0,
        lambda z: np.log(np.abs(z)),
        float(np.log(_LEAST)),
        interval,
    )


def _scaled(loop: AnyLoop, factor: float) -> AnyLoop:
    """The same loop with another gain."""
    whole: Any = loop
    if isinstance(loop, DelayLoop):  # its gain is what windows make of the delay
        classes = (replace(c, e0=factor * c.e0, e1=factor * c.e1) for c in loop.classes)
        return replace(loop, classes=tuple(classes))
    controller = loop.controller

    def times(values: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(factor * value for value in values)

    flowing = controller.flowing
    if flowing is not None:
        flowing = times(flowing[0]), flowing[1]
    louder = replace(controller, numerator=times(controller.numerator), flowing=flowing)
    result: AnyLoop = replace(whole, controller=louder)
    return result


def _first_roots(loop: AnyLoop, update: str, plane: Plane, factor: float, n: int) -> ComplexArray:
    """The n rightmost roots at a factor that are above the floor, each pair once."""
    if plane.interval is None:
        guesses = rightmost_roots(_scaled(loop, factor), update, n)
    else:
        guesses = _roots_on_disk(plane.inverse, factor)
    # Modes that no gain moves are no roots of 1/L + K, and just there 1/L may not exist.
    guesses = guesses + _ASIDE * (np.abs(guesses) + plane.scale)
    found = distinct(polish(lambda x: plane.inverse(x) + factor, guesses, plane.scale))
    found = found[(found.imag >= 0.0) & is_followed(plane, found, factor)]
    return found[np.argsort(-plane.growth(found), kind="stable")][:n]


def _roots_on_disk(inverse: Callable[[Any], Any], factor: float) -> ComplexArray:
    """Guesses of the roots in the z plane that are not near 0."""
    from scipy.interpolate import AAA  # 0.3 s to import

    angle = np.pi * (np.arange(_ON_CIRCLE) + 0.5) / _ON_CIRCLE
    upper = np.concatenate([radius * np.exp(1j * angle) for radius in _CIRCLES])
    values = inverse(upper) + factor
    both = np.concatenate([upper, upper.conj()]), np.concatenate([values, values.conj()])
    roots = np.asarray(AAA(*both, rtol=1e-10).roots())
    # Of a pair, the AAA algorithm does not know that it is one.
    kept = roots[(np.abs(roots) > _LEAST) & (roots.imag > -1e-6)]
    real = np.abs(kept.imag) < 1e-6
    result: ComplexArray = np.where(real, kept.real + 0j, kept)
    return result


def _crossings(plane: Plane, factors: FloatArray, root: ComplexArray) -> tuple[AxisCrossing, ...]:
    """Where branches cross the boundary of stability, each pair once."""
    crossings = []
    with np.errstate(invalid="ignore"):
        side = np.sign(plane.growth(root))
        crosses = side[:, 1:] * side[:, :-1] < 0.0
    for branch, k in np.argwhere(crosses).tolist():
        before, after = root[branch, k], root[branch, k + 1]
        if before.imag < 0.0 or after.imag < 0.0:
            continue  # the other of a pair
        low, high = np.log(factors[k : k + 2]).tolist()

        def at(
            x: float,
            ends: tuple[complex, complex] = (before, after),
            low: float = low,
            high: float = high,
        ) -> complex:
            guess = ends[0] + (x - low) / (high - low) * (ends[1] - ends[0])
            new = roots_near(plane, np.array([guess]), float(np.exp(x)))
            if new is None:
                raise SolverError(
                    f"a root could not be followed to the boundary of stability near a gain factor"
                    f" of {np.exp(x):.4g}: give more factors there."
                )
            return complex(new[0])

        x = zero_between(lambda x: float(plane.growth(at(x))), low, high, tolerance=1e-14)
        w = at(x).imag if plane.interval is None else np.angle(at(x)) / plane.interval
        crossings.append(
            AxisCrossing(float(np.exp(x)), float(abs(w)), bool(side[branch, k + 1] > 0))
        )
    return tuple(sorted(crossings))
