# Written by tools/write_stub.py from the binding.
"""The compiled kernels of pi2_fluid. Internal: signatures may change."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy
from numpy.typing import NDArray

def margins(
    scalable: bool,
    m: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    mu: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    a: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    c: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    rtt: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    gm_db: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    pm_deg: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    w_gc: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    w_pc: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    simd: str | None = None,
) -> None:
    """Gain and phase margins of L(s), written into `gm_db`, `pm_deg`, `w_gc` and `w_pc`.

    L(jv) = m (a + j c v) exp(-jv) / (jv (1 + jv) (jv + mu h)) with v = w rtt and h = 1 + exp(-jv),
    or exp(-jv) if `scalable`. Frozen round-trip time, continuous PI controller. Releases the GIL.

    Parameters
    ----------
    scalable
        False: the Reno family, 0 <= mu <= 0.7072. True: scalable senders, 0 <= mu <= 1/2.
    m, mu, a, c
        Gain factor, reciprocal window, alpha rtt^2/T and (beta + alpha/2) rtt, dimensionless.
    rtt
        Round-trip time, seconds.
    gm_db, pm_deg
        Gain margin (-inf where mu = 0 and c <= 2 a) and unwrapped phase margin, dB and degrees.
    w_gc, w_pc
        Gain and phase crossover, rad/s; w_pc is 0 where gm_db is -inf.
    simd
        An element of `simd_levels()`; None takes the first.

    Raises
    ------
    TypeError
        An argument is not a contiguous one-dimensional float64 array.
    ValueError
        Lengths differ, arrays overlap, or a point lies outside the domain: m, a, c, rtt in
        [1e-100, 1e100] and mu zero or at least 1e-100. Results are then incomplete.
    """

class AliasSums:
    """The sums over aliases of one loop, whose classes of flows have one state each."""

    def __init__(
        self,
        classes: list[dict[str, float]],
        echoes: list[dict[str, float]],
        interval: float,
        count: int,
    ) -> None:
        """Take classes (`pi2_linear_class`), echoes (delay, order2 to order4), interval, count.

        Raises
        ------
        ValueError
            If a name is missing or unknown, or a number of another type or out of range.
        """

    def at(
        self,
        s: Annotated[
            NDArray[numpy.complex128], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ) -> Annotated[NDArray[numpy.complex128], dict(shape=(None,))]:
        """(1/T) sum over k of G(s_k)/s_k, s_k = s + 2 pi j k/T, at each s. Releases the GIL."""

def design_alias_sums(
    *,
    rtt: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    mu: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    one: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    varies: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    kappa: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    near: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    interval: float,
    count: int,
    w: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
) -> Annotated[NDArray[numpy.complex128], dict(shape=(None, None))]:
    """The sums over aliases of many loops of a design, at frequencies of all or of each.

    The loops are those of `pi2_design_loop`, in units of their round-trip time; `w` (rad/s) has a
    row for each, or one for all. Returns a row for each loop. Releases the GIL.
    """

class FluidRun:
    """One trajectory of the fluid model in the making (native/fluid/fluid.h).

    Parameters
    ----------
    link
        duration (s), capacity (packets/s), buffer (packets), update_interval (s, inf: none).
    continuous
        Whether the controller moves by its flow instead of its updates.
    accuracy
        step (s), tolerance (0: all steps of that length), most_steps.
    aqm, parameters
        A queue law of the kernel, and what configures it.
    classes
        Of each class: law, a window law, with its parameters and its state; signal ("classic",
        "scalable" or None); thinned, slow_start (bool); count; base_rtt, start, stop, start_jitter
        (s).
    changes
        Of each change: at (s), capacity (packets/s) and counts of all classes, NaN: as before.
    beginning
        Queues (packets) and state of the controller before time 0; None: empty and unsignalled.

    Raises
    ------
    ValueError
        A name is unknown or missing.
    """

    def __init__(
        self,
        link: dict[str, float],
        continuous: bool,
        accuracy: dict[str, float],
        aqm: str,
        parameters: Mapping[str, float],
        classes: list[dict[str, Any]],
        changes: list[dict[str, Any]],
        beginning: tuple[Sequence[float], Sequence[float]] | None,
    ) -> None: ...
    def advance(
        self,
        samples: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        place: int,
        most_steps: int,
        queue: Annotated[NDArray[numpy.float64], dict(order="C", device="cpu")],
        queue_delay: Annotated[NDArray[numpy.float64], dict(order="C", device="cpu")],
        controller: Annotated[NDArray[numpy.float64], dict(order="C", device="cpu")],
        p: Annotated[NDArray[numpy.float64], dict(order="C", device="cpu")],
        window: Annotated[NDArray[numpy.float64], dict(order="C", device="cpu")],
        leaving: Annotated[NDArray[numpy.float64], dict(order="C", device="cpu")],
        capacity: Annotated[NDArray[numpy.float64], dict(order="C", device="cpu")],
    ) -> tuple[int, str]:
        """Fill the rows of the times `samples` (s, rising) from `place` on; releases the GIL.

        Returns the first row that is not filled, and why: "done", "more" (after `most_steps` steps:
        call again), or an error after which the run is over: "stuck", "lost image", "not finite",
        "too old", "no memory".
        """

    @property
    def time(self) -> float:
        """How far it is (s)."""

    @property
    def steps(self) -> int:
        """Steps taken."""

class SenderLaw:
    """A window law of the kernel, for tests: native/laws/sender.h."""

    def __init__(self, name: str, parameters: Mapping[str, float]) -> None: ...
    def initial(self, window: float) -> list[float]: ...
    def rate(
        self,
        x: Sequence[float],
        window_delayed: float,
        signal_delayed: float,
        rtt: float,
        rtt_delayed: float,
    ) -> list[float]: ...
    def sending_rate(self, x: Sequence[float], rtt: float) -> float: ...
    def leave_slow_start(self, x: Sequence[float]) -> list[float]: ...
    def switches(self, x: Sequence[float], signal: float, rtt: float) -> list[float]: ...

class AqmLaw:
    """A queue law of the kernel, for tests: native/laws/aqm.h.

    `seen` has queue_delay (s, of both bands), queue (packets), arrival_rate, capacity and overflow
    (packets/s).
    """

    def __init__(self, name: str, parameters: Mapping[str, float]) -> None: ...
    def initial(self) -> list[float]: ...
    def update(
        self, state: Sequence[float], seen: Mapping[str, float | tuple[float, float]], dt: float
    ) -> list[float]: ...
    def flow(
        self,
        state: Sequence[float],
        seen: Mapping[str, float | tuple[float, float]],
        d_queue_delay: float,
    ) -> list[float]: ...
    def drift(
        self, state: Sequence[float], seen: Mapping[str, float | tuple[float, float]]
    ) -> list[float]: ...
    def saturate(self, state: Sequence[float]) -> list[float]: ...
    def controller(self, state: Sequence[float]) -> float: ...
    def encode(self, u: float) -> tuple[float, float]: ...
    def signals(
        self, state: Sequence[float], seen: Mapping[str, float | tuple[float, float]]
    ) -> tuple[float, float]: ...
    def switches(
        self, state: Sequence[float], seen: Mapping[str, float | tuple[float, float]]
    ) -> list[float]: ...
    def serve(
        self, backlogged: tuple[bool, bool], arrivals: tuple[float, float], capacity: float
    ) -> tuple[float, float]: ...

def fluid_lanes_rows() -> dict[str, list[str]]:
    """Names of the rows that `fluid_lanes` fills: statistics, those of each class, and traces."""

def fluid_lanes(
    classes: list[dict[str, Any]],
    groups: int,
    events: int,
    samples: int,
    continuous: bool,
    encoder: str,
    tuning: str,
    table: Sequence[tuple[float, float]],
    heuristics: dict[str, float],
    numbers: Mapping[
        str,
        Annotated[
            NDArray[numpy.float64],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
    ],
    nodes: Mapping[
        str,
        Annotated[
            NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
    ],
    depth: int,
    statistics: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")
    ],
    traces: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    simd: str | None = None,
) -> None:
    """Many trajectories of the fluid, one for each column of the rows in `numbers` and `nodes`.

    Results are written into `statistics` and `traces`; all rows are as in native/lanes/lanes.h.
    Releases the GIL. Every instruction set gives the same bytes.

    Parameters
    ----------
    classes
        Of each class: law ("reno", "scalable", "cbr"), group, signal ("classic", "scalable" or
        None), slow_start and thinned (bool).
    groups, events, samples
        How many there are.
    continuous, encoder, tuning, table, heuristics
        The queue: how its controller moves, what packets see of it ("linear", "square", "coupled"),
        the factor on its gains ("plain", "table", "root") with its falling edges, and PIE's cap,
        boost and decay.
    numbers, nodes
        Contiguous rows of one number for each run, by their names in the header.
    depth
        Nodes of the past to keep, a power of two.
    statistics, traces
        Contiguous rows of one number for each run, written to.
    simd
        An element of `simd_levels()`; None takes the first.

    Raises
    ------
    TypeError, ValueError
        An argument has another type or shape, or is out of range.
    """

class PacketRun:
    """One run of the packet simulator in the making (native/packet/simulator.h).

    Parameters
    ----------
    link
        duration (ns), capacity (bit/s), kind ("wire" or "htb"), delay_on ("return", "forward" or
        "split"), ack_jitter (ns), buffer (packets), packet_size (bytes).
    qdisc, parameters
        A queue discipline of the kernel, and what configures it.
    classes
        Of each class: congestion, its control (None: constant bit rate), and the parameters of
        that; interval between packets (ns, of a constant bit rate); count; base_rtt, start, stop
        (None: the end) and start_jitter (ns); initial_window (segments); slow_start, delayed_ack
        (bool); ecn, the field (0 Not-ECT, 1 ECT(1), 2 ECT(0)).
    changes
        Of each change, in the order of time: at (ns), capacity (bit/s, 0: as it is), and counts,
        the flows of every class (-1: as they are).
    seed
        In [0, 2^64).
    bin
        Length of a row of statistics (ns).
    trace
        Events recorded at most.

    Raises
    ------
    ValueError
        A name is unknown or missing, or a number is out of range.
    """

    def __init__(
        self,
        link: dict[str, Any],
        qdisc: str,
        parameters: Mapping[str, float],
        classes: list[dict[str, Any]],
        changes: list[dict[str, Any]],
        seed: int,
        bin: int,
        trace: int,
    ) -> None: ...
    def advance(self, events: int) -> str:
        """Handle up to that many events: "more", "done" or "no memory"; releases the GIL."""

    def outcome(self) -> dict[str, Any]:
        """Copies of all that was counted so far, by the names of the header's columns.

        "bins": arrays (bins,) of capacity, controller, classic, scalable. "bands": (bins, bands) of
        bytes and square. "classes": (bins, classes) of arrivals, departures, bits, drops, marks,
        sojourn (ns), window, flows. "totals": (classes,) of the causes, queued, in_flight,
        retransmissions, timeouts. "delays": (blocks, classes, buckets). "segments": (blocks,
        flows). "trace": (events,) of the members of a row. "block": bins in a block. "events" and
        "packets": how many were handled.
        """

    @property
    def time(self) -> int:
        """How far it is (ns)."""

def packet_delay_edges() -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """Edges between the buckets of delays (s), one more than there are buckets."""

def packet_limits() -> dict[str, int]:
    """What the packet simulator lets in, by the names in native/packet/core/limits.h."""

def packet_class_steps(
    start: int, stop: int | None, count: int, changes: Sequence[tuple[int, int]]
) -> tuple[int, list[tuple[int, int]]]:
    """The flows that a class has in all, and when (ns) it is told how many are to be there.

    Parameters
    ----------
    start, stop, count
        When it begins and ends (ns, None: with the run), and with how many flows.
    changes
        When it is told another number, and which (-1: as it is), in the order of time.
    """

def packet_published() -> dict[str, int]:
    """The numbers of the packet simulator that others have published, by name."""

def packet_prr(
    ssthresh: int,
    prior_window: int,
    in_flight: int,
    delivered: int,
    delivered_in_all: int,
    sent: int,
    safe: bool,
) -> int:
    """How many segments proportional rate reduction lets go, for tests."""

def packet_jiffy_timer(now: int, ms: int) -> int:
    """When (ns) a kernel timer set at `now` (ns) for `ms` expires, for tests."""

def replay_update(
    name: str,
    parameters: Mapping[str, float],
    delay: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    backlog: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    controller: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    classic: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    state: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu")],
    burst: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> None:
    """Update a controller at each delay (ns) and backlog (bytes); fills the last four arrays.

    Releases the GIL.

    Parameters
    ----------
    name, parameters
        One of "pi", "pi2", "coupled", "pie", as pi2_fluid.engines.packet.laws gives them.
    controller, classic, state, burst
        The variable, what Classic packets see, the kernel's integer, and what is left of PIE's
        burst allowance (s).

    Raises
    ------
    ValueError
        Lengths differ, the name is another, or the parameters are not what they can be.
    """

def replay_hpe(
    alpha: int,
    beta: int,
    coupling: int,
    target: int,
    elapsed: int,
    delay: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    controller: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    classic: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    state: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu")],
    overload: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu")],
) -> None:
    """Update HPE's PI2 at each delay (ns), `elapsed` ns apart; fills the last four arrays.

    `alpha`, `beta`, `coupling` are in 1/256 (native/packet/queues/pi2_update.h), `target` is in ns.
    """

def replay_pie_drop(
    parameters: Mapping[str, float],
    mtu: int,
    p: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    rnd: Annotated[
        NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    delay: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    burst: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    backlog: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    before: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    used: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu")],
    drop: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu")],
    sum: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> None:
    """Let PIE judge packets: delays and allowances in ns, backlog in bytes; fills the last three.

    `before` is the sum of probabilities that a packet meets, NaN: as the last packet left it.
    """

def replay_coupled_drop(
    parameters: Mapping[str, float],
    u: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    ecn: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    first: Annotated[
        NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    second: Annotated[
        NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    used: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu")],
    drop: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu")],
    mark: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu")],
) -> None:
    """Let the coupled queue judge packets at p' = `u` with 64-bit numbers; fills the last three."""

def replay_leave(
    parameters: Mapping[str, float],
    now: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    bytes: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    backlog: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    waited: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    count: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
    delay: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
    rate: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu")],
    burst: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
) -> None:
    """Let packets leave PIE's queue: times in ns, sizes in bytes; fills the last four arrays."""

class QueueDiscipline:
    """A queue discipline driven packet by packet, for tests: native/packet/queues/qdisc.h.

    Times are in ns. Random numbers are those given, one by one, or those of a seed. Packets are
    numbered as they arrive.
    """

    def __init__(
        self, name: str, parameters: Mapping[str, float], limit: int = 1000, mtu: int = 1500
    ) -> None: ...
    def enqueue(
        self, now: int, bytes: int = 1500, ecn: int = 0, draws: Sequence[int] = []
    ) -> None: ...
    def dequeue(self, now: int, draws: Sequence[int] = []) -> tuple[int, int, int] | None:
        """Number, ECN field and waiting time (ns) of the packet that the link takes."""

    def first_tick(self) -> int | None: ...
    def tick(self, now: int) -> int:
        """Let the timer expire; returns when it does next."""

    def probe(self) -> tuple[float, float, float]:
        """The controller's variable, and what Classic and Scalable packets see."""

    @property
    def counts(self) -> tuple[int, ...]:
        """As the enumeration in native/packet/core/packet.h."""

    @property
    def packets(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def drawn(self) -> int:
        """Random numbers that the last call drew."""

def replay_queue(
    name: str,
    parameters: Mapping[str, float],
    mtu: int,
    limit: int,
    held: int | None,
    events: Annotated[
        NDArray[numpy.int64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    given: Annotated[
        NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    results: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order="C", device="cpu")],
) -> list[tuple[int, int, int]]:
    """A queue discipline ("dualpi2", "red", "codel"), event by event; releases the GIL.

    Parameters
    ----------
    parameters
        By the names in native/packet/queues/*.c.
    mtu, limit
        Bytes of a full packet, packets that fit.
    held
        p' of dualpi2 in 1/(2^32 - 1) until the first update; None: 0.
    events
        Rows of time (ns), operation (0 dequeue, 1 enqueue, 2 update), bytes, ECN field.
    given
        64-bit draws, consumed in order; further ones are 0.
    results
        Rows, written to: packet (-1: none), bytes, ECN field, draws consumed, whether marked,
        packets in C and L, bytes waiting, sojourn (ns), and the discipline's own four: credit and
        p' of dualpi2; count, count before, dropping and last sojourn (ns) of codel; count of red.

    Returns
    -------
    list of (event, packet, cause)
        What was lost.

    Raises
    ------
    ValueError
        An argument is out of range.
    """

def replay_dualpi2_updates(
    parameters: Mapping[str, float],
    delay: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    base: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
) -> None:
    """p' of DualPI2, in 1/(2^32 - 1), after updates that see these delays (ns)."""

def replay_red(
    parameters: Mapping[str, float],
    mtu: int,
    capacity: float,
    backlog: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    idle: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    given: Annotated[
        NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    adapt_every: int,
    results: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
) -> None:
    """RED, one packet after the other: backlog (bytes) and idle time (ns) before it, its draw.

    Written into rows of `results`: average (bytes), p_b, max_p, count, verdict (0 pass, 1 by
    chance, 2 forced).
    """

def replay_red_adaptation(
    parameters: Mapping[str, float],
    mtu: int,
    capacity: float,
    average: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    max_p: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> None:
    """max_p of adaptive RED after adaptations at these averages (bytes)."""

def codel_law(
    interval: int,
    results: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order="C", device="cpu")],
) -> None:
    """Rows of 1/sqrt(n) in 1/2^16 and interval/sqrt(n), n = 1, 2 ..., in CoDel's integers."""

def replay_cubic(
    parameters: Mapping[str, float],
    window: int,
    rtt: int,
    at: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    results: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
) -> None:
    """CUBIC after one signal at time 0, acknowledged evenly for 2 segments each.

    Parameters
    ----------
    parameters
        As `pi2_fluid.engines.packet.laws.congestion_of` gives them; "friendly" may be 0.
    window, rtt
        Window before the signal (segments), round-trip time (ns).
    at
        Times, ns, rising; shape (n,).
    results
        Filled with cwnd, cnt, friendly_cwnd, k and origin, n numbers of each; shape (5 n,).
    """

def replay_dctcp(
    parameters: Mapping[str, float],
    alpha: float,
    delivered: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    ce: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    alphas: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    thresholds: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
) -> None:
    """DCTCP, window by window.

    Parameters
    ----------
    parameters
        As `pi2_fluid.engines.packet.laws.congestion_of` gives them.
    alpha
        The first alpha, in 1/1024.
    delivered, ce
        Segments of each window, and how many of them were marked; shape (n,).
    alphas
        Filled with alpha before and after each window, in 1/1024; shape (2 n,).
    thresholds
        Filled with the windows left by a reduction from 10, 100 and 1000 segments; shape (3 n,).
    """

def mean_window(
    name: str,
    parameters: Mapping[str, float],
    *,
    p: float,
    periodic: bool,
    rtt: int,
    per_ack: int,
    window: int,
    grows_in_cwr: bool,
    packets: int,
    warm_up: int,
    seed: int = 1,
) -> float:
    """Mean window (segments) under signals at a fixed probability per packet, without a network.

    A reaction at once, at most one per window of packets; no slow start, no timeouts. For tests.
    """

class CongestionControl:
    """One flow's window, moved by hand, for tests."""

    def __init__(
        self, name: str, parameters: Mapping[str, float], window: int, ssthresh: int = 2147483647
    ) -> None: ...
    def acknowledge(
        self, acked: int, marked: int, rtt: int, now: int, grows: bool = True
    ) -> None: ...
    def reduce(self, now: int, ecn: bool) -> int: ...
    def timeout(self) -> None: ...
    @property
    def cwnd(self) -> int:
        """The window (segments)."""

    @property
    def ssthresh(self) -> int:
        """The threshold of slow start (segments)."""

    @property
    def flags(self) -> int:
        """1: exact marks; 2: marks do not make it reduce."""

def simd() -> str:
    """The instruction set that the kernels use on this machine: "avx512", "avx2" or "baseline"."""

def simd_levels() -> tuple[str, ...]:
    """Every instruction set that the kernels can use on this machine, fastest first."""
