"""Pictures of a network's loop, what python-control takes of it, and what has no meaning here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from pi2_fluid.errors import DomainError, UnsupportedError, show_value
from pi2_fluid.loop.disk import DiskMargin, disk_margin, require_stable
from pi2_fluid.loop.matrix.eigenloci import follow
from pi2_fluid.loop.matrix.searching import SearchedNetwork
from pi2_fluid.units import validate_choice

if TYPE_CHECKING:
    import xarray
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from pi2_fluid.values import Complex, ComplexArray, Real


class ShownNetwork(SearchedNetwork):
    """A network's loop that is drawn, as eigenvalues or, where one link is open, as one loop."""

    if TYPE_CHECKING:  # of `NetworkLoop`

        def __call__(self, s: Complex) -> ComplexArray:
            """Return L(s)."""

    def disk_margin(self, skew: float = 0.0) -> DiskMargin:
        """Return how far gain and phase of the only open link may change at once; as for `Loop`."""
        self._require_one("disk_margin is of one loop")
        require_stable(self._count)
        return disk_margin(self._only, self._curve, skew, self.update)

    def eigenloci(
        self, frequencies: ArrayLike | None = None, ax: Axes | None = None
    ) -> xarray.DataArray:
        """Return the eigenvalues of L(jw), each followed over frequency.

        Parameters
        ----------
        frequencies : array, optional
            rad/s, > 0; by default those on which the margins were found.
        ax : matplotlib Axes, optional
            If given, draw them there around -1, as `nyquist` does.

        Returns
        -------
        xarray.DataArray
            Complex, over ``locus``, from 1, the largest at low frequency first, and ``frequency``.

        Notes
        -----
        From one frequency to the next they are matched by minimal assignment on |ln(e/e')|^2. Two
        that touch may be taken for each other there; margins do not depend on which is which.
        """
        import xarray

        w, loci = self._crossings.w, self._crossings.values
        if frequencies is not None:
            asked = np.atleast_1d(np.asarray(frequencies, dtype=float))
            if asked.ndim != 1 or not np.all((asked > 0.0) & np.isfinite(asked)):
                raise DomainError(
                    f"frequencies = {show_value(frequencies)} are not all positive: give rad/s > 0."
                )
            asked = np.unique(asked)
            w, loci = follow(self._on_axis, np.union1d(w, asked))
            there = np.searchsorted(w, asked)
            w, loci = w[there], loci[there]
        if ax is not None:
            from pi2_fluid.plot import draw_eigenloci

            draw_eigenloci(ax, loci)
        return xarray.DataArray(
            loci.T,
            {
                "locus": ("locus", np.arange(1, loci.shape[1] + 1), {"long_name": "eigenvalue"}),
                "frequency": ("frequency", w, {"units": "rad/s", "long_name": "frequency"}),
            },
            ("locus", "frequency"),
            "eigenloci",
            {"units": "1", "long_name": "eigenvalues of L(jw)"},
        )

    def nyquist(self, ax: Axes | None = None) -> list[Artist]:
        """Draw the eigenvalues of L(jw) around -1; returns the artists.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new one if not given.
        """
        from pi2_fluid.plot import draw_eigenloci, new_axes

        return draw_eigenloci(new_axes() if ax is None else ax, self._crossings.values)

    def bode(self, ax: Sequence[Axes] | None = None) -> list[Artist]:
        """Draw gain and phase with both margins of the only open link; returns the artists.

        Parameters
        ----------
        ax : pair of matplotlib Axes, optional
            New ones if not given.
        """
        from pi2_fluid.plot import draw_bode, new_axes

        self._require_one("bode draws one loop")
        curve = self._curve
        gm, pm, w_gc, w_pc, *_ = self._margins
        axes = new_axes(2) if ax is None else ax
        return draw_bode(axes, curve.w, curve.values, (w_gc, pm), (w_pc, gm))

    def to_control(self, kind: str = "frd", w: ArrayLike | None = None) -> Any:
        """Return this loop for python-control: frequency response data, exact at `w`.

        Parameters
        ----------
        kind : {"frd"}
            No other kind holds the delays of a network exactly.
        w : array, optional
            Frequencies (rad/s); by default those on which the loop was followed.
        """
        import control

        validate_choice(kind, ("frd",), "kind")
        dt = self.linear.intervals[0] if self.update == "sampled" else 0
        w = self._crossings.w if w is None else np.asarray(w, dtype=float)
        values = np.moveaxis(self(1j * w), 0, -1)
        return control.FRD(values, w, smooth=True, name="_".join(self.links), dt=dt)

    def _require_one(self, why: str) -> None:
        if len(self.links) > 1:
            names = ", ".join(map(repr, self.links))
            rest = ", ".join(map(repr, self.links[1:]))
            raise UnsupportedError(
                f"{why}, and this is of the links {names}: close all but one, e.g. close({rest}),"
                " or use eigenloci()."
            )

    # What a matrix has no answer to

    def bandwidth(self) -> NoReturn:
        """Refuse: of one link alone, `close` the others and look at `bode`."""
        self._refuse("bandwidth", "look at sensitivity(w)")

    def step(self, t: Real) -> NoReturn:
        """Refuse: a step of which link is not said."""
        self._refuse("step", "use roots(n) for how it settles")

    def echo(self, harmonics: int = 1) -> NoReturn:
        """Refuse: echo modes are those of a dual queue by acknowledgements."""
        self._refuse("echo", "build the Loop of the dual queue alone")

    def explain(self) -> NoReturn:
        """Refuse: no network has a closed form."""
        self._refuse("explain", "look at linear, its matrices")

    def sweep(self) -> NoReturn:
        """Refuse: a network is one loop at a time."""
        self._refuse("sweep", "build one loop for each value")

    def _refuse(self, what: str, remedy: str) -> NoReturn:
        raise UnsupportedError(
            f"{what}() has no meaning for the matrix loop of a network: {remedy}."
        )
