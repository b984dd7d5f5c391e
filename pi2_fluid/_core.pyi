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
    """The instruction set that `margins` uses on this machine: "avx512", "avx2" or "baseline"."""

def simd_levels() -> tuple[str, ...]:
    """Every instruction set that `margins` can use on this machine, fastest first."""
