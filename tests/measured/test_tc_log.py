"""Logs of ``tc -s``: what is in them, what is odd about them, and how much memory they take."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from pastes import Queue as Printed
from pastes import as_object, printed, stamp

import pi2_fluid as pf
from pi2_fluid.errors import QuantityError
from pi2_fluid.measured.dataset import samples_of

if TYPE_CHECKING:
    from collections.abc import Sequence

WAN = [Printed("wan0", "htb", "1:", "root", 0), Printed("wan0", "pie", "10:", "1:10", 0)]


def at(queues: Sequence[Printed], packets: int, form: str, *, named: bool = True) -> str:
    now = [queue._replace(packets=packets) for queue in queues]
    if form == "text":
        return "".join(f"{line}\n" for queue in now for line in printed(queue, named=named))
    return json.dumps([as_object(queue, named=named) for queue in now]) + "\n"


def warned(data: Any) -> list[str]:
    return [line for line in data.attrs["warnings"].split("\n") if line]


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("time", ["date", "Time", "epoch", "iso"])
def test_counters_and_times(form: str, time: str) -> None:
    text = "".join(f"{stamp(time, n)}\n{at(WAN, 100 * n, form)}" for n in range(5))
    data = pf.measured.read(text)
    assert data.attrs["format"] == "tc_log"
    assert data.attrs["clock"] == "unix"
    assert warned(data) == []
    assert data.band.values.tolist() == ["wan0 htb 1:", "wan0 pie 10:"]
    step = 1e-3 if time == "epoch" else 1.0  # that of `stamp`; doubles of 1e9 s resolve 0.2 us
    assert data.time.values == pytest.approx(step * np.arange(5), abs=1e-6)
    assert data.packets.dims == ("time", "band")
    assert data.packets.sel(band="wan0 pie 10:").values.tolist() == [0, 100, 200, 300, 400]
    assert data.bytes.attrs["units"] == "B"


def test_header_of_watch() -> None:
    header = "Every 1.0s: tc -s qdisc show dev wan0     fw: Fri Nov 27 20:00:0{} 2026\n\n"
    text = "".join(header.format(n) + at(WAN, n, "text", named=False) for n in range(3))
    data = pf.measured.read(text)
    assert data.time.values.tolist() == [0, 1, 2]
    # the header names the machine, too
    assert data.band.values.tolist() == ["wan0 htb 1:", "wan0 pie 10:"]


@pytest.mark.parametrize(
    "form", ["{0}.5", "{0}500", "[2025-11-27T19:00:0{1}.500+00:00]", "19:00:0{1}.5"]
)
def test_times_before_each_line(form: str) -> None:
    lines = (
        f"{form.format(1_764_270_000 + n, n)} {line}\n"
        for n in range(3)
        for line in at(WAN, n, "text").splitlines()
    )
    data = pf.measured.read("".join(lines))
    assert data.time.values == pytest.approx([0, 1, 2], abs=1e-6)
    assert data.packets.sel(band="wan0 pie 10:").values.tolist() == [0, 1, 2]
    assert warned(data) == []


@pytest.mark.parametrize("shell", ["+ tc -s qdisc show dev {}", "root@fw:~# tc -s qd sh dev {}"])
def test_the_command_before_says_the_device(shell: str) -> None:
    lan = [Printed("lan0", "pie", "1:", "root", 0)]
    text = "".join(
        f"{stamp('date', n)}\n{shell.format(each[0].dev)}\n{at(each, n, 'text', named=False)}"
        for n in range(3)
        for each in (WAN, lan)
    )
    data = pf.measured.read(text)
    names = [str(band).replace(" of fw", "") for band in data.band.values]
    assert names == ["wan0 htb 1:", "wan0 pie 10:", "lan0 pie 1:"]
    assert data.packets.values[-1].tolist() == [2, 2, 2]


def test_of_a_queue_that_tc_does_not_know_the_common_counters_are_read() -> None:
    text = "qdisc dualpi2 8047: dev mid.l parent 1:1 [Unknown qdisc, optlen=104]\n"
    text += " Sent 55 bytes 8 pkt (dropped 2, overlimits 0 requeues 0)\n backlog 0b 0p requeues 0\n"
    data = pf.measured.read(f"{stamp('date', 0)}\n{text}")
    assert data.band.values.tolist() == ["mid.l dualpi2 8047:"]
    assert (data.packets.item(), data.drops.item()) == (8, 2)


@pytest.mark.parametrize("key", ["time", "timestamp", "ts"])
def test_json_lines_with_a_time_beside(key: str) -> None:
    lines = (
        json.dumps({key: 1_764_270_000.5 + n, "qdiscs": json.loads(at(WAN, n, "json"))})
        for n in range(3)
    )
    data = pf.measured.read("\n".join(lines) + "\n")
    assert data.attrs["start"] == 1_764_270_000.5
    assert data.time.values.tolist() == [0, 1, 2]


def test_delays_are_in_seconds_and_classes_of_dualpi2_are_bands() -> None:
    entry = {
        "kind": "dualpi2",
        "handle": "1:",
        "dev": "wan0",
        "root": True,
        "options": {},
        "packets": 5,
        "prob": 0.25,
        "delay_c": 15000,
        "delay_l": 500,
        "pkts_in_c": 3,
        "pkts_in_l": 2,
    }
    data = pf.measured.read(f"1764270000\n[{json.dumps(entry)}]\n", format="tc_log")
    assert data.band.values.tolist() == [
        "wan0 dualpi2 1:",
        "wan0 dualpi2 1: C",
        "wan0 dualpi2 1: L",
    ]
    assert samples_of(data, "queue_delay", "wan0 dualpi2 1: L")[1].tolist() == [0.0005]
    assert samples_of(data, "queue_delay", "wan0 dualpi2 1: C")[1].tolist() == [0.015]
    assert samples_of(data, "pkts_in", "wan0 dualpi2 1: C")[1].tolist() == [3]
    assert samples_of(data, "prob", "wan0 dualpi2 1:")[1].tolist() == [0.25]
    assert data.queue_delay.attrs["units"] == "s"


def test_tins_of_cake_are_bands() -> None:
    entry = {
        "kind": "cake",
        "handle": "1:",
        "dev": "wan0",
        "root": True,
        "options": {"diffserv": "diffserv3"},
        "packets": 5,
        "tins": [{"sent_packets": n, "avg_delay_us": 1000 * n} for n in range(3)],
    }
    data = pf.measured.read(f"1764270000\n[{json.dumps(entry)}]\n", format="tc_log")
    assert samples_of(data, "packets", "wan0 cake 1: tin Best Effort")[1].tolist() == [1]
    assert samples_of(data, "avg_delay", "wan0 cake 1: tin Voice")[1].tolist() == [0.002]


def test_devices_may_be_mixed() -> None:
    lan = [Printed("lan0", "fq_codel", "0:", f":{n}", 0) for n in (1, 2)]
    text = "".join(
        f"{stamp('epoch', n)}\n{at(WAN, n, 'text')}{at(lan, 2 * n, 'text')}" for n in range(3)
    )
    data = pf.measured.read(text)
    assert data.band.values.tolist() == [
        "wan0 htb 1:",
        "wan0 pie 10:",
        "lan0 fq_codel 0: parent :1",
        "lan0 fq_codel 0: parent :2",
    ]
    assert samples_of(data, "packets", "lan0 fq_codel 0: parent :2")[1].tolist() == [0, 2, 4]


def test_classes_of_flows_are_no_bands() -> None:
    """A fair queue shows one for each flow that waits: a day of them would be thousands."""
    flows = "".join(f"class fq_codel 10:{n} parent 10:\n backlog 9b 1p requeues 0\n" for n in "12")
    data = pf.measured.read(f"{stamp('date', 0)}\n{at(WAN, 1, 'text')}{flows}")
    assert data.band.values.tolist() == ["wan0 htb 1:", "wan0 pie 10:"]


# --- what is odd ----------------------------------------------------------------------------


def test_without_times_samples_are_numbered_and_no_second_is_assumed() -> None:
    data = pf.measured.read("".join(at(WAN, n, "json") for n in range(4)))
    assert data.time.values.tolist() == [0, 1, 2, 3]
    assert data.attrs["clock"] == "relative"
    assert json.loads(data.attrs["about"])["time"] == "number of the sample"
    (sentence,) = warned(data)
    assert "has no times" in sentence
    assert "not seconds" in sentence


def test_one_time_at_the_top_is_of_no_sample() -> None:
    text = f"{stamp('date', 0)}\n" + "".join(at(WAN, n, "text") for n in range(4))
    assert "has no times" in warned(pf.measured.read(text))[0]


def test_a_counter_that_is_reset_or_wraps_is_said() -> None:
    def log(*packets: int) -> list[str]:
        texts = (f"{stamp('epoch', n)}\n{at(WAN[1:], p, 'json')}" for n, p in enumerate(packets))
        return warned(pf.measured.read("".join(texts)))

    assert log(1, 2, 3) == []
    (reset,) = log(5, 9, 2, 4)
    assert reset == (
        "bytes of wan0 pie 10: falls 1 time, first 0.002 s after the first sample. The queue was"
        " made anew, or its counters were reset. So do packets. A difference across it says"
        " nothing."
    )
    entry = '[{"kind":"pfifo","handle":"1:","dev":"lan0","root":true,"packets":%d}]\n'
    text = "".join(f"{stamp('iso', n)}\n{entry % p}" for n, p in enumerate((2**32 - 9, 11, 12)))
    (wrapped,) = warned(pf.measured.read(text))
    assert "falls 1 time, first 1 s after the first sample. The counter has 32 bits" in wrapped


def test_a_day_without_dates_goes_on_over_midnight() -> None:
    text = "".join(
        f"{clock}\n{at(WAN, n, 'text')}"
        for n, clock in enumerate(("23:59:58", "23:59:59", "00:00:00", "00:00:01"))
    )
    data = pf.measured.read(text)
    assert data.time.values.tolist() == [0, 1, 2, 3]
    assert warned(data) == []
    assert data.attrs["clock"] == "relative"


def test_times_that_come_twice_or_go_back_are_said() -> None:
    text = "".join(f"{stamp('date', n)}\n{at(WAN, k, 'json')}" for k, n in enumerate((0, 0, 1, 1)))
    data = pf.measured.read(text)
    assert data.time.values.tolist() == [0, 0, 1, 1]
    assert data.packets.sel(band="wan0 pie 10:").values.tolist() == [0, 1, 2, 3]
    assert "2 outputs of wan0 htb 1: have the time of the one before" in warned(data)[0]
    text = "".join(f"{stamp('date', n)}\n{at(WAN, n, 'json')}" for n in (2, 3, 0, 1))
    data = pf.measured.read(text)
    assert "go back" in warned(data)[0]
    assert data.packets.sel(band="wan0 pie 10:").values.tolist() == [0, 1, 2, 3]


def test_a_cut_log_keeps_what_is_whole() -> None:
    text = "".join(f"{stamp('epoch', n)}\n{at(WAN, n, 'json')}" for n in range(4))
    data = pf.measured.read(text[:-40])
    assert data.packets.sel(band="wan0 pie 10:").values.tolist() == [0, 1, 2]
    assert warned(data) == ["the last output is cut off: it is left out."]


def test_what_has_no_counters_is_refused() -> None:
    with pytest.raises(QuantityError, match="has no counters of tc: give what `tc -s"):
        pf.measured.read("qdisc pie 1: dev wan0 root refcnt 2\n", format="tc_log")


# --- memory ---------------------------------------------------------------------------------


def log_file(path: Path, outputs: int) -> Path:
    with path.open("w") as file:
        for n in range(outputs):
            file.write(f"{1_764_270_000 + n} {at(WAN, n, 'json')}")
    return path


@pytest.mark.parametrize("stamped", [True, False])
def test_no_format_reads_a_log_as_a_whole_to_know_it(tmp_path: Path, stamped: bool) -> None:
    """Other formats are one value of JSON, and are asked first."""
    from pi2_fluid.measured.reading import measurement_of
    from pi2_fluid.measured.source import Source

    path = tmp_path / "log.json"
    path.write_text(
        "".join(f"{1_764_270_000 + n} " * stamped + at(WAN, n, "json") for n in range(10))
    )
    source = Source(path)
    assert measurement_of(source).format == "tc_log"
    assert "text" not in vars(source)


def peak(path: Path) -> int:
    from pi2_fluid.measured.reading import measurement_of
    from pi2_fluid.measured.source import Source

    tracemalloc.start()
    try:
        measurement = measurement_of(Source(path), "tc_log")
        assert not measurement.empty
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_memory_grows_with_the_numbers_and_not_with_the_text(tmp_path: Path) -> None:
    """What 4N outputs take more than N is what their numbers take, whatever text is around.

    A number takes 8 bytes as it is read, or 17 as it is handed over, with its time and whether it
    is lost; arrays that grow and the last copies have a half of that more.
    """
    few, many = (log_file(tmp_path / f"{n}.json", n) for n in (500, 2000))
    peak(few)  # what is loaded once
    more = peak(many) - peak(few)
    data = pf.measured.read(few)
    numbers = 1500 * sum(int(np.isfinite(data[name].values[0]).sum()) for name in data)
    assert more < 1.5 * 17 * numbers
    padded = tmp_path / "padded.json"
    padded.write_text(
        many.read_text().replace('"options": {', '"options": {"x": "' + 3000 * "x" + '", ')
    )
    assert padded.stat().st_size > 5 * many.stat().st_size
    assert abs(peak(padded) - peak(many)) < 0.1 * peak(many) + 100_000
