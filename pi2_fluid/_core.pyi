from typing import Any

import numpy as np
import numpy.typing as npt

def margins(
    scalable: bool,
    m: npt.NDArray[np.float64],
    mu: npt.NDArray[np.float64],
    a: npt.NDArray[np.float64],
    c: npt.NDArray[np.float64],
    rtt: npt.NDArray[np.float64],
    gm_db: npt.NDArray[np.float64],
    pm_deg: npt.NDArray[np.float64],
    w_gc: npt.NDArray[np.float64],
    w_pc: npt.NDArray[np.float64],
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

def simd() -> str:
    """The instruction set that the kernels use on this machine: "avx512", "avx2" or "baseline"."""

def simd_levels() -> tuple[str, ...]:
    """Every instruction set that the kernels can use on this machine, fastest first."""

def fluid_lanes(
    classes: list[tuple[int, int, int, int]],
    groups: int,
    events: int,
    samples: int,
    continuous: bool,
    encoder: int,
    tuning: int,
    table: list[tuple[float, float]],
    heuristics: tuple[float, float, float],
    numbers: npt.NDArray[np.float64],
    nodes: npt.NDArray[np.int32],
    depth: int,
    statistics: npt.NDArray[np.float64],
    traces: npt.NDArray[np.float64],
    simd: str | None = None,
) -> None:
    """Many trajectories of the fluid, one for each column of `numbers` and `nodes`.

    Results are written into `statistics` and `traces`; all rows are as in kernel/fluid_lanes.h.
    Releases the GIL. Every instruction set gives the same bytes.

    Parameters
    ----------
    classes
        Of each class: law, group, whether it obeys the scalable signal, whether it starts slowly.
    groups, events, samples
        How many there are.
    continuous, encoder, tuning, table, heuristics
        The queue: how its controller moves, what packets see of it, the factor on its gains with
        its falling edges, and PIE's cap, boost and idle decay.
    numbers, nodes
        Contiguous rows of one number for each run.
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

class FluidRun:
    """One trajectory of the fluid model in the making (kernel/fluid.h).

    Parameters
    ----------
    link
        Duration (s), capacity (packets/s), buffer (packets), update interval (s, inf: none).
    continuous
        Whether the controller moves by its flow instead of its updates.
    accuracy
        Step (s), tolerance (0: all steps of that length), most steps.
    aqm, parameters
        A queue law of the kernel, and its struct.
    classes
        Of each class: window law, signal (0 Classic, 1 Scalable, 2 none, 3 thinned), whether it
        starts slowly, (count, base_rtt, start, stop, start_jitter), the law's struct, its state.
    changes
        Of each change: when (s), capacity (packets/s) and counts of all classes, NaN: as before.
    beginning
        Queues (packets) and state of the controller before time 0; None: empty and unsignalled.

    Raises
    ------
    ValueError
        A name is unknown, or there are too many or too few numbers.
    """

    def __init__(
        self,
        link: list[float],
        continuous: bool,
        accuracy: list[float],
        aqm: str,
        parameters: list[float],
        classes: list[tuple[str, int, bool, list[float], list[float], list[float]]],
        changes: list[tuple[float, float, list[float]]],
        beginning: tuple[list[float], list[float]] | None,
    ) -> None: ...
    def advance(
        self,
        samples: npt.NDArray[np.float64],
        place: int,
        most_steps: int,
        queue: npt.NDArray[np.float64],
        queue_delay: npt.NDArray[np.float64],
        controller: npt.NDArray[np.float64],
        p: npt.NDArray[np.float64],
        window: npt.NDArray[np.float64],
        leaving: npt.NDArray[np.float64],
        capacity: npt.NDArray[np.float64],
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
    """A window law of the kernel, for tests: kernel/sender.h."""

    def __init__(self, name: str, parameters: list[float]) -> None: ...
    def initial(self, window: float) -> list[float]: ...
    def rate(
        self,
        x: list[float],
        window_delayed: float,
        signal_delayed: float,
        rtt: float,
        rtt_delayed: float,
    ) -> list[float]: ...
    def sending_rate(self, x: list[float], rtt: float) -> float: ...
    def leave_slow_start(self, x: list[float]) -> list[float]: ...
    def switches(self, x: list[float], signal: float, rtt: float) -> list[float]: ...

class AqmLaw:
    """A queue law of the kernel, for tests: kernel/aqm.h.

    `seen` holds both queue delays (s), queue (packets), arrival rate, capacity and overflow
    (packets/s).
    """

    def __init__(self, name: str, parameters: list[float]) -> None: ...
    def initial(self) -> list[float]: ...
    def update(self, state: list[float], seen: list[float], dt: float) -> list[float]: ...
    def flow(self, state: list[float], seen: list[float], d_queue_delay: float) -> list[float]: ...
    def drift(self, state: list[float], seen: list[float]) -> list[float]: ...
    def saturate(self, state: list[float]) -> list[float]: ...
    def controller(self, state: list[float]) -> float: ...
    def encode(self, u: float) -> tuple[float, float]: ...
    def signals(self, state: list[float], seen: list[float]) -> tuple[float, float]: ...
    def switches(self, state: list[float], seen: list[float]) -> list[float]: ...
    def serve(
        self, backlogged: tuple[bool, bool], arrivals: tuple[float, float], capacity: float
    ) -> tuple[float, float]: ...

class PacketRun:
    """One run of the packet simulator in the making (kernel/packet/simulator.h).

    Parameters
    ----------
    link
        Duration (ns), capacity (bit/s), kind (0 wire, 1 htb), where the delay lies (0 return,
        1 forward, 2 split), ack_jitter (ns), buffer (packets), packet size (bytes).
    qdisc, parameters
        A queue discipline of the kernel, and what configures it.
    classes
        Of each class: congestion control (None: constant bit rate) and its parameters, interval
        between packets (ns, of a constant bit rate), count, base_rtt, start, stop (None: the end)
        and start_jitter (ns), initial window (segments), whether it begins in slow start, whether
        its receivers delay acknowledgements, ECN field (0 Not-ECT, 1 ECT(1), 2 ECT(0)).
    changes
        Of each change, in the order of time: when (ns), capacity (bit/s, 0: as it is), and flows of
        every class (-1: as they are).
    seed
        In [0, 2^64).
    bin
        Length of a row of statistics (ns).
    trace
        Events recorded at most.

    Raises
    ------
    ValueError
        A name is unknown, there are too many or too few numbers, or one is out of range.
    """

    def __init__(
        self,
        link: tuple[int, float, int, int, int, int, int],
        qdisc: str,
        parameters: list[float],
        classes: list[
            tuple[
                str | None,
                list[float],
                float,
                int,
                int,
                int,
                int | None,
                int,
                int,
                bool,
                bool,
                int,
            ]
        ],
        changes: list[tuple[int, float, list[int]]],
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

def packet_delay_edges() -> npt.NDArray[np.float64]:
    """Edges between the buckets of delays (s), one more than there are buckets."""
