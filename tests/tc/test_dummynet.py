"""What ipfw prints of FreeBSD's PIE and FQ_PIE: composed as its printf does, and read back."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refusals import assert_sentence

import pi2_fluid as pf
from pi2_fluid.tc.dummynet import shapers_of

patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

#: The defaults of sys/netpfil/ipfw/dn_aqm_pie.c, in microseconds and parts of 8192.
PIE = {
    "target": 15000,
    "tupdate": 15000,
    "burst": 150000,
    "ecnth": 819,
    "alpha": 1024,
    "beta": 10240,
}


def us_to_time(us: int) -> str:
    """As sbin/ipfw/dummynet.c prints times, of which a 0 has no unit, and seconds are "fs"."""
    if us == 0:
        return "0"
    for unit, least, name in ((1_000_000, 1_000_000, "fs"), (1000, 1000, "ms")):
        if us >= least:
            return f"{us / unit:g}{name}"
    return f"{us}us"


def law(flags: str = "NoECN CapDrop DRE Derand", more: str = "", **given: int) -> str:
    n = PIE | given
    return (
        f"target {us_to_time(n['target'])} tupdate {us_to_time(n['tupdate'])}"
        f" alpha {n['alpha'] / 8192:g} beta {n['beta'] / 8192:g} max_burst {us_to_time(n['burst'])}"
        f" max_ecnth {n['ecnth'] / 8192:.3g}{more} {flags}"
    )


def pipe(words: str, rate: str = " 20.000 Mbit/s", size: str = " 50 sl.") -> str:
    """`ipfw pipe show` of a pipe with PIE."""
    return (
        f"00002: {rate}    0 ms burst 0 \n"
        f"q131074 {size} 0 flows (1 buckets) sched 65538 weight 0 lmax 0 pri 0  AQM type PIE"
        f" {words}\n sched 65538 type FIFO flags 0x0 0 buckets 0 active\n"
    )


FQ = (
    "00001: 100.000 Mbit/s    0 ms burst 0 \n"
    "q65537  50 sl. 0 flows (1 buckets) sched 1 weight 0 lmax 0 pri 0 droptail\n"
    " sched 1 type FQ_PIE flags 0x0 0 buckets 0 active\n"
    f"  FQ_PIE {law('NoECN CapDrop TS Derand', ' quantum 1514 limit 10240 flows 1024')}\n"
    "   Children flowsets: 1 \n"
)


def only(text: str):
    (found,) = shapers_of(text)
    return found


def test_defaults_of_pie():
    one = only(pipe(law()))
    assert (one.name, one.rate) == ("PIE pipe 2", 20e6)
    aqm = one.qdisc.aqm
    # 819/8192 of the largest p: ipfw prints three digits
    assert (aqm.alpha, aqm.beta, aqm.target, aqm.update_interval) == (0.125, 1.25, 0.015, 0.015)
    assert (aqm.burst, aqm.mark_limit, aqm.ecn) == (0.15, 0.1, False)
    assert (aqm.rate_estimator, aqm.derandomize, aqm.caps, aqm.boosts) == (True, True, True, False)
    assert aqm.gain_table == "rfc8033"
    assert one.qdisc.asked["limit"] == 50


def test_defaults_of_fq_pie():
    one = only(FQ)
    assert (one.name, one.kind, one.rate) == ("FQ_PIE sched 1", "FQ_PIE", 100e6)
    asked = one.qdisc.asked
    assert (asked["limit"], asked["flows"], asked["quantum"]) == (10240, 1024, 1514)
    assert one.qdisc.aqm.rate_estimator is False


@patient
@given(
    target=st.integers(1, 10_000_000),
    tupdate=st.integers(1, 10_000_000),
    burst=st.integers(0, 10_000_000),
    alpha=st.integers(1, 7 * 8192),
    beta=st.integers(0, 7 * 8192),
)
def test_what_is_printed_is_read_back(target, tupdate, burst, alpha, beta):
    text = pipe(law(target=target, tupdate=tupdate, burst=burst, alpha=alpha, beta=beta))
    one = only(text)
    assert one.trouble is None
    aqm = one.qdisc.aqm
    assert (aqm.alpha, aqm.beta) == (alpha / 8192, beta / 8192)
    # six digits of a time
    assert aqm.target == pytest.approx(target / 1e6, rel=6e-6)
    assert aqm.update_interval == pytest.approx(tupdate / 1e6, rel=6e-6)
    assert aqm.burst == pytest.approx(burst / 1e6, rel=6e-6)


@pytest.mark.parametrize(
    ("flags", "fields"),
    [
        ("ECN CapDrop DRE Derand", {"ecn": True}),
        ("NoECN NoCapDrop DRE Derand", {"caps": False}),
        ("NoECN CapDrop OnOff TS NoDerand", {"rate_estimator": False, "derandomize": False}),
    ],
)
def test_flags(flags, fields):
    one = only(pipe(law(flags)))
    assert {name: getattr(one.qdisc.aqm, name) for name in fields} == fields
    assert one.qdisc.asked["onoff"] == ("OnOff" in flags)


@pytest.mark.parametrize(
    ("rate", "read"),
    [
        ("unlimited     ", None),
        ("  1.500 Gbit/s", 1.5e9),
        ("768.000 Kbit/s", 768e3),
        (" 10.000 bit/s ", 10.0),
    ],
)
def test_rates(rate, read):
    assert only(pipe(law(), rate)).rate == read


@pytest.mark.parametrize(("size", "packets"), [("100 sl.", 100), ("64 KB", 43.3), ("4000 B", 2.64)])
def test_sizes(size, packets):
    assert only(pipe(law(), size=size)).qdisc.asked["limit"] == pytest.approx(packets, abs=0.05)


def test_a_queue_has_the_rate_of_its_pipe():
    text = FQ.partition("\n")[0] + "\n" + pipe(law()).replace("q131074", "q00007")
    assert only(text.replace("sched 65538 weight", "sched 1 weight")).rate == 100e6
    assert only(text).name == "PIE queue 7"


@pytest.mark.parametrize("end", [30, 60, 80, 95, 100])
def test_what_is_cut_off_is_refused(end):
    one = only(pipe(law()[:end]).partition("\n sched")[0])
    assert one.qdisc is None
    assert_sentence(str(one.trouble))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("alpha 0.125", "alpha 0.12503", "no multiple of 1/8192 Hz"),
        ("alpha 0.125", "alpha 8", "up to 7"),
        ("alpha 0.125", "alpha 0", "alpha"),
        ("target 15ms", "target 15", "target of PIE pipe 2 = '15' cannot be read"),
        ("Derand", "Dernd", "'Dernd' of PIE pipe 2 is not known"),
    ],
)
def test_what_freebsd_cannot_print_is_refused(old, new, said):
    one = only(pipe(law().replace(old, new)))
    assert said in str(one.trouble)
    assert_sentence(str(one.trouble))


def test_tc_does_not_show_it():
    with pytest.raises(pf.UnsupportedError, match="PIE pipe 2 is a queue of FreeBSD"):
        pf.qdisc.show(only(pipe(law())).qdisc)
