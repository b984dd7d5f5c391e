"""The rows of a linear trajectory, as arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from pi2_fluid.engines.fluid.accuracy import Accuracy
from pi2_fluid.engines.fluid.linearised.network import LinearNetwork
from pi2_fluid.engines.fluid.linearised.trajectory import Stretch, Trajectory
from pi2_fluid.engines.fluid.timeline import Schedule
from pi2_fluid.engines.fluid.trace import Trace, by_band

if TYPE_CHECKING:
    from pi2_fluid.laws.aqm import Aqm
    from pi2_fluid.values import FloatArray


def trace_linear(
    network: LinearNetwork,
    schedule: Schedule,
    accuracy: Accuracy,
    times: FloatArray,
    progress: Callable[[float, float], None] | None,
) -> Trace:
    """Run a linear trajectory, and return what is at each of the times (s).

    Raises
    ------
    SolverError
        If its steps become too small or too many.
    """
    parts, duration = [], float(network.scenario.duration)
    for stretch in Trajectory(network, schedule, accuracy).follow(times):
        parts.append(_part(network, stretch))
        if progress is not None:
            progress(float(stretch.times[-1]), duration)
    names = [name for name, value in parts[0]._asdict().items() if value is not None]
    joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return Trace(**joined)


def _part(of: LinearNetwork, stretch: Stretch) -> Trace:
    """Return a part of the rows."""
    stage, times, values = stretch
    places, layout, n = of.places, of.layout, len(times)
    links, classes = len(of.nodes), len(of.senders)
    link_p, left = np.zeros((n, links, classes)), np.zeros((n, links, classes))
    p, window = np.zeros((n, classes)), np.zeros((n, classes))
    for i, path in enumerate(layout.paths):
        for link, s in zip(path.links, path.streams, strict=True):
            left[:, link, i] = values[:, places.left + s]
            link_p[:, link, i] = _shown(of, values, i, link)
        mine = stage.classes[i]
        if mine is not None:
            pairs = zip(path.links, stage.met[i], stage.counts[i], strict=True)
            p[:, i] = mine.p + sum(by * (link_p[:, k, i] - met) for k, met, by in pairs)
        window[:, i] = _window(of, stretch, i)
    last = [path.links[-1] for path in layout.paths]
    laws = zip(of.aqms, places.laws, strict=True)
    trace = Trace(
        time=times,
        queue=by_band(layout.queues_of, values[:, : of.queues]),
        queue_delay=by_band(layout.queues_of, values[:, places.delays : places.delays + of.queues]),
        controller=np.stack([_controller(aqm, values[:, where]) for aqm, where in laws], axis=1),
        p=p,
        window=window,
        leaving=left[:, last, list(range(classes))],
        capacity=np.tile(np.array(stage.mode.capacity), (n, 1)),
        link_p=link_p,
        link_leaving=left,
    )
    if links > 1:
        return trace
    # Of one link as every engine returns it.
    return trace._replace(
        queue=trace.queue.reshape(n, -1),
        queue_delay=trace.queue_delay.reshape(n, -1),
        controller=trace.controller[:, 0],
        capacity=trace.capacity[:, 0],
        link_p=None,
        link_leaving=None,
    )


def _shown(of: LinearNetwork, values: FloatArray, i: int, link: int) -> FloatArray | float:
    """Return the probability with which a link signals packets of a class."""
    sender = of.senders[i]
    if (sender.thinned and not of.aqms[link].thins) or not (sender.thinned or sender.signal):
        return 0.0
    scalable = sender.signal == "scalable" and not sender.thinned
    column = (of.places.scalable if scalable else of.places.classic) + link
    result: FloatArray = values[:, column]
    return result


def _controller(aqm: Aqm, states: FloatArray) -> FloatArray:
    return np.array([float(aqm.controller(tuple(state))) for state in states.tolist()])


def _window(of: LinearNetwork, stretch: Stretch, i: int) -> FloatArray | float:
    """Return the window of a class: without one, what it sends in a round trip, dropped or not."""
    stage, times, values = stretch
    where, mode = of.places.windows[i], stage.mode
    if of.listens[i]:
        result: FloatArray = values[:, where.start]
        return result
    if not mode.active[i] or mode.counts[i] <= 0.0:
        return 0.0
    # What it sends depends on no round-trip time, so that the product is linear in this one.
    queues = [of.places.delays + queue for queue in of.layout.paths[i].queues]
    rtt = of.base_rtt[i] + values[:, queues].sum(axis=1)
    x = tuple(values[0, where].tolist())
    rate = float(of.senders[i].sending_rate(x if len(x) > 1 else x[0], of.base_rtt[i]))
    sent: FloatArray = rate * rtt
    begun: FloatArray = np.where(times > of.flows[i].start, sent, 0.0)
    return begun if mode.ramping[i] else sent
