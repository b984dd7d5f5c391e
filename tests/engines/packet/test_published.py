"""Numbers and rules of TCP and of Linux that are others' to set, each against its source.

What is expected is typed from the source, not from the code. Linux is 6.18 at HZ = 1000, and the
constants of include/net/tcp.h were compared with that of 6.18.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid import _core
from pi2_fluid.engines.packet.laws import congestion_of

MS = 10**6  # ns
#: Name here -> (value, where it is published).
PUBLISHED = {
    "HZ": (1000, "CONFIG_HZ of the kernels measured"),
    "WHEEL_BUCKETS": (64, "kernel/time/timer.c: LVL_BITS = 6"),
    "WHEEL_SHIFT": (3, "kernel/time/timer.c: LVL_CLK_SHIFT"),
    "WHEEL_LEVELS": (9, "kernel/time/timer.c: LVL_DEPTH above 100 Hz"),
    "SYN_BYTES": (
        74,
        "RFC 894: 14; RFC 791: 20; RFC 9293: 20; options of RFC 9293, 2018, 7323: 20",
    ),
    "ACK_BYTES": (66, "RFC 894: 14; RFC 791: 20; RFC 9293: 20; RFC 7323, appendix A: 12"),
    "SRTT_SHIFT": (3, "RFC 6298, (2.3): alpha = 1/8"),
    "RTTVAR_SHIFT": (2, "RFC 6298, (2.3): beta = 1/4"),
    "RTO_MIN_US": (200_000, "include/net/tcp.h: TCP_RTO_MIN = HZ/5"),
    "RTO_MAX_MS": (120_000, "include/net/tcp.h: TCP_RTO_MAX_SEC = 120"),
    "RTO_INITIAL_MS": (1000, "RFC 6298, (2.1); include/net/tcp.h: TCP_TIMEOUT_INIT = 1 HZ"),
    "SYN_LINEAR_TIMEOUTS": (4, "Documentation/networking/ip-sysctl.rst: tcp_syn_linear_timeouts"),
    "TIMER_MIN_US": (
        2000,
        "include/net/tcp.h: TCP_TIMEOUT_MIN_US, and TCP_TIMEOUT_MIN = 2 jiffies",
    ),
    "ATO_MIN_MS": (40, "include/net/tcp.h: TCP_ATO_MIN = HZ/25"),
    "ATO_MAX_MS": (200, "include/net/tcp.h: TCP_DELACK_MAX = HZ/5"),
    "QUICK_ACKS": (16, "include/net/tcp.h: TCP_MAX_QUICKACKS"),
    "QUICK_ACKS_FEW": (2, "net/ipv4/tcp_input.c: tcp_enter_quickack_mode(sk, 2)"),
    "ACKS_BEFORE_COMPRESSION": (3, "include/net/tcp.h: TCP_FASTRETRANS_THRESH"),
    "ACKS_COMPRESSED": (44, "Documentation/networking/ip-sysctl.rst: tcp_comp_sack_nr"),
    "COMPRESSION_PER_MILLE": (
        41,
        "transfers of 6.18; ip-sysctl.rst, tcp_comp_sack_delay_ns: about 5 %",
    ),
    "COMPRESSION_MOST_US": (1000, "Documentation/networking/ip-sysctl.rst: tcp_comp_sack_delay_ns"),
    "WINDOW_UNSCALED": (65_535, "RFC 7323, section 2.2: the window in a SYN is not scaled"),
    "RECEIVE_BUFFER": (131_072, "Documentation/networking/ip-sysctl.rst: tcp_rmem, default"),
    "SEND_BUFFER": (1_048_576, "engines/linux/plan.py: tcp_wmem of guests"),
    "SEGMENT_MEMORY": (
        838,
        "the first write of a guest fills its socket with 462 segments of 1434 bytes",
    ),
    "DUPTHRESH": (3, "RFC 5681, section 3.2; RFC 8985, section 6.2: DupThresh"),
    "RACK_PARTS": (4, "RFC 8985, section 6.2: RACK.reo_wnd = RACK.min_RTT/4"),
    "PROBE_RTTS": (2, "RFC 8985, section 7.2: PTO = 2 * SRTT"),
    "PACED_BURST_US": (250, "draft-briscoe-iccrg-prague-congestion-control: bursts of 250 us"),
    "PACE_EARLY": (2, "Documentation/networking/ip-sysctl.rst: tcp_pacing_ss_ratio = 200"),
    "PACE_PER_MILLE": (1036, "captures of ect1-tests: gaps of half a packet need 1500/1448"),
    "BURST_PARTS": (3, "Documentation/networking/ip-sysctl.rst: tcp_tso_win_divisor"),
    "DCTCP_ONE": (1024, "net/ipv4/tcp_dctcp.c: DCTCP_MAX_ALPHA"),
    "CUBIC_UNIT_BITS": (10, "net/ipv4/tcp_cubic.c: BICTCP_HZ"),
    "CUBIC_GATE_PARTS": (32, "net/ipv4/tcp_cubic.c: HZ / 32"),
    "CUBIC_FIRST_CNT": (20, "net/ipv4/tcp_cubic.c: 5 % per round trip"),
    "CUBIC_SLOWEST": (100, "net/ipv4/tcp_cubic.c: 100 * cwnd"),
    "CUBIC_RATIO_BITS": (4, "net/ipv4/tcp_cubic.c of 3.18: ACK_RATIO_SHIFT"),
    "CUBIC_MOST_RATIO": (32, "net/ipv4/tcp_cubic.c of 3.18: ACK_RATIO_LIMIT"),
    "HYSTART_WINDOW": (16, "net/ipv4/tcp_cubic.c: hystart_low_window"),
    "HYSTART_SAMPLES": (8, "net/ipv4/tcp_cubic.c: HYSTART_MIN_SAMPLES; RFC 9406: N_RTT_SAMPLE"),
    "HYSTART_GAP_US": (2000, "net/ipv4/tcp_cubic.c: hystart_ack_delta_us"),
    "HYSTART_SLACK_US": (1000, "net/ipv4/tcp_cubic.c: hystart_ack_delay, 1 ms"),
    "HYSTART_PARTS": (8, "net/ipv4/tcp_cubic.c: delay_min >> 3; RFC 9406: MIN_RTT_DIVISOR"),
    "HYSTART_PARTS_OLD": (16, "net/ipv4/tcp_cubic.c of 3.18: delay_min >> 4"),
    "HYSTART_LEAST_US": (4000, "net/ipv4/tcp_cubic.c: HYSTART_DELAY_MIN; RFC 9406: 4 ms"),
    "HYSTART_MOST_US": (16_000, "net/ipv4/tcp_cubic.c: HYSTART_DELAY_MAX; RFC 9406: 16 ms"),
    "HTB_SLOTS": (1, "tc-htb(8): burst; the runs of docs/validation.md give it one packet"),
}


def test_constants_are_the_published_ones() -> None:
    """All that the compiled simulator was built with, and no more than is known here."""
    assert _core.packet_published() == {name: value for name, (value, _) in PUBLISHED.items()}


def test_flows_begin_with_the_window_of_rfc_6928() -> None:
    assert pf.Flows(pf.Reno(), 1, "10ms").initial_window == 10


# --- proportional rate reduction --------------------------------------------------------------


def rfc_6937(ssthresh, recover_fs, pipe, delivered, prr_delivered, prr_out, safe) -> int:
    """The pseudo-code of section 3, with Linux's bound: SSRB only if the reply moves on safely."""
    if pipe > ssthresh:
        sndcnt = math.ceil(prr_delivered * ssthresh / recover_fs) - prr_out
    else:
        limit = max(prr_delivered - prr_out, delivered) + (1 if safe else 0)
        sndcnt = min(ssthresh - pipe, limit)
    # "Force a fast retransmit upon entering fast recovery": tcp_cwnd_reduction, tcp_input.c.
    return max(sndcnt, 0 if prr_out else 1)


def test_reductions_follow_rfc_6937() -> None:
    random = np.random.default_rng(6937)
    for _ in range(3000):
        window = int(random.integers(2, 200))
        state = (
            int(random.integers(1, window + 1)),
            window,
            int(random.integers(0, window + 1)),
            delivered := int(random.integers(1, 5)),
            delivered + int(random.integers(0, window)),
            int(random.integers(0, window)),
            bool(random.integers(0, 2)),
        )
        assert _core.packet_prr(*state) == rfc_6937(*state), state


def test_a_reduction_ends_at_the_threshold() -> None:
    """Of 20 segments one is lost and 19 are acknowledged, one by one: ten go out, every other time.

    That is what the reduction is proportional to, and at its end ssthresh are in flight.
    """
    sent, pipe, window = 0, 19, []
    for delivered in range(1, 20):
        pipe -= 1
        more = _core.packet_prr(10, 20, pipe, 1, delivered, sent, False)
        sent, pipe = sent + more, pipe + more
        window.append(more)
    assert (sent, pipe) == (10, 10)
    assert max(window) == 1


# --- the timer wheel --------------------------------------------------------------------------


def linux_timer(now: int, ms: int) -> int:
    """kernel/time/timer.c at HZ = 1000: 9 levels of 64 buckets, each 8 times as wide as the last.

    Level n begins at (64 - 1) 8^(n-1) jiffies ahead, and its buckets are 8^n jiffies wide; a timer
    goes into the bucket after the one that holds its time, so that it never fires early.
    """
    expires = now // MS + ms
    level = sum(ms >= 63 * 8 ** (n - 1) for n in range(1, 9))
    width = 8**level
    return (expires // width + 1) * width * MS


def test_timers_expire_as_the_wheel_has_them() -> None:
    random = np.random.default_rng(1)
    delays = [0, 1, 2, 40, 62, 63, 64, 200, 503, 504, 505, 1000, 4031, 4032, 32255, 32256, 120_000]
    for ms in delays:
        for now in random.integers(0, 10**12, size=20):
            due = _core.packet_jiffy_timer(int(now), ms)
            assert due == linux_timer(int(now), ms)
            assert due > int(now) // MS * MS + ms * MS
    # The largest error of a level is its width, 8/63 of where it begins.
    late = max((_core.packet_jiffy_timer(0, ms) / MS - 1) / ms for ms in range(63, 5000))
    assert late < 1 + 1 / 7


# --- HyStart ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base", "allowed"),
    [(20, 4), (80, 10), (200, 16)],
    ids=["at least 4 ms", "an eighth", "at most 16 ms"],
)
def test_hystart_ends_slow_start_when_the_delay_has_grown(base, allowed) -> None:
    """RFC 9406, section 4.2: RttThresh = max(4 ms, min(lastRoundMinRTT/8, 16 ms))."""
    assert not leaves_slow_start(base, allowed - 0.5)
    assert leaves_slow_start(base, allowed + 0.5)


def leaves_slow_start(base: float, more: float) -> bool:
    """Whether Cubic stops doubling in rounds whose RTTs (ms) are that much above the base."""
    cubic = _core.CongestionControl(*congestion_of(pf.Cubic()), 32)
    now = 1000.0
    for rtt in (base, base + more):
        for _ in range(400):  # several rounds
            now += 3  # no train: more than 2 ms apart
            cubic.acknowledge(1, 0, int(rtt * MS), int(now * MS))
    return int(cubic.ssthresh) < 0x7FFFFFFF


# --- what a link shows of them ------------------------------------------------------------------


def test_an_idle_htb_link_passes_two_packets_and_no_more() -> None:
    """Seven come at once: htb has stored one slot, so the second waits for nothing, as the first.

    tc-htb(8): what an idle class may send at once is its burst, here one packet beyond the first.
    """
    slot = 1500 * 8 / 1e6
    for kind, expected in (("wire", [0, 1, 2, 3, 4, 5, 6]), ("htb", [0, 0, 1, 2, 3, 4, 5])):
        burst = pf.Flows(pf.Reno(), 1, "500ms", initial_window=7)
        link = pf.Link("1Mbit/s", kind=kind, ack_jitter=0)
        runs = pf.packet.simulate(pf.Scenario(1, link, pf.TailDrop(), burst), seeds=1, trace=100)
        run = runs.isel(seed=0)
        left = (run.event_what == 1) & (run.event_bytes == 1500)
        waited = run.event_waited.to_numpy()[left.to_numpy()][:7] / 1e9
        assert waited / slot == pytest.approx(expected, abs=1e-6)
