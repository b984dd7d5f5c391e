"""What chance does to a network: the noise of each link's signals, in the delays of all queues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.errors import UnsupportedError
from pi2_fluid.loop.controllers import encode_slopes
from pi2_fluid.loop.lots import CUTS, cut_factor, positive, require_lots, window_of
from pi2_fluid.loop.matrix.noise import Look, NetworkNoise
from pi2_fluid.loop.strangers import ControlHints
from pi2_fluid.units import validate_choice

if TYPE_CHECKING:
    import xarray
    from numpy.typing import ArrayLike

    from pi2_fluid.loop.matrix.system import MatrixLoop
    from pi2_fluid.network.bottlenecks import NetworkPoint
    from pi2_fluid.network.network import Network
    from pi2_fluid.values import ComplexArray, FloatArray, Quantity

#: What delays are asked of: of each queue, or of all queues that a class of flows crosses.
OF: Final = ("link", "flows")


class NoisyNetwork(ControlHints):
    """A network's loop that says how far the lots drive it that its queues draw for packets."""

    network: Network
    update: str
    operating_point: NetworkPoint
    clock: str

    if TYPE_CHECKING:  # of `NetworkLoop`

        @property
        def linear(self) -> MatrixLoop:
            """The matrices of the loop."""

        def nyquist_count(self) -> int:
            """Return the number of unstable modes."""

    def delay_sd(
        self,
        bin: Quantity | None = None,
        *,
        by: str | None = None,
        cuts: str = "equal",
        of: str = "link",
    ) -> xarray.DataArray:
        """Return the standard deviation (s) of queue delays that chance alone makes.

        As `Loop.delay_sd`, of every queue of the network: each link signals each class by lots of
        its own, and what one queue does reaches the others.

        Parameters
        ----------
        bin, cuts
            As for `Loop.delay_sd`.
        by : {"class"}, optional
            By the lots of each class by themselves, over ``lots``: the squares add up.
        of : {"link", "flows"}
            Of each queue, over ``link``; or of what packets of each class wait at all queues of
            their route, over ``flows``.

        Returns
        -------
        xarray.DataArray
            inf where the loop is unstable or on its boundary. 0 of a link without a queue.

        Raises
        ------
        UnsupportedError
            If a link that signals draws no lots for each packet by a probability that it holds
            between updates, as `Price`.
        QuantityError, DomainError
            If `bin` is no time of 0 or more, or a word is unknown.

        Notes
        -----
        A class that several links signal hears each one's noise, less what the others signal; that
        one packet is signalled twice is left out, some p of what there is.

        Examples
        --------
        >>> import pi2_fluid as pf
        >>> network = pf.Network(
        ...     [
        ...         pf.Node("a", pf.Link("15Mbit/s"), pf.Pi2()),
        ...         pf.Node("b", pf.Link("12Mbit/s"), pf.Pi2()),
        ...     ],
        ...     [
        ...         pf.Flows(pf.Reno(), 6, "80ms", "both", route=("a", "b")),
        ...         pf.Flows(pf.Reno(), 5, "40ms", "one", route="a"),
        ...         pf.Flows(pf.Reno(), 8, "60ms", "other", route="b"),
        ...     ],
        ... )
        >>> loop = pf.Loop(network, update="sampled")
        >>> print((1e3 * loop.delay_sd("20ms")).round(2).to_series().to_dict())
        {'a': 7.35, 'b': 8.5}
        >>> print((1e3 * loop.delay_sd("20ms", of="flows")).round(2).to_series().to_dict())
        {'both': 10.03, 'one': 7.35, 'other': 8.5}
        """
        if by is not None:
            validate_choice(by, ("class",), "by")
        noise = self._noise(window_of(bin), cuts, of)
        variances = noise.spread().delay if self.nyquist_count() == 0 else np.inf
        shape = noise.density.shape[0], noise.looks
        variances = np.broadcast_to(variances, shape)
        if by is None:
            return self._labelled(np.sqrt(variances.sum(axis=0)), (of,))
        every = np.zeros((len(self.network.flows), noise.looks))
        every[list(self.linear.moving)] = np.sqrt(variances)
        return self._labelled(every, ("lots", of))

    def delay_spectrum(
        self, w: ArrayLike, *, by: str | None = None, cuts: str = "equal", of: str = "link"
    ) -> xarray.DataArray:
        """Return the density of the variance of queue delays over frequency (s^2 per rad/s).

        As `Loop.delay_spectrum`; the last dimension is ``frequency``.
        """
        if by is not None:
            validate_choice(by, ("class",), "by")
        at = positive(w)
        noise = self._noise(0.0, cuts, of)
        shape = noise.density.shape[0], noise.looks, at.size
        settles = self.nyquist_count() == 0
        density = noise.delay_density(at.ravel()) if settles else np.full(shape, np.inf)
        coords = {"frequency": ("frequency", at.ravel(), {"units": "rad/s"})}
        if by is None:
            return self._labelled(density.sum(axis=0), (of, "frequency"), coords)
        every = np.zeros((len(self.network.flows), *shape[1:]))
        every[list(self.linear.moving)] = density
        return self._labelled(every, ("lots", of, "frequency"), coords)

    def signal_spread(self) -> xarray.DataArray:
        """Return the standard deviation of each controller's variable by chance, over its rest.

        As `Loop.signal_spread`, over ``link``; NaN of links that signal nothing.
        """
        noise = self._noise(0.0, "equal", "link")
        settles = self.nyquist_count() == 0
        variances = noise.spread().variable.sum(axis=0) if settles else np.inf
        linear, rest = self.linear, self.operating_point.numbers("controller")
        found = np.full(rest.shape, np.nan)
        places = [linear.places[queue] for queue in linear.signals]
        found[places] = np.sqrt(variances) / rest[places]
        return self._labelled(found, ("link",))

    def _labelled(
        self, values: FloatArray, dims: tuple[str, ...], coords: dict[str, Any] | None = None
    ) -> xarray.DataArray:
        import xarray

        names: dict[str, Any] = {
            "link": list(self.network.node_names),
            "flows": list(self.network.class_names),
            "lots": list(self.network.class_names),
        }
        known = {dim: names[dim] for dim in dims if dim in names}
        return xarray.DataArray(values, known | (coords or {}), dims)

    def _noise(self, window: float, cuts: str, of: str) -> NetworkNoise:
        validate_choice(cuts, CUTS, "cuts")
        validate_choice(of, OF, "of")
        if self.clock == "acks":
            raise UnsupportedError(
                "chance in queues of several links is known by rates alone: use"
                ' clock="rate", or simulate packets.'
            )
        point, linear = self.operating_point, self.linear
        density = np.zeros((len(linear.moving), len(linear.signals)))
        for column, queue in enumerate(linear.signals):
            place = linear.places[queue]
            law, at_rest = self.network.nodes[place].aqm, point.numbers("controller")[place]
            require_lots(law, at_rest, alone=False)
            slopes = dict(zip(("classic", "scalable"), encode_slopes(law, at_rest), strict=True))
            packets = (point.share * point.capacity).to_numpy()[place]
            for row, number in enumerate(linear.moving):
                sender = self.network.flows[number].sender
                if sender.signal is None or not linear.slopes[row, column]:
                    continue
                p = float(point.numbers("link_p")[place, int(sender.signal == "scalable")])
                scatter = p * (1.0 - p) / packets[number] * float(cut_factor(sender, cuts))
                slope = float(slopes[sender.signal])
                density[row, column] = scatter / slope**2 if slope else 0.0
        return NetworkNoise(linear, self.update, density, self._look(of), window)

    def _look(self, of: str) -> Look:
        """What is asked of the delays of the queues."""
        linear, network = self.linear, self.network
        if of == "link":
            whole = np.zeros((len(network.nodes), len(linear.places)))
            whole[list(linear.places), range(len(linear.places))] = 1.0
            whole[:, [pair.served for pair in linear.pairs]] = 0.0
            return lambda s: np.broadcast_to(whole, (len(s), *whole.shape)).astype(complex)
        ways = self._ways()

        def along(s: ComplexArray) -> ComplexArray:
            late = np.exp(-s[:, None, None] * np.nan_to_num(ways))
            return np.where(np.isnan(ways), 0.0, late)

        return along

    def _ways(self) -> FloatArray:
        """Seconds from the arrival at each queue to the end of the route; NaN off it."""
        linear, network = self.linear, self.network
        point, paired = self.operating_point, [pair.waits for pair in linear.pairs]
        found = np.full((len(network.flows), len(linear.places)), np.nan)
        for number, flow in enumerate(network.flows):
            l4s = flow.sender.signal == "scalable"
            waits = (point.l4s_delay if l4s else point.queue_delay).to_numpy()
            route = [network.node_names.index(n) for n in flow.route or network.node_names[:1]]
            now = 0.0
            for place, hop in zip(route, flow.hops or (0.0,) * len(route), strict=True):
                now += float(hop)
                if place in linear.places:
                    queue = linear.places.index(place)
                    # Of a dual queue the first is the one that waits.
                    if waits[place] > 0.0 or queue not in paired:
                        found[number, queue] = now
                now += waits[place]
            found[number] = now - found[number]
        return found
