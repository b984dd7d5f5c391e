"""What files of measurements say otherwise than they mean: a test for each trap."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import pi2_fluid as pf
from pi2_fluid.errors import QuantityError
from pi2_fluid.measured.dataset import samples_of

FILES = Path(__file__).parents[1] / "data" / "measured"


def flent(series: dict[str, list[dict[str, float]]], version: int = 4, **meta: object) -> str:
    """Return a file of Flent with some series."""
    told = {name: {"UNITS": "ms" if "TCP" not in name else "Mbits/s"} for name in series}
    return json.dumps(
        {
            "version": version,
            "metadata": {"NAME": "test", "SERIES_META": told} | meta,
            "x_values": [0.0, 0.2],
            "results": {name: [1.0, 2.0] for name in series},
            "raw_values": series,
        }
    )


def values(data: xr.Dataset, variable: str, label: str) -> list[float]:
    return [float(value) for value in samples_of(data, variable, label)[1]]


def test_http_latency_of_old_flent_is_in_seconds_and_says_ms() -> None:
    rows = [{"t": 10.0, "val": 0.004133}]
    old = pf.measured.read(flent({"HTTP latency": rows}, version=2))
    assert values(old, "delay", "HTTP latency") == [0.004133]
    new = pf.measured.read(flent({"HTTP latency": [{"t": 10.0, "val": 4.133}]}, version=4))
    assert values(new, "delay", "HTTP latency") == pytest.approx([0.004133])


def test_udp_pings_of_old_flent_are_round_trips_a_second() -> None:
    rows = [{"t": 10.0, "val": 20.04, "dur": 0.2}]
    old = pf.measured.read(flent({"Ping (ms) UDP BE1": rows}, version=3))
    assert values(old, "delay", "Ping (ms) UDP BE1") == pytest.approx([1.0 / 20.04])


def test_netperf_waits_for_a_lost_packet_to_its_end() -> None:
    rows = [{"t": 10.0, "val": 20.0, "dur": 0.2}, {"t": 152.0, "val": 0.01, "dur": 142.0}]
    data = pf.measured.read(flent({"Ping (ms) UDP BE1": rows}, version=3))
    assert data.delay.values.ravel()[0] == 0.05
    assert data.lost.values.ravel().tolist() == [False, True]


def test_counters_of_flent_have_the_names_that_tc_gives_them() -> None:
    rows = [{"t": 1.0, "sent_pkts": 10, "dropped": 2}, {"t": 2.0, "sent_pkts": 30, "dropped": 3}]
    old = pf.measured.read(flent({"qdisc_stats_mid": rows, "Ping (ms) ICMP": rows}, version=3))
    new = pf.measured.read(flent({"qdisc_stats_mid": rows, "Ping (ms) ICMP": rows}, version=4))
    assert values(old, "packets", "mid") == values(new, "packets", "mid") == [10.0, 30.0]
    assert values(old, "drops", "mid") == [2.0, 3.0]
    assert values(new, "drops", "mid") == [2.0, 5.0]  # version 4 has what was added


def test_voip_says_kbps_and_has_one_way_delays_in_ms() -> None:
    text = flent({"VoIP": [{"t": 1.0, "val": 24.8}, {"t": 2.0, "val": 25.8}]})
    data = pf.measured.read(text.replace('"UNITS": "ms"', '"UNITS": "Kbps"'))
    assert values(data, "delay_up", "VoIP") == pytest.approx([0.0, 0.001])
    assert "delay" not in data
    assert "Kbps" in data.attrs["warnings"]


def test_rtt_and_window_are_fields_of_the_flow_and_not_series_of_their_own() -> None:
    rows = [{"t": 1.0, "tcp_rtt": 20.5, "tcp_cwnd": 10}, {"t": 1.2, "val": 5.0, "dur": 0.2}]
    data = pf.measured.read(flent({"TCP upload": rows, "TCP upload::tcp_rtt": []}))
    assert data.flows.values.tolist() == ["TCP upload"]
    assert values(data, "tcp_rtt", "TCP upload") == pytest.approx([0.0205])
    assert values(data, "window", "TCP upload") == [10.0]
    assert values(data, "throughput", "TCP upload") == [5e6]
    assert values(data, "interval", "TCP upload") == [0.2]


def test_congestion_control_is_only_in_the_metadata_of_series() -> None:
    text = json.loads(
        flent({"TCP upload::1": [{"t": 1.0, "val": 1.0}], "TCP download": [{"t": 1.0, "val": 2.0}]})
    )
    text["metadata"]["SERIES_META"]["TCP upload::1"]["CONG_CONTROL"] = "prague"
    text["metadata"]["SERIES_META"]["TCP download"]["COMMAND"] = "netperf -K cubic -H a"
    data = pf.measured.read(json.dumps(text))
    assert set(data.flows.values) == {"TCP upload::1 (prague)", "TCP download (cubic)"}
    about = json.loads(data.attrs["about"])
    assert about["directions"] == {"TCP upload::1 (prague)": "up", "TCP download (cubic)": "down"}
    assert about["senders"]["TCP upload::1 (prague)"] == "prague"


def test_sums_and_means_are_not_counted_twice() -> None:
    rows = [{"t": 1.0, "val": 1.0}]
    names = ["TCP upload", "TCP upload avg", "TCP upload sum", "TCP totals", "Ping (ms) avg"]
    data = pf.measured.read(flent(dict.fromkeys(names, rows)))
    assert data.flows.values.tolist() == ["TCP upload"]
    assert "probe" not in data.dims


def test_a_series_without_a_name_is_said_not_to_be_read() -> None:
    text = flent({"": [{"t": 1.0, "val": 1.0}], "Ping (ms) ICMP": [{"t": 1.0, "val": 1.0}]})
    data = pf.measured.read(text.replace('"UNITS": "ms"', '"UNITS": "misc"', 1))
    assert data.probe.values.tolist() == ["Ping (ms) ICMP"]
    assert "the series '', in misc, is not read" in data.attrs["warnings"]


def test_lost_pings_of_flent_are_gaps_of_the_numbers() -> None:
    rows = [{"t": 1.0, "seq": 1, "val": 20.0}, {"t": 1.6, "seq": 4, "val": 21.0}]
    data = pf.measured.read(flent({"Ping (ms) ICMP": rows}))
    assert data.lost.values.ravel().tolist() == [False, True, True, False]
    assert data.time.values == pytest.approx([0.0, 0.2, 0.4, 0.6])


def test_lost_probes_of_irtt_in_flent() -> None:
    rows = [{"t": 1.0, "seq": 0, "val": 2.0, "owd_up": 1.0}, {"t": 1.2, "seq": 1, "lost": True}]
    data = pf.measured.read(flent({"Ping (ms) UDP": rows}))
    assert data.lost.values.ravel().tolist() == [False, True]


def test_version_1_has_no_samples_but_what_was_interpolated() -> None:
    file = {
        "metadata": {
            "NAME": "rrul",
            "T0": "2014-01-01T10:00:00.5",
            "NETPERF_WRAPPER_VERSION": "0.6",
        },
        "x_values": [0.0, 0.2, 0.4],
        "results": {
            "TCP upload": [None, 1.0, 2.0],
            "TCP upload avg": [None, 1.0, 2.0],
            "Ping (ms) ICMP": [20.0, 21.0, None],
        },
    }
    data = pf.measured.read(json.dumps(file))
    assert values(data, "throughput", "TCP upload") == [1e6, 2e6]
    assert data.flows.values.tolist() == ["TCP upload"]
    assert data.attrs["clock"] == "relative"  # of no zone that it says
    assert "interpolated" in data.attrs["warnings"]
    kept = {"UNITS": "ms", "RAW_VALUES": [{"t": 5.0, "val": 20.0}]}
    file["metadata"]["SERIES_META"] = {"Ping (ms) ICMP": kept}  # type: ignore[index]
    data = pf.measured.read(json.dumps(file))
    assert values(data, "delay", "Ping (ms) ICMP") == [0.02]
    assert "interpolated" not in data.attrs["warnings"]


def test_a_later_version_of_flent_is_refused() -> None:
    with pytest.raises(QuantityError, match="is of version 5 of Flent's format"):
        pf.measured.read(flent({"TCP upload": [{"t": 1.0, "val": 1.0}]}, version=5))


def test_titles_say_rate_rtt_and_queue() -> None:
    def about(title: str) -> dict[str, object]:
        data = pf.measured.read(flent({"TCP upload": [{"t": 1.0, "val": 1.0}]}, TITLE=title))
        found: dict[str, object] = json.loads(data.attrs["about"])
        return found

    one = about("net:ns cc:prague qdisc:fq_codel bandwidth:50Mbit rtt:20ms ecn:noecn")
    assert one["rate"] == 50e6
    assert one["rtt"] == 0.02
    assert one["qdisc"] == "fq_codel"
    assert one["ecn"] is False
    assert one["senders"] == {"TCP upload (prague)": "prague"}
    other = about("rtt:multi rate:100Mbit/10Mbit")
    assert "rtt" not in other
    assert "rate" not in other  # which is which, nothing says
    assert about("rate:10Mbit/10Mbit")["rate"] == 10e6


def test_the_queue_at_the_bottleneck_is_that_of_a_shaper() -> None:
    there = "qdisc tbf 1: root rate 100Mbit\nqdisc pie 2: parent 1:1 target 15ms"
    meta: dict[str, Any] = {
        "LOCAL_HOST": "near",
        "EGRESS_INFO": {"iface": "cli", "tc_stats_pre": ["qdisc noqueue 0: root"]},
        "REMOTE_METADATA": {
            "mid": {
                "EGRESS_INFO": {
                    "iface": "eth2",
                    "tc_stats_pre": there.split("\n"),
                    "tc_stats_post": [there],
                }
            }
        },
    }
    data = pf.measured.read(flent({"TCP upload": [{"t": 1.0, "val": 1.0}]}, **meta))
    about = json.loads(data.attrs["about"])
    assert about["tc_before"] == about["tc_after"] == about["qdisc"] == there
    assert about["queue_at"] == "mid eth2"


def irtt(*lost: str) -> str:
    trips = []
    for count, each in enumerate(lost):
        ways = {"rtt": 10_000_000 + count, "send": 5_200_000 + count, "receive": -4_400_000}
        sent = {"wall": 1_700_000_000_000_000_000 + 20_000_000 * count}
        stamps = {"client": {"send": sent, "receive": {}}, "server": {}}
        delays = {} if each.startswith("true") else ways
        trips.append({"seqno": count, "lost": each, "timestamps": stamps, "delay": delays})
    return json.dumps({"version": {"irtt": "0.9.0"}, "round_trips": trips})


def test_lost_is_a_text_that_irtt_writes() -> None:
    data = pf.measured.read(irtt("false", "true", "true_up", "true_down", "false"))
    assert data.lost.values.ravel().tolist() == [False, True, True, True, False]
    assert np.isnan(data.delay.values.ravel()).tolist() == [False, True, True, True, False]


def test_one_way_delays_have_the_offset_of_two_clocks() -> None:
    data = pf.measured.read(irtt("false", "false"))
    assert data.delay_up.values.ravel() == pytest.approx([0.0, 1e-9], abs=1e-15)
    assert data.delay_down.values.ravel().tolist() == [0.0, 0.0]
    assert "offset of two clocks" in data.attrs["warnings"]


def test_an_empty_file_of_delays_is_no_packets() -> None:
    with pytest.raises(QuantityError, match="has no packets: the testbed writes an empty list"):
        pf.measured.read('{"results":[]}\n\n')


def test_delays_of_packets_at_the_same_time_are_all_kept() -> None:
    rows = [{"ts-us": 5, "delay-us": 32, "drop": 0}, {"ts-us": 5, "delay-us": 64, "drop": 3}]
    data = pf.measured.read(json.dumps({"results": rows}))
    assert values(data, "queue_delay", "queue") == pytest.approx([32e-6, 64e-6])
    assert values(data, "drops", "queue") == [0.0, 3.0]


def test_a_run_of_iperf3_that_failed_says_why() -> None:
    with pytest.raises(QuantityError, match="that failed, as it says, 'unable to connect"):
        pf.measured.read(FILES / "iperf3_nobody.json")


def test_what_iperf3_omits_has_another_clock() -> None:
    data = pf.measured.read(FILES / "iperf3_omit.json")
    assert (np.diff(data.time) > 0.0).all()
    assert "omitted" in data.attrs["warnings"]


def test_servers_of_iperf3_have_no_window_and_receive_what_goes_up() -> None:
    data = pf.measured.read(FILES / "iperf3_server.json")
    assert set(data.data_vars) == {"throughput", "interval"}
    assert list(json.loads(data.attrs["about"])["directions"].values()) == ["up"]


def test_units_of_iperf3_change_line_by_line() -> None:
    text = (
        "[  5]   0.00-1.00   sec  79.2 KBytes   649 Kbits/sec\n"
        "[  5]   1.00-2.00   sec  1.53 MBytes  12.8 Mbits/sec    2    105 KBytes\n"
        "[SUM]   1.00-2.00   sec  9.99 MBytes  99.9 Mbits/sec\n"
        "[  5]   2.00-3.00   sec  1.00 MBytes  1.00 MBytes/sec\n"
        "[  5]   0.00-3.00   sec  2.00 MBytes  5.00 Mbits/sec   2   sender\n"
    )
    data = pf.measured.read(text)
    assert values(data, "throughput", "stream 5") == [649e3, 12.8e6, 8.0 * 1024.0**2]
    assert values(data, "window_bytes", "stream 5") == [105.0 * 1024.0]
    assert "three digits" in data.attrs["warnings"]


def test_iperf3_says_more_with_v() -> None:
    data = pf.measured.read(FILES / "iperf3_verbose.txt")
    about = json.loads(data.attrs["about"])
    assert about["senders"] == {"stream 5 (reno)": "reno"}
    assert about["segment"] == 1448.0
    assert data.attrs["clock"] == "unix"
    assert values(data, "window", "stream 5 (reno)")[0] == pytest.approx(66.5 * 1024.0 / 1448.0)


def test_events_of_a_stream_are_the_file_that_they_make() -> None:
    whole = json.loads((FILES / "iperf3_cubic.json").read_text())
    lines = [{"event": "start", "data": whole["start"]}]
    lines += [{"event": "interval", "data": each} for each in whole["intervals"]]
    lines += [{"event": "end", "data": whole["end"]}]
    text = "\n".join(json.dumps(line) for line in lines)
    assert (
        pf.measured.read(text).drop_attrs().equals(pf.measured.read(json.dumps(whole)).drop_attrs())
    )


def test_ping_prints_whole_milliseconds_from_100_ms_on() -> None:
    line = "[{}] 64 bytes from 10.0.0.1: icmp_seq={} ttl=64 time={} ms\n"
    data = pf.measured.read(line.format(1.0, 1, 161) + line.format(1.2, 2, 99.9))
    assert "known to 1 ms" in data.attrs["warnings"]
    assert "known to 1 ms" not in pf.measured.read(line.format(1.0, 1, "160.3")).attrs["warnings"]


def test_ping_without_times_has_its_numbers() -> None:
    line = "64 bytes from 10.0.0.1: icmp_seq={} ttl=64 time=20 ms\n"
    data = pf.measured.read(line.format(1) + line.format(3))
    assert data.time.values.tolist() == [0.0, 1.0, 2.0]
    assert data.lost.values.ravel().tolist() == [False, True, False]
    assert data.attrs["clock"] == "relative"
    assert "one second from one to the next" in data.attrs["warnings"]


def test_runs_of_ping_in_one_text_follow_each_other() -> None:
    run = (
        "PING 10.0.0.1 (10.0.0.1) 56(84) bytes of data.\n"
        "64 bytes from 10.0.0.1: icmp_seq=1 ttl=64 time=20.5 ms\n"
        "64 bytes from 10.0.0.1: icmp_seq=2 ttl=64 time=21.5 ms\n"
        "3 packets transmitted, 2 received, 33% packet loss, time 400ms\n"
    )
    data = pf.measured.read(run + run)
    assert data.time.values == pytest.approx([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    assert data.lost.values.ravel().tolist() == [False, False, True] * 2
    assert "and of the time that its summary says" in data.attrs["warnings"]


def test_a_number_of_packets_that_cannot_be_is_not_believed() -> None:
    line = "[{}] 64 bytes from 10.0.0.1: icmp_seq={} ttl=64 time=20.5 ms\n"
    text = line.format(1.0, 1) + "999999999 packets transmitted, 1 received, 99% packet loss\n"
    assert pf.measured.read(text).sizes["time"] == 1


def test_numbers_of_ping_begin_anew_after_65535() -> None:
    line = "[{}] 64 bytes from 10.0.0.1: icmp_seq={} ttl=64 time=20.5 ms\n"
    data = pf.measured.read(line.format(1.0, 65534) + line.format(1.2, 65535) + line.format(1.6, 1))
    assert data.lost.values.ravel().tolist() == [False, False, True, False]


def test_a_second_answer_of_ping_is_none() -> None:
    line = "[{}] 64 bytes from 10.0.0.1: icmp_seq=1 ttl=64 time={} ms"
    data = pf.measured.read(line.format(1.0, 20.5) + "\n" + line.format(1.1, 90.5) + " (DUP!)\n")
    assert data.delay.values.tolist() == [[0.0205]]


def test_a_late_answer_takes_the_place_of_no_answer_yet() -> None:
    text = (
        "PING 10.0.0.1 (10.0.0.1) 56(84) bytes of data.\n"
        "[1.3] no answer yet for icmp_seq=1\n"
        "[1.4] 64 bytes from 10.0.0.1: icmp_seq=1 ttl=64 time=400 ms\n"
        "[1.6] no answer yet for icmp_seq=2\n"
    )
    data = pf.measured.read(text)
    assert data.lost.values.ravel().tolist() == [False, True]
    assert data.time.values == pytest.approx([0.0, 0.2])


def test_gaps_of_mahimahi_are_outages_and_the_end_is_a_begin() -> None:
    data = pf.measured.read("".join(f"{ms}\n" for ms in [*range(1, 101), 301]))
    assert values(data, "capacity", "link") == [12e6, 0.0, pytest.approx(12000.0 / 0.101)]
    assert "anew" in data.attrs["warnings"]


def test_packets_of_a_second_are_no_milliseconds(tmp_path: Path) -> None:
    path = tmp_path / "LTE.pps"
    path.write_text("100\n200\n300\n")
    with pytest.raises(QuantityError, match=r"'LTE\.pps' has packets of each second"):
        pf.measured.read(path)


@pytest.mark.parametrize(
    ("name", "variable", "label", "units"),
    [
        ("dualpi2-bytes.dat", "backlog", "dualpi2", "B"),
        ("l-sojourn.dat", "queue_delay", "l", "s"),
        ("cubic-cwnd.dat", "window_bytes", "cubic", "B"),
        ("prague-rtt.dat", "tcp_rtt", "prague", "s"),
    ],
)
def test_files_of_ns3_say_by_their_name_what_they_are(
    name: str, variable: str, label: str, units: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text("0.1 1500\n0.10001 3000\n0.2 0\n")
    data = pf.measured.read(path)
    assert values(data, variable, label) == [1500.0, 3000.0, 0.0]
    assert data[variable].units == units


def test_files_of_ns3_without_a_known_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "trace.dat").write_text("0.1 1500\n")
    with pytest.raises(QuantityError, match="its name says not of what: name it by one of bytes"):
        pf.measured.read(tmp_path / "trace.dat", format="ns3")


HEADER = "DATA_HEADER; LOG_DATETIME; LOG_TIMESTAMP; "
CAKE = f"""\
DEBUG; 2026-01-01-00:00:00; 1700000000.0; Starting
DATA; 2026-01-01-00:00:00; 1700000000.1; 1; 2; 1.1.1.1; 3; 4; 5; 6
{HEADER}DL_ACHIEVED_RATE_KBPS; REFLECTOR; DL_OWD_US; UL_OWD_US; CAKE_DL_RATE_KBPS
DATA; 2026-01-01-00:00:01; 1700000001.0; 9000; 1.1.1.1; 10000; 5000; 20000
DATA; 2026-01-01-00:00:02; 1700000002.0; 9500; 9.9.9.9; 12000; 5500; 20000
{HEADER}REFLECTOR; UL_OWD_US; DL_OWD_US; DL_EWMA_US; CAKE_DL_RATE_KBPS; DL_ACHIEVED_RATE_KBPS
DATA; 2026-01-01-00:00:03; 1700000003.0; 1.1.1.1; 7000; 13000; 1; 10000; 9700
DATA; 2026-01-01-00:00:04; 170000
"""


def test_columns_of_cake_autorate_are_those_of_the_last_header() -> None:
    data = pf.measured.read(CAKE)
    assert values(data, "throughput", "download") == [9e6, 9.5e6, 9.7e6]
    assert values(data, "capacity", "down") == [20e6, 20e6, 10e6]
    assert values(data, "delay", "1.1.1.1") == pytest.approx([0.015, 0.020])
    assert values(data, "delay_down", "1.1.1.1") == pytest.approx([0.0, 0.003])
    assert values(data, "delay_up", "1.1.1.1") == pytest.approx([0.0, 0.002])
    assert "2 lines do not have the columns" in data.attrs["warnings"]


def test_halves_of_a_round_trip_are_no_one_way_delays() -> None:
    data = pf.measured.read(
        CAKE.replace("10000; 5000", "5000; 5000")
        .replace("12000; 5500", "5500; 5500")
        .replace("7000; 13000", "6000; 6000")
    )
    assert values(data, "delay", "1.1.1.1") == pytest.approx([0.010, 0.012])
    assert "delay_up" not in data


def test_loads_of_cake_autorate_are_when_rates_are_taken() -> None:
    load = (
        "LOAD_HEADER; LOG_DATETIME; LOG_TIMESTAMP; DL_ACHIEVED_RATE_KBPS; UL_ACHIEVED_RATE_KBPS\n"
        "LOAD; 2026-01-01-00:00:01; 1700000001.5; 8000; 800\n"
    )
    assert values(pf.measured.read(CAKE + load), "throughput", "download") == [8e6]


def test_cells_of_csv() -> None:
    text = "# mine\ntime [ms];delay_up voip (us);window cubic\n0;100;10\n5;lost;\n10;300;12\n"
    data = pf.measured.read(text)
    assert data.time.values == pytest.approx([0.0, 0.005, 0.01])
    assert values(data, "window", "cubic") == [10.0, 12.0]
    assert data.lost.values.ravel().tolist() == [False, True, False]
    assert data.attrs["clock"] == "relative"


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("time (s),throughput cubic", "without a unit of a rate: write it behind the name"),
        ("time (s),throughput cubic (ms)", "without a unit of a rate: write it behind the name"),
        ("time (m),delay (ms)", "without a unit of a time"),
        ("time (s),speed (km/h),delay (s)", "which is nothing that is known"),
    ],
)
def test_headers_of_csv_that_do_not_say_what_it_is(header: str, said: str) -> None:
    with pytest.raises(QuantityError, match=said):
        pf.measured.read(header + "\n1,2,3\n")
