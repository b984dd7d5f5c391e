"""The noise of mixtures, dual queues and networks: marched through time, Parseval, one queue."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.linalg import solve_discrete_lyapunov

import pi2_fluid as pf
from pi2_fluid.loop.matrix.response import class_plants, plant_matrix


class March:
    """A linear loop whose states, with their past, are marched through one update by steps.

    Rows of `now` are numbers at this step, each a combination of the whole state: nothing here
    knows frequencies. Lyapunov's equation says how far noise has spread the state where that is the
    same from update to update.
    """

    def __init__(self, step, ticks, names, longest):
        self.step, self.ticks, self.names = step, ticks, list(names)
        self.lags = round(longest / step) + 1
        self.size = len(self.names) * self.lags
        self.eye = np.eye(self.size)

    def past(self, name, delay=0.0):
        """The row that reads what a number was some time ago."""
        return self.eye[self.names.index(name) * self.lags + round(delay / self.step)]

    def through(self, changes):
        """One step: the new value of each number as a row; numbers without one are held."""
        on = np.zeros((self.size, self.size))
        for place, name in enumerate(self.names):
            first = place * self.lags
            on[first] = changes.get(name, self.past(name))
            for lag in range(1, self.lags):
                on[first + lag, first + lag - 1] = 1.0
        return on

    def spread(self, on, tick, kicks, looks):
        """Variances of what is looked at, over an update, and of everything right after a tick."""
        whole, fed = self.eye, np.zeros_like(self.eye)
        for _ in range(self.ticks):
            fed, whole = on @ fed @ on.T + kicks, on @ whole
        now = solve_discrete_lyapunov(tick @ whole, tick @ fed @ tick.T, method="bilinear")
        after, seen = now, []
        for _ in range(self.ticks):
            now = on @ now @ on.T + kicks
            seen.append([look @ now @ look for look in looks])
        return np.mean(seen, axis=0), after

    def kick(self, name, size):
        """What noise of a density adds to a number in one step, whose slope it disturbs."""
        row = self.past(name)
        return size * self.step * np.outer(row, row)


def tick_of(march, laws):
    """All updates of PI at once: laws has (alpha, beta, variable, delay as a row, delay before)."""
    tick = march.eye.copy()
    for alpha, beta, variable, delay, before in laws:
        tick[march.names.index(variable) * march.lags] += (alpha + beta) * delay
        tick[march.names.index(variable) * march.lags] -= beta * march.past(before)
        tick[march.names.index(before) * march.lags] = delay
    return tick


def marched_loop(loop, step):
    """A loop by rates of classes with one state, which may take the link from the queue."""
    linear, queue = loop.linear, loop.aqm
    classes = linear.classes
    names = [*(f"w{i}" for i in range(len(classes))), "e", "u", "before"]
    ticks = round(float(linear.controller.interval) / step)
    march = March(step, ticks, names, max(float(cls.rtt) for cls in classes))
    # d = e + sum of lead y: what takes the link moves the delay at once.
    delay = march.past("e").copy()
    for i, cls in enumerate(classes):
        if cls.lead is not None:
            delay += cls.weight * cls.lead * cls.c * march.past(f"w{i}")
    changes = {"e": march.past("e").copy()}
    for i, cls in enumerate(classes):
        w, heard = march.past(f"w{i}"), march.past("u", float(cls.rtt))
        slope = cls.a0 * w + cls.a1 * march.past(f"w{i}", float(cls.rtt)) + cls.b * heard
        changes[f"w{i}"] = w + step * slope
        changes["e"] += step * cls.weight * (cls.c * w + cls.r * delay)
    tick = tick_of(march, [(queue.alpha, queue.beta, "u", delay, "before")])
    on, found = march.through(changes), []
    for i, (cls, density) in enumerate(zip(classes, loop._densities("equal"), strict=True)):
        kick = march.kick(f"w{i}", float(cls.b) ** 2 * float(density))
        (seen,), after = march.spread(on, tick, kick, [delay])
        u = march.past("u")
        found.append([seen, u @ after @ u])
    return np.array(found)


def marched_network(loop, step):
    """A network by rates, FIFO: what one queue lets through changes what reaches the next."""
    linear, point = loop.linear, loop.operating_point
    classes, queues = range(len(linear.classes)), range(len(linear.capacity))
    names = [f"w{i}" for i in classes] + [f"{kind}{q}" for q in queues for kind in ("e", "u", "b")]
    ticks = round(linear.intervals[0] / step)
    march = March(step, ticks, names, float(np.max(linear.rtt)))
    rates = (point.share * point.capacity).to_numpy()

    def delays(q):
        """tau = e less what those before it hold back, late: the integral of their slopes."""
        row = march.past(f"e{q}").copy()
        for i in classes:
            for m in queues:
                ahead = linear.forward[i, q] - linear.forward[i, m]
                if m != q and linear.crosses[i, q] * linear.crosses[i, m] and ahead > 0.0:
                    row -= rates[q, i] / linear.capacity[q] * march.past(f"e{m}", ahead)
        return row  # of two queues in a row, of which the first has none before it

    changes = {f"e{q}": march.past(f"e{q}").copy() for q in queues}
    for i, cls in enumerate(linear.classes):
        w, rtt = march.past(f"w{i}"), float(cls.rtt)
        slope = cls.a0 * w + cls.a1 * march.past(f"w{i}", rtt)
        for q in queues:
            back = rtt - linear.forward[i, q]
            slope = slope + cls.b * linear.slopes[i, q] * march.past(f"u{q}", back)
            if not linear.crosses[i, q]:
                continue
            late = linear.forward[i, q]
            sent = cls.c * march.past(f"w{i}", late)
            for m in queues:
                if linear.crosses[i, m]:
                    sent = sent + cls.r * later(march, delays(m), late)
            changes[f"e{q}"] += step * linear.weight[i, q] * sent
        changes[f"w{i}"] = w + step * slope
    laws = [
        (node.aqm.alpha, node.aqm.beta, f"u{q}", delays(q), f"b{q}")
        for q, node in enumerate(loop.network.nodes)
    ]
    on, tick = march.through(changes), tick_of(march, laws)
    looks, found = [delays(q) for q in queues], []
    for i, cls in enumerate(linear.classes):
        size = sum(
            linear.slopes[i, q] ** 2 * loop._noise(0.0, "equal", "link").density[i, q] * np.pi
            for q in queues
        )
        seen, _ = march.spread(on, tick, march.kick(f"w{i}", float(cls.b) ** 2 * size), looks)
        found.append(seen)
    return np.array(found)


def later(march, row, delay):
    """The same combination, some time ago."""
    found, by = np.zeros_like(row), round(delay / march.step)
    for place in range(len(march.names)):
        first = place * march.lags
        found[first + by : first + march.lags] = row[first : first + march.lags - by]
    return found


def extrapolated(march, loop, steps):
    """Without the error of the steps, of first order, and of second with three of them."""
    values = [march(loop, step) for step in steps]
    if len(values) == 2:
        return 2.0 * values[1] - values[0]
    coarse, middle, fine = values
    return (8.0 * fine - 6.0 * middle + coarse) / 3.0


#: Queue delays and paths of whole steps of 4 ms.
PI = {"alpha": 0.16, "beta": 2.4, "target": 0.016, "update_interval": 0.016}
LOOPS = {
    "two paths in one queue": (
        [pf.Flows(pf.Reno(), 5, 0.024), pf.Flows(pf.CReno(), 4, 0.064, "far")],
        lambda: pf.Pi2(**PI),
    ),
    "both kinds in one queue": (
        [pf.Flows(pf.Reno(), 8, 0.024), pf.Flows(pf.Scalable(), 3, 0.048, "l4s")],
        lambda: pf.CoupledPi2(**PI),
    ),
    "a dual queue": (
        [pf.Flows(pf.Reno(), 8, 0.024), pf.Flows(pf.Scalable(), 3, 0.032, "l4s")],
        lambda: pf.DualPi2(**PI),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LOOPS)
def test_mixtures_are_what_lyapunovs_equation_says_class_by_class(name):
    """Steps of 4, 2 and 1 ms leave an error of the third order: 3e-4 of the deviation."""
    flows, queue = LOOPS[name]
    loop = pf.Loop(flows, queue(), capacity="24Mbit/s", update="sampled")
    variances = extrapolated(marched_loop, loop, (0.004, 0.002, 0.001))
    assert loop.delay_sd(by="class") == pytest.approx(np.sqrt(variances[:, 0]), rel=5e-4)
    rho = np.sqrt(variances[:, 1].sum()) / loop.operating_point.controller
    assert loop.signal_spread() == pytest.approx(rho, rel=5e-4)


def row_of_two(**model):
    """Three classes over two links, whose queues and hops are whole steps of 4 ms."""
    nodes = [pf.Node(n, pf.Link(r), pf.Pi2(**PI)) for n, r in (("a", 15e6), ("b", 12e6))]
    flows = [
        pf.Flows(pf.Reno(), 6, 0.048, "both", route=("a", "b"), hops=("4ms", "8ms")),
        pf.Flows(pf.Reno(), 5, 0.032, "first", route="a", hops="4ms"),
        pf.Flows(pf.Reno(), 8, 0.04, "second", route="b", hops="8ms"),
    ]
    return pf.NetworkLoop(pf.Network(nodes, flows), **model)


@pytest.mark.slow
def test_two_links_in_a_row_are_what_lyapunovs_equation_says_class_by_class():
    """Steps of 4 and 2 ms leave an error of the second order."""
    loop = row_of_two(update="sampled")
    variances = extrapolated(marched_network, loop, (0.004, 0.002))
    np.testing.assert_allclose(loop.delay_sd(by="class"), np.sqrt(variances), rtol=1e-2)


@pytest.mark.slow
@pytest.mark.parametrize("update", ["continuous", "delayed", "sampled"])
def test_one_queue_as_a_matrix_says_what_its_loop_says(update):
    flows = [pf.Flows(pf.Reno(), 5, "40ms", "x"), pf.Flows(pf.Cubic(), 5, "60ms", "y")]
    alone = pf.Loop(flows, pf.Pi2(), capacity="20Mbit/s", update=update)
    node = pf.Node("a", pf.Link("20Mbit/s"), pf.Pi2())
    matrix = pf.NetworkLoop(pf.Network(node, flows), update=update)
    w = [0.5, 5.0, 50.0, 500.0, 900.0]
    for cuts in ("equal", "varied"):
        # Ranges are halved where one or the other asks for it.
        assert float(matrix.delay_sd("20ms", cuts=cuts)[0]) == pytest.approx(
            alone.delay_sd("20ms", cuts=cuts), rel=1e-4
        )
        of_class = matrix.delay_sd(by="class", cuts=cuts).to_numpy()[:, 0]
        assert of_class == pytest.approx(alone.delay_sd(by="class", cuts=cuts), rel=1e-4)
        np.testing.assert_allclose(
            matrix.delay_spectrum(w, cuts=cuts)[0], alone.delay_spectrum(w, cuts=cuts), rtol=1e-6
        )
    assert float(matrix.signal_spread()[0]) == pytest.approx(alone.signal_spread(), rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("update", ["continuous", "delayed", "sampled"])
def test_parseval_of_a_network(update):
    """A sum over frequencies is the integral's value; a grid of 0.5 rad/s does not see 1e-3."""
    loop = row_of_two(update=update)
    w = np.union1d(np.geomspace(0.01, 700.0, 400), np.arange(0.5, 60.0, 0.5))
    density = loop.delay_spectrum(w)
    np.testing.assert_allclose(
        np.sqrt(np.trapezoid(density, w, axis=-1)), loop.delay_sd(), rtol=2e-3
    )


@pytest.mark.slow
@pytest.mark.parametrize("clock", ["acks", "rate"])
@pytest.mark.parametrize("update", ["continuous", "delayed", "sampled"])
@pytest.mark.parametrize("queue", [pf.DualPi2, pf.CoupledPi2])
def test_parseval_of_both_kinds(queue, update, clock):
    flows = [pf.Flows(pf.Reno(), 10, "30ms"), pf.Flows(pf.Prague(), 5, "30ms", "l4s")]
    loop = pf.Loop(flows, queue(), capacity="40Mbit/s", update=update, clock=clock)
    w = np.union1d(np.geomspace(0.01, 1000.0, 800), np.arange(0.5, 100.0, 0.5))
    for density, sd in zip(
        loop.delay_spectrum(w, by="class"), loop.delay_sd(by="class"), strict=True
    ):
        assert np.sqrt(np.trapezoid(density, w)) == pytest.approx(sd, rel=1e-3)


def test_classes_of_a_network_add_up_to_its_plant():
    loop = row_of_two().linear
    s = 1j * np.geomspace(0.1, 300.0, 30)
    np.testing.assert_allclose(class_plants(loop, s).sum(axis=2), plant_matrix(loop, s), rtol=1e-12)


@pytest.mark.slow
def test_what_a_route_waits_is_the_sum_of_what_its_queues_do_if_nothing_lies_between():
    """A class over one queue waits what that queue does; slow noise of two queues adds up."""
    loop = row_of_two(update="sampled")
    links, flows = loop.delay_sd(), loop.delay_sd(of="flows")
    assert float(flows.sel(flows="first")) == pytest.approx(float(links.sel(link="a")), rel=1e-6)
    assert float(flows.sel(flows="second")) == pytest.approx(float(links.sel(link="b")), rel=1e-6)
    both = float(flows.sel(flows="both"))
    assert float(links.max()) < both < float(links.sum())


@pytest.mark.slow
def test_links_without_a_queue_make_no_noise_and_hear_none():
    nodes = [pf.Node(n, pf.Link(r), pf.Pi2()) for n, r in (("a", 15e6), ("idle", 1e9), ("b", 12e6))]
    flows = [
        pf.Flows(pf.Reno(), 6, 0.06, "both", route=("a", "idle", "b")),
        pf.Flows(pf.Reno(), 5, 0.04, "first", route="a"),
        pf.Flows(pf.Reno(), 8, 0.06, "second", route="b"),
        pf.Flows(pf.Cbr(rate="1Mbit/s", thinned=False), 1, 0.04, "cbr", route="b"),
    ]
    loop = pf.Loop(pf.Network(nodes, flows), update="sampled")
    found = loop.delay_sd(by="class")
    assert np.all(found.sel(link="idle") == 0.0)
    assert np.all(found.sel(lots="cbr") == 0.0)
    assert np.all(found.sel(lots="both", link=["a", "b"]) > 0.0)
    assert np.isnan(loop.signal_spread().sel(link="idle"))


def test_an_unstable_network_has_no_variance():
    loop = row_of_two(update="sampled")
    nodes = [
        dataclasses.replace(node, aqm=pf.Pi2(alpha=8.0, beta=80.0)) for node in loop.network.nodes
    ]
    wild = pf.Loop(pf.Network(nodes, loop.network.flows), update="sampled")
    assert wild.nyquist_count() > 0
    assert np.all(np.isinf(wild.delay_sd()))
    assert np.all(np.isinf(wild.delay_spectrum([1.0])))
    assert np.all(np.isinf(wild.signal_spread()))


def test_cuts_of_unequal_windows():
    """2/(2 - b) of the variance for Reno's law, nothing for Cubic's and Scalable's."""
    for sender, ratio in ((pf.Reno(), 4 / 3), (pf.CReno(), 2 / 1.7), (pf.Cubic(), 1.0)):
        loop = pf.Loop(pf.Flows(sender, 10, "40ms"), pf.Pi2(), capacity="40Mbit/s")
        assert (loop.delay_sd(cuts="varied") / loop.delay_sd()) ** 2 == pytest.approx(ratio)


@pytest.mark.slow
def test_cuts_of_many_windows_drawn_at_random():
    """Windows of Reno flows that are cut by lots at a held p: the variance of all cuts is known."""
    rng, windows, p, b = np.random.default_rng(5), np.full(4000, 40.0), 0.002, 0.5
    total, equal = 0.0, 0.0
    for turn in range(4000):  # tenths of a round trip
        cut = rng.random(windows.size) < 1.0 - (1.0 - p) ** (0.1 * windows)
        if turn >= 1000:
            total += float(np.sum((b * windows[cut]) ** 2))
            equal += windows.size * 0.1 * p * b**2 * float(np.mean(windows)) ** 3
        windows = np.where(cut, (1.0 - b) * windows, windows) + 0.1
    # E[W] of unequal windows is a little below that of the law, whose E[W^2] they have.
    law = windows.size * 3000 * 0.1 * p * b**2 * (1.0 / np.sqrt(b * p)) ** 3
    assert total / law == pytest.approx(
        2.0 / (2.0 - b) * np.mean(windows) * np.sqrt(b * p), rel=0.03
    )
    assert total > equal


# --- signals that are spread ----------------------------------------------------------------


def test_signals_that_are_spread_come_as_regularly_as_that() -> None:
    """Of PIE's rule, drawn: 1.85/p from one to the next, and the variance of a long count."""
    rng, p, runs, packets = np.random.default_rng(3), 0.02, 2000, 20_000
    spacing = pf.Pie().signal_spacing
    gaps = np.ceil(spacing / p) - 1 + rng.geometric(p, (runs, 400))
    gaps = np.minimum(gaps, np.ceil(8.5 / p))
    count = (np.cumsum(gaps, axis=1) <= packets).sum(axis=1)
    assert count.mean() == pytest.approx(packets * p / (1.0 + spacing), rel=0.01)
    # 2000 runs know a variance to 3 %; that p is not small adds 2.
    index = count.var() / count.mean()
    assert index == pytest.approx((1.0 - p) / (1.0 + spacing) ** 2, rel=0.12)


SPREAD = [pf.Flows(pf.Reno(), 12, "40ms")]


@pytest.mark.parametrize("clock", ["acks", "rate"])
def test_a_queue_that_spreads_is_one_with_smaller_gains_and_a_regular_count(clock):
    """By hand: gains by the table at 1.85 p over 1.85, and the variance over 1.85^2."""
    model = {"capacity": "20Mbit/s", "update": "sampled", "clock": clock}
    spread = pf.Loop(SPREAD, pf.Pie(), **model)
    p = float(spread.operating_point.p[0])
    queue = pf.Pie(derandomize=False)
    factor = queue.gain_factor(1.85 * p) / queue.gain_factor(p) / 1.85
    alpha, beta = factor * queue.alpha, factor * queue.beta
    smaller = pf.Loop(SPREAD, dataclasses.replace(queue, alpha=alpha, beta=beta), **model)
    assert spread.delay_sd() == pytest.approx(smaller.delay_sd() / 1.85, rel=1e-4)
    assert spread.signal_spread() == pytest.approx(smaller.signal_spread() / 1.85, rel=1e-4)
    # Who is signalled is as random as ever: 1/3 of Reno's.
    varied = spread.delay_sd(cuts="varied") / smaller.delay_sd()
    assert varied == pytest.approx(np.sqrt(1.85**-2 + 1 / 3), rel=1e-4)
    w = [1.0, 10.0, 100.0]
    density = smaller.delay_spectrum(w) / 1.85**2
    np.testing.assert_allclose(spread.delay_spectrum(w), density, rtol=1e-9)


def test_halves_of_a_class_hear_parts_of_one_regular_sequence():
    """Each of them by itself hears more noise than its part of what both make."""
    model = {"capacity": "20Mbit/s", "update": "sampled", "clock": "acks"}
    halves = [pf.Flows(pf.Reno(), n, "40ms", str(n)) for n in (4, 8)]
    whole, parts = pf.Loop(SPREAD, pf.Pie(), **model), pf.Loop(halves, pf.Pie(), **model)
    for cuts in ("equal", "varied"):
        sd = whole.delay_sd(cuts=cuts)
        assert parts.delay_sd(cuts=cuts) == pytest.approx(sd, rel=1e-4)
        assert np.hypot(*parts.delay_sd(cuts=cuts, by="class")) == pytest.approx(sd, rel=1e-4)


def test_arrays_of_gains_of_a_queue_that_spreads():
    model = {"capacity": "20Mbit/s", "update": "sampled", "clock": "acks"}
    gains = np.array([0.06, 0.125, 0.25])
    found = pf.Loop(SPREAD, pf.Pie(alpha=gains), **model).delay_sd(cuts="varied")
    for sd, alpha in zip(found, gains, strict=True):
        one = pf.Loop(SPREAD, pf.Pie(alpha=alpha), **model).delay_sd(cuts="varied")
        assert sd == pytest.approx(one, rel=3e-4)


@pytest.mark.slow
def test_packets_of_pie_scatter_as_far():
    """Linux's own PIE, whose signals are spread; a run scatters by some 5 %."""
    flows = [pf.Flows(pf.Reno(), 20, "60ms", start_jitter="1s")]
    loop = pf.Loop(flows, pf.Pie(), capacity="40Mbit/s", update="sampled", clock="acks")
    scenario = pf.Scenario(48.0, pf.Link("40Mbit/s", buffer=20_000), pf.Pie(), flows)
    runs = pf.packet.simulate(scenario, seeds=[301, 302, 303], bin=0.02, threads=1)
    delay = runs.sojourn.sel(time=slice(8.0, None))
    measured = float(np.sqrt(delay.var("time").mean()))
    assert 0.8 < loop.delay_sd("20ms", cuts="varied") / measured < 1.2


REFUSED = {
    "a price": lambda: pf.NetworkLoop(
        pf.Network(
            pf.Node("a", pf.Link("200Mbit/s", packet_size="1000B"), pf.Price()),
            pf.Flows(pf.Paganini(), 32, "40ms"),
        )
    ),
    "signals that are spread among links": lambda: pf.NetworkLoop(
        pf.Network(pf.Node("a", pf.Link("20Mbit/s"), pf.Pie()), pf.Flows(pf.Reno(), 9, "40ms"))
    ),
    "an array of loops": lambda: pf.Loop(
        pf.Flows(pf.Reno(), 10, "40ms"), pf.Pi2(alpha=[0.1, 0.2]), capacity="40Mbit/s"
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_derived_is_refused(case):
    with pytest.raises(pf.UnsupportedError):
        REFUSED[case]().delay_spectrum([1.0])


def test_bad_words_and_frequencies_are_refused():
    loop = row_of_two()
    with pytest.raises(pf.DomainError, match=r"w = .* is not all positive and finite"):
        loop.delay_spectrum([0.0, 1.0])
    with pytest.raises(pf.QuantityError, match="cuts = 'none' is unknown"):
        loop.delay_sd(cuts="none")
    with pytest.raises(pf.QuantityError, match="of = 'queue' is unknown"):
        loop.delay_sd(of="queue")
