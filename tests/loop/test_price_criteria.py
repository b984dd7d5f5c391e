"""When networks of prices are stable: the numbers, and the proof of docs/proofs.md, checked."""

from __future__ import annotations

import numpy as np
import pytest
import xarray
from refusals import refused

import pi2_fluid as pf


@pytest.mark.parametrize(
    ("eta", "alpha"),
    [(0.0, np.pi / 2), (0.2, 1.41827), (0.3, 1.32043), (1 / np.tan(1), np.sin(1)), (0.81, 0.49997),
     (1.0, 0.0), (7.0, 0.0)],
)  # fmt: skip
def test_known_values(eta: float, alpha: float) -> None:
    assert pf.loop.alpha_max(eta) == pytest.approx(alpha, abs=5e-6)
    if alpha > 0.0:
        assert pf.loop.eta_max(pf.loop.alpha_max(eta)) == pytest.approx(eta, abs=1e-12)


def test_the_published_condition_is_never_weaker() -> None:
    eta = np.linspace(0.0, 0.99, 400)
    ours, published = pf.loop.alpha_max(eta), pf.loop.alpha_max_published(eta)
    assert np.all(published <= ours + 1e-12)
    assert np.all(published[eta > 0.65] == 0.0)
    meeting = 1 / np.tan(1) - 1e-12
    assert pf.loop.alpha_max_published(meeting) == pytest.approx(np.sin(1))
    assert pf.loop.alpha_max_published(0.0) == pytest.approx(np.pi / 2)


def test_equal_sources_reach_it() -> None:
    """The phase of one link is -180 degrees where |L| = alpha/alpha_max."""
    for eta in (0.1, 0.5, 0.9):
        alpha = pf.loop.alpha_max(eta)
        theta = np.linspace(1e-3, np.pi, 200_001)
        value = alpha * np.exp(-1j * theta) / (1j * theta) * (1j * theta + eta) / (1j * theta)
        crossing = np.flatnonzero(np.diff(np.sign(value.imag)) > 0)
        largest = max(-value[crossing].real)
        assert largest == pytest.approx(1.0, abs=1e-4)


def test_no_network_has_an_eigenvalue_beyond(rng: np.random.Generator) -> None:
    """Random routes, rates and delays: eigenvalues of P Lambda lie on the right side of a line."""
    for _ in range(25):
        links, classes = rng.integers(1, 5), rng.integers(1, 9)
        eta = rng.uniform(0.01, 0.95)
        theta = optimal_angle(eta)
        routing = rng.random((links, classes)) < 0.5
        routing[rng.integers(links, size=classes), range(classes)] = True
        routing = routing[routing.any(axis=1)]
        rate = 10 ** rng.uniform(-1, 1, classes)
        tau = rng.uniform(0.05, 1.0, classes)
        tau[0] = 1.0
        ahead = routing * rng.uniform(0, 1, routing.shape) * tau
        alpha = pf.loop.alpha_max(eta) * rng.uniform(0.5, 1.0, classes)
        ratio = 10 ** rng.uniform(-3, 5, classes)
        capacity, bottlenecks = routing @ rate, routing.sum(axis=0)
        w = 10 ** rng.uniform(-2, 1.5, 150)
        z = eta  # over the longest tau, 1
        s = 1j * w[:, None]
        values = alpha * np.exp(-s * tau) / (s * tau) * (s + z) / (s + z / ratio)
        forward = routing * np.exp(-1j * w[:, None, None] * ahead)
        scaled = np.sqrt(rate / bottlenecks) * forward / np.sqrt(capacity)[:, None]
        found = np.linalg.eigvals((scaled * values[:, None]) @ np.conj(scaled).swapaxes(1, 2))
        late = w >= theta
        assert np.all(found[late].real - found[late].imag / theta > -1.0)
        assert np.all(found[~late].imag < 1e-12)


def optimal_angle(eta: float) -> float:
    angles = np.linspace(1e-6, np.pi / 2, 200_001)
    return float(angles[np.argmin(np.abs(angles / np.tan(angles) - eta))])


def test_labels_are_kept_and_bad_numbers_refused() -> None:
    eta = xarray.DataArray([0.2, 0.3], {"load": ["light", "heavy"]}, "load")
    found = pf.loop.alpha_max(eta)
    assert found.sel(load="heavy").item() == pytest.approx(1.32043, abs=5e-6)
    with refused(pf.DomainError, "eta = -1"):
        pf.loop.alpha_max(-1)
    with refused(pf.QuantityError, "alpha"):
        pf.loop.eta_max("much")
