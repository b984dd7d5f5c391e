"""The engine's own refusals and options; what it does is in test_real_kernel.py."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from refusals import refused

import pi2_fluid as pf
from pi2_fluid.engines.linux import linux
from pi2_fluid.engines.linux.kernels import Kernel

LINK = pf.Link("10Mbit/s", "1000 packets", kind="htb")
SCENE = pf.Scenario("10s", LINK, pf.Pie(), pf.Flows(pf.Reno(), 5, "100ms"))
KERNEL = Kernel(
    Path("/nowhere"), "6.12.3", (6, 12), ("pie", "codel", "red"), ("cubic", "reno"), "", "", {}
)  # fmt: skip


@pytest.fixture
def old_kernel(monkeypatch) -> None:
    monkeypatch.setattr(linux, "find_kernel", lambda which: KERNEL)


@pytest.fixture
def no_kernel(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("PI2_FLUID_KERNEL", raising=False)


def with_queue(aqm: pf.Aqm) -> pf.Scenario:
    return dataclasses.replace(SCENE, aqm=aqm)


@pytest.mark.usefixtures("old_kernel")
def test_a_kernel_that_is_too_old_says_what_it_lacks() -> None:
    assert pf.Linux().obstacle(SCENE) == ""
    assert pf.Linux().obstacle(with_queue(pf.TailDrop())) == ""
    lacks = pf.Linux().obstacle(with_queue(pf.DualPi2()))
    assert lacks.startswith("Linux 6.12.3 has no qdisc dualpi2: build one that has by pi2-fluid")
    dctcp = dataclasses.replace(SCENE, flows=pf.Flows(pf.Dctcp(), 1, "10ms"))
    assert pf.Linux().obstacle(dctcp).startswith("Linux 6.12.3 has no congestion control dctcp:")


@pytest.mark.usefixtures("no_kernel")
def test_without_a_kernel_it_says_how_to_build_one() -> None:
    reason = pf.Linux().obstacle(SCENE)
    assert "pi2-fluid linux build" in reason
    with pytest.raises(pf.UnsupportedError) as raised:
        pf.simulate(SCENE, pf.Linux())
    assert str(raised.value) == reason


@pytest.mark.usefixtures("no_kernel")
def test_what_linux_cannot_do_is_said_before_a_kernel_is_looked_for() -> None:
    wire = dataclasses.replace(SCENE, link=pf.Link("10Mbit/s"))
    assert pf.Linux().obstacle(wire).startswith('Link kind = "wire" is not in Linux')


@pytest.mark.usefixtures("old_kernel")
def test_more_packets_than_a_guest_has_room_for_are_refused() -> None:
    fast = pf.Link("40Gbit/s", "1000000 packets", kind="htb")
    reason = pf.Linux().obstacle(dataclasses.replace(SCENE, link=fast))
    assert reason.endswith("give a smaller buffer, or use another engine, e.g. Packets().")


def test_memory_grows_with_what_waits_and_is_the_same_for_every_seed() -> None:
    assert linux._memory(SCENE) < 300
    deep = dataclasses.replace(SCENE, link=dataclasses.replace(LINK, buffer=100_000))
    assert linux._memory(deep) > 1000


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: pf.Linux(seeds=0), "seeds = 0"),
        (lambda: pf.Linux(bin="0.5ms"), "bin = '0.5ms'"),
        (lambda: pf.Linux(threads=0), "threads = 0"),
        (lambda: pf.Linux(host="yes"), "host = 'yes' is unknown"),
        (lambda: pf.Linux(host=True, kernel="7.2"), "host = True runs this machine's kernel, and"),
    ],
)
def test_options_are_checked_when_it_is_made(make, reason) -> None:
    with refused((pf.QuantityError, pf.DomainError), match=reason):
        make()


def test_a_folder_is_the_same_as_its_name() -> None:
    assert pf.Linux(kernel=Path("/a/b")) == pf.Linux(kernel="/a/b")


def test_rows_are_never_shorter_than_readings_allow() -> None:
    assert pf.Linux().with_rows(1e-4).bin == 1e-3
    assert pf.Linux().with_rows(0.05).bin == 0.05
