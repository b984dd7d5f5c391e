"""The guest's program on this machine's kernel, as far as that goes, and what is said of the rest.

What runs here has no delay on the way back, so that no netem is needed, which few machines have
loaded.
"""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.engines.linux import hosts
from pi2_fluid.engines.linux.boot import run_guests
from pi2_fluid.engines.linux.hosts import host_machine, require_host
from pi2_fluid.engines.linux.plan import make_plan
from pi2_fluid.engines.linux.reader import DROPPED, QUEUED, Log, fates

SCENE = pf.Scenario(
    "0.5s",
    pf.Link("10Mbit/s", "20 packets", kind="htb"),
    pf.TailDrop(),
    (pf.Flows(pf.Reno(), 2, "1ms"), pf.Flows(pf.Cbr(rate="1Mbit/s"), 1, "1ms")),
)


def local_plan() -> str:
    lines = make_plan(SCENE, 1).splitlines()
    kept = [line for line in lines if not line.startswith("nl 2 d_r 36")]
    return "\n".join("rest 0.3" if line.startswith("rest") else line for line in kept) + "\n"


def obstacle() -> str:
    """Return why the program cannot run here; "" if it can."""
    if shutil.which("unshare") is None or shutil.which("cc") is None:
        return "unshare or a compiler is missing"
    try:
        require_host(local_plan())
    except pf.UnsupportedError as error:
        return str(error)
    return ""


def test_packets_come_and_go_as_the_kernel_counts_them() -> None:
    if reason := obstacle():
        pytest.skip(reason)
    taken: list[Log] = []
    run_guests(
        host_machine(), {1: local_plan()}, 1, 0.5, lambda _, log: taken.append(log) or {}, None
    )
    (log,) = taken
    last, fate = log.queue[-1], fates(log.packets, np.zeros(len(log.packets), int))
    left = log.packets[fate < QUEUED]
    # Between the last look at the taps and that at the qdisc a packet may pass, for time is real.
    assert abs(int((fate == DROPPED).sum()) - int(last["drops"])) <= 2
    assert abs(int(left["bytes"].sum()) - int(last["bytes"])) <= 4 * 1500
    assert int(last["drops"]) > 0
    assert 0.5 * 10e6 / 8 * 0.5 < int(last["bytes"]) < 1.2 * 10e6 / 8 * 0.5
    assert {0, 1, 2} == set(left["flow"])
    assert 0.01 < left["sojourn"].max() * 1e-9 < 0.1  # 20 packets are 24 ms
    assert {0, 1} == set(log.flows["flow"])
    assert 0 < log.flows["window"].max() < 100


def test_what_the_kernel_lacks_is_said_with_the_remedy() -> None:
    if reason := obstacle():
        pytest.skip(reason)
    unknown = local_plan().replace(b"pfifo\0".hex(), b"nofif\0".hex())
    with pytest.raises(pf.UnsupportedError, match=r"lacks what the scenario needs .*modprobe"):
        require_host(unknown)


def test_a_machine_without_namespaces_is_refused(monkeypatch) -> None:
    denied = subprocess.CompletedProcess([], 1, "", "unshare failed: Operation not permitted")
    monkeypatch.setattr(hosts.shutil, "which", lambda _: "/usr/bin/unshare")
    monkeypatch.setattr(hosts.subprocess, "run", lambda *_, **__: denied)
    with pytest.raises(pf.UnsupportedError, match=r"does not allow \(unshare failed: Operation"):
        require_host("")


def test_other_systems_are_refused(monkeypatch) -> None:
    monkeypatch.setattr(hosts.platform, "system", lambda: "Darwin")
    with pytest.raises(pf.UnsupportedError, match="needs Linux and the program unshare"):
        require_host("")
