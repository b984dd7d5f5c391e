# Written by tools/write_stub.py from the binding.
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
) -> None: ...

class Tape:
    def __init__(
        self,
        inputs: int,
        parameters: int,
        constants: Sequence[float],
        rows: Sequence[Sequence[int]],
        outputs: Sequence[int],
        sides: int,
    ) -> None: ...
    def run(
        self,
        inputs: Sequence[float],
        parameters: Sequence[float],
        sides: Sequence[int] | None = None,
    ) -> list[float]: ...
    def run_generated(
        self,
        inputs: Sequence[float],
        parameters: Sequence[float],
        sides: Sequence[int] | None = None,
    ) -> list[float]: ...
    def bound(self, parameters: Sequence[float]) -> dict[str, Any]: ...

class SenderLaw:
    def __init__(
        self,
        name: str,
        tapes: dict[str, Tape],
        numbers: Sequence[float],
        states: int,
        plain: dict[str, float],
    ) -> None: ...
    @property
    def comparisons(self) -> int: ...
    @property
    def has_ack_clock(self) -> bool: ...
    def rate(
        self,
        x: Sequence[float],
        x_delayed: Sequence[float],
        signal_delayed: float,
        rtt: float,
        rtt_delayed: float,
    ) -> list[float]: ...
    def acked(
        self, x: Sequence[float], acks: float, marks: float, rtt: float
    ) -> tuple[list[float], float]: ...
    def sending_rate(self, x: Sequence[float], rtt: float) -> float: ...
    def sending_rate_under(
        self, x: Sequence[float], signal_delayed: float, rtt: float
    ) -> float: ...
    def leave_slow_start(self, x: Sequence[float]) -> list[float]: ...

class AqmLaw:
    def __init__(
        self,
        name: str,
        tapes: dict[str, Tape],
        numbers: Sequence[float],
        bands: int,
        flows: bool,
        plain: dict[str, Any],
    ) -> None: ...
    @property
    def comparisons(self) -> int: ...
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
    def serve(
        self, backlogged: tuple[bool, bool], arrivals: tuple[float, float], capacity: float
    ) -> tuple[float, float]: ...

class AckLoops:
    def __init__(
        self,
        classes: list[dict[str, Any]],
        *,
        top: Annotated[
            NDArray[numpy.float64],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        bottom: Annotated[
            NDArray[numpy.float64],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        unit: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        interval: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        queue_delay: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        unclocked: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        slow: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        settles: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        bunch: float,
        head: bool,
        update: str,
        rough: bool = False,
    ) -> None: ...
    def margins(
        self, first: int, last: int
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]: ...
    def near(
        self,
        w_gc: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        w_pc: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]: ...
    def nearest(
        self, first: int, last: int
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]: ...
    def unstable(
        self, first: int, last: int
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]: ...

class AckPlant:
    def __init__(
        self, classes: list[dict[str, Any]], *, queue_delay: float, bunch: float, head: bool
    ) -> None: ...
    def at(
        self,
        s: Annotated[
            NDArray[numpy.complex128], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ) -> Annotated[NDArray[numpy.complex128], dict(shape=(None,))]: ...

class AckSums:
    def __init__(
        self,
        plants: Sequence[AckPlant],
        *,
        interval: Sequence[float],
        whole: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        mean: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        echoing: bool,
    ) -> None: ...
    def at(
        self,
        s: Annotated[
            NDArray[numpy.complex128],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
    ) -> Annotated[NDArray[numpy.complex128], dict(shape=(None, None))]: ...
    def scan(
        self,
        *,
        design: dict[str, float],
        loops: Annotated[
            NDArray[numpy.float64],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]: ...

def ack_margins(
    *,
    reduces: bool,
    gain: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    a: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    c: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    own: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    cut: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    delay: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]: ...

class AcksRun:
    def __init__(
        self,
        duration: float,
        nodes: list[dict[str, Any]],
        classes: list[dict[str, Any]],
        changes: Sequence[tuple[float, int, float]],
        order: Sequence[int],
        sum: bool,
        past: float,
        accuracy: dict[str, float],
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
        capacity: Annotated[NDArray[numpy.float64], dict(order="C", device="cpu")],
        window: Annotated[NDArray[numpy.float64], dict(order="C", device="cpu")],
        p: Annotated[NDArray[numpy.float64], dict(order="C", device="cpu")],
        leaving: Annotated[NDArray[numpy.float64], dict(order="C", device="cpu")],
    ) -> tuple[int, str]: ...
    @property
    def time(self) -> float: ...
    @property
    def steps(self) -> int: ...
    def counts(self) -> dict[str, list[float]]: ...
    @property
    def kept(self) -> int: ...

class AliasSums:
    def __init__(
        self,
        classes: list[dict[str, Any]],
        echoes: list[dict[str, float]],
        interval: float,
        count: int,
    ) -> None: ...
    def at(
        self,
        s: Annotated[
            NDArray[numpy.complex128], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ) -> Annotated[NDArray[numpy.complex128], dict(shape=(None,))]: ...

def scan_designs(
    *,
    design: dict[str, float],
    loops: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    points: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    count: int,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]: ...
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
) -> Annotated[NDArray[numpy.complex128], dict(shape=(None, None))]: ...

class Proof:
    def __init__(self, described: dict[str, Any]) -> None: ...
    def enclose(
        self,
        boxes: Annotated[
            NDArray[numpy.float64],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]: ...
    def rounds(
        self,
        boxes: Annotated[
            NDArray[numpy.float64],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        rounds: int,
        count: int,
        most: int,
        terms: float,
        most_terms: float,
    ) -> tuple[
        Annotated[NDArray[numpy.float64], dict(shape=(None, None))],
        Annotated[NDArray[numpy.float64], dict(shape=(None, None))],
        int,
        float,
        bool,
    ]: ...

def mixture_boxes(
    *,
    law: dict[str, float],
    exact: bool,
    cells: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    boxes: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    most: int,
) -> int: ...

class MatrixLoop:
    def __init__(
        self, given: dict[str, Any], scale: float, sampling: dict[str, Any] | None | None = None
    ) -> None: ...
    def response(
        self,
        w: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ) -> Annotated[NDArray[numpy.complex128], dict(shape=(None, None, None))]: ...
    def plant(
        self,
        w: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ) -> Annotated[NDArray[numpy.complex128], dict(shape=(None, None, None))]: ...
    def characteristic(
        self,
        w: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        *,
        closed: bool,
    ) -> Annotated[NDArray[numpy.complex128], dict(shape=(None,))]: ...
    def bound(self, w: float) -> float: ...
    def count(self, longest: float, slow: float, *, closed: bool) -> int | None: ...
    def count_sampled(self, longest: float, slow: float) -> int | None: ...
    def crossings(
        self, turning: float, *, quiet: bool
    ) -> (
        tuple[
            Annotated[NDArray[numpy.float64], dict(shape=(None,))],
            Annotated[NDArray[numpy.complex128], dict(shape=(None, None))],
            Annotated[NDArray[numpy.float64], dict(shape=(None, None))],
            Annotated[NDArray[numpy.float64], dict(shape=(None, None))],
        ]
        | None
    ): ...
    def nearest(
        self,
        w: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        *,
        fades: bool,
    ) -> float | None: ...

class LinearLoops:
    def __init__(
        self,
        classes: list[dict[str, Any]],
        echoes: list[
            dict[
                str,
                Annotated[
                    NDArray[numpy.float64],
                    dict(shape=(None,), order="C", device="cpu", writable=False),
                ],
            ]
        ],
        *,
        top: Annotated[
            NDArray[numpy.float64],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        bottom: Annotated[
            NDArray[numpy.float64],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        unit: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        interval: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        slow: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        integrators: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        settles: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        aliases: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        update: str,
        simd: str | None = None,
    ) -> None: ...
    def margins(
        self, first: int, last: int
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]: ...
    def near(
        self,
        w_gc: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        w_pc: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]: ...
    def nearest(
        self, first: int, last: int
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]: ...
    def unstable(
        self, first: int, last: int
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]: ...

def sampled_margins(
    *,
    scalable: bool,
    varies: bool,
    m: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    mu: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    a: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    rho: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    theta: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    simd: str | None = None,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]: ...

class DeskSender:
    def __init__(self, tapes: dict[str, Tape], states: int, hears: int) -> None: ...

class DeskQueue:
    def __init__(self, tapes: dict[str, Tape], states: int, bands: int, ticks: bool) -> None: ...

class Desk:
    def __init__(
        self,
        queue: DeskQueue,
        numbers: tuple[
            float
            | Annotated[
                NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
            ],
            ...,
        ],
        *,
        highest: float
        | Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        load: float
        | Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        packets: float
        | Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        interval: float
        | Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        classes: list[Any],
        n: int,
    ) -> None: ...
    def rest(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))] | None: ...
    def margins(
        self,
        rests: Annotated[
            NDArray[numpy.float64],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        update: str,
        exact: bool,
        first: int,
        last: int,
        simd: str | None = None,
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]: ...
    def nearest(
        self,
        rests: Annotated[
            NDArray[numpy.float64],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        update: str,
        exact: bool,
        first: int,
        last: int,
        simd: str | None = None,
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]: ...
    def unstable(
        self,
        rests: Annotated[
            NDArray[numpy.float64],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        update: str,
        exact: bool,
        first: int,
        last: int,
        simd: str | None = None,
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]: ...
    def response(
        self,
        rests: Annotated[
            NDArray[numpy.float64],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        update: str,
        exact: bool,
        w: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        simd: str | None = None,
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]: ...

def rest_of_network(
    links: Sequence[tuple[DeskQueue, Sequence[float], float, float, float]],
    classes: Sequence[tuple[DeskSender, Sequence[float], float, float, Sequence[int]]],
    *,
    adds: bool,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))] | None: ...
def fluid_lanes_rows() -> dict[str, list[str]]: ...
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
    queue: dict[str, Any] | None,
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
) -> None: ...

class PacketRun:
    def __init__(
        self,
        duration: int,
        packet_size: int,
        links: list[dict[str, Any]],
        classes: list[dict[str, Any]],
        changes: list[dict[str, Any]],
        seed: int,
        bin: int,
        trace: int,
        detours: list[dict[str, Any]] = [],
    ) -> None: ...
    def advance(self, events: int) -> str: ...
    def outcome(self) -> dict[str, Any]: ...
    @property
    def time(self) -> int: ...

def packet_delay_edges() -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
def packet_limits() -> dict[str, int]: ...
def packet_class_steps(
    start: int, stop: int | None, count: int, changes: Sequence[tuple[int, int]]
) -> tuple[int, list[tuple[int, int]]]: ...
def packet_sizes(
    kind: str, numbers: Sequence[float], count: int, seed: int
) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...
def packet_published() -> dict[str, int]: ...
def packet_prr(
    ssthresh: int,
    prior_window: int,
    in_flight: int,
    delivered: int,
    delivered_in_all: int,
    sent: int,
    safe: bool,
) -> int: ...
def packet_jiffy_timer(now: int, ms: int) -> int: ...
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
    start: float = 0.0,
    before: int = 0,
) -> None: ...
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
    start: float = 0.0,
    before: int = 0,
) -> None: ...
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
) -> None: ...
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
) -> None: ...
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
) -> None: ...

class QueueDiscipline:
    def __init__(
        self,
        name: str,
        parameters: Mapping[str, float],
        limit: int = 1000,
        mtu: int = 1500,
        capacity: float = 1000000000.0,
    ) -> None: ...
    def enqueue(
        self, now: int, bytes: int = 1500, ecn: int = 0, draws: Sequence[int] = [], flow: int = 0
    ) -> None: ...
    def dequeue(self, now: int, draws: Sequence[int] = []) -> tuple[int, int, int] | None: ...
    def first_tick(self) -> int | None: ...
    def tick(self, now: int) -> int: ...
    def probe(self) -> tuple[float, float, float]: ...
    @property
    def counts(self) -> tuple[int, ...]: ...
    @property
    def packets(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def drawn(self) -> int: ...
    @property
    def capacity(self) -> float: ...
    @capacity.setter
    def capacity(self, arg: float, /) -> None: ...

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
) -> list[tuple[int, int, int]]: ...
def replay_dualpi2_updates(
    parameters: Mapping[str, float],
    delay: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    base: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
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
) -> None: ...
def replay_red_adaptation(
    parameters: Mapping[str, float],
    mtu: int,
    capacity: float,
    average: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    max_p: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
def replay_avq(
    parameters: Mapping[str, float],
    mtu: int,
    capacity: float,
    now: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    bytes: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    results: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
) -> None: ...
def codel_law(
    interval: int,
    results: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order="C", device="cpu")],
) -> None: ...
def replay_cubic(
    parameters: Mapping[str, float],
    window: int,
    rtt: int,
    at: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    results: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
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
) -> None: ...
def replay_prague(
    parameters: Mapping[str, float],
    window: int,
    rtt: int,
    ce: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    numbers: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    counts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
def replay_paganini(
    parameters: Mapping[str, float],
    window: int,
    at: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    rtt: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    ce: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    lost: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    numbers: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    cwnd: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
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
) -> float: ...

class CongestionControl:
    def __init__(
        self, name: str, parameters: Mapping[str, float], window: int, ssthresh: int = 2147483647
    ) -> None: ...
    def acknowledge(
        self, acked: int, marked: int, rtt: int, now: int, grows: bool = True
    ) -> None: ...
    def reduce(self, now: int, ecn: bool) -> int: ...
    def timeout(self) -> None: ...
    @property
    def cwnd(self) -> int: ...
    @property
    def ssthresh(self) -> int: ...
    @property
    def flags(self) -> int: ...

class RoutesRun:
    def __init__(
        self,
        duration: float,
        nodes: list[dict[str, Any]],
        classes: list[dict[str, Any]],
        changes: list[dict[str, Any]],
        continuous: bool,
        sum: bool,
        began: bool,
        accuracy: dict[str, float],
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
        capacity: Annotated[NDArray[numpy.float64], dict(order="C", device="cpu")],
        window: Annotated[NDArray[numpy.float64], dict(order="C", device="cpu")],
        p: Annotated[NDArray[numpy.float64], dict(order="C", device="cpu")],
        leaving: Annotated[NDArray[numpy.float64], dict(order="C", device="cpu")],
    ) -> tuple[int, str]: ...
    @property
    def time(self) -> float: ...
    @property
    def steps(self) -> int: ...

def simd() -> str: ...
def simd_levels() -> tuple[str, ...]: ...
