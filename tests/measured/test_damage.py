"""Files that are cut, damaged or of another kind: one sentence or warnings, never anything else."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pi2_fluid as pf
from pi2_fluid.errors import DomainError, QuantityError, ScenarioError, UnsupportedError
from pi2_fluid.measured.reading import FORMATS

FILES = Path(__file__).parents[1] / "data" / "measured"
CAKE = (
    "DATA_HEADER; LOG_DATETIME; LOG_TIMESTAMP; DL_ACHIEVED_RATE_KBPS; REFLECTOR; DL_OWD_US;"
    " UL_OWD_US; CAKE_DL_RATE_KBPS\n"
    + "".join(
        f"DATA; 2026-01-01-00:00:0{i}; 170000000{i}.5; 900{i}; 1.1.1.1; {i}; 2; 50\n"
        for i in range(4)
    )
)


def text_of(path: Path) -> str:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        return file.read()


#: What tools wrote, some 3 kB of each; JSON of few values, so that each is likely to be changed.
TEXTS: dict[str, str] = {
    name: text_of(FILES / name)[:3000]
    for name in (
        "ping_outstanding.txt",
        "ping_far_no_times.txt",
        "fping_far.txt",
        "iperf3_two.txt",
        "iperf3_both.txt",
        "iperf3_times.txt",
    )
} | {
    "cake": CAKE,
    "mahimahi": "1\n2\n2\n5\n7\n300\n",
    "csv": "time (s),throughput a (Mbit/s),delay p (ms)\n0,1,2\n1,,lost\n2,3,4\n",
}


def few(value: Any, most: int = 4) -> Any:
    """Return JSON with the first entries of each list."""
    if isinstance(value, list):
        return [few(each) for each in value[:most]]
    if isinstance(value, dict):
        return {key: few(each) for key, each in value.items()}
    return value


TREES: dict[str, Any] = {
    name: few(json.loads(text_of(FILES / name)))
    for name in (
        "irtt_few.json",
        "iperf3_reno_two.json",
        "iperf3_udp.json",
        "flent_rrul.flent.gz",
        "flent_irtt.flent.gz",
    )
} | {
    "qdelay": {"results": [{"ts-us": 1000 * i, "delay-us": 32 * i, "drop": 0} for i in range(4)]},
    "flent 1": {
        "metadata": {"NAME": "rrul", "T0": "2014-01-01T00:00:00", "TITLE": "rate:1Mbit"},
        "x_values": [0.0, 0.2],
        "results": {"TCP upload": [1.0, None], "Ping (ms) ICMP": [2.0, 3.0]},
    },
}
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=4,
)


def told(text: str, format: str | None) -> str:
    """Read a text, and return the sentence that refuses it, "" if it is read."""
    try:
        data = pf.measured.read(text, format=format)
    except (QuantityError, DomainError, ScenarioError, UnsupportedError) as error:
        sentence = str(error)
        assert "\n" not in sentence
        assert sentence.endswith(".")
        assert len(sentence) < 600
        return sentence
    json.loads(data.attrs["about"])
    assert all(line.endswith(".") for line in data.attrs["warnings"].splitlines())
    return ""


damage = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


@pytest.mark.slow
@pytest.mark.parametrize("name", TEXTS)
@damage
@given(data=st.data())
def test_damaged_text(name: str, data: st.DataObject) -> None:
    text = TEXTS[name]
    start = data.draw(st.integers(0, len(text) - 1))
    kind = data.draw(st.sampled_from(["cut", "begin", "put", "swap"]))
    if kind == "cut":
        text = text[:start]
    elif kind == "begin":
        text = text[start:]
    elif kind == "put":
        put = data.draw(
            st.text(max_size=8) | st.sampled_from(["9" * 30, "-", "1e999", "\n", "nan", "."])
        )
        text = text[:start] + put + text[start + data.draw(st.integers(0, 8)) :]
    else:
        lines = text.splitlines(keepends=True)
        text = "".join(data.draw(st.permutations(lines[:20])))
    told(text, None)


@pytest.mark.slow
@pytest.mark.parametrize("name", TREES)
@damage
@given(data=st.data())
def test_damaged_json(name: str, data: st.DataObject) -> None:
    tree = json.loads(json.dumps(TREES[name]))
    place = tree
    for _ in range(data.draw(st.integers(0, 6))):
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            break
        key = data.draw(st.sampled_from(keys))
        if not isinstance(place[key], dict | list) or not place[key]:
            break
        place = place[key]
    keys = list(place) if isinstance(place, dict) else list(range(len(place)))
    if keys:
        key = data.draw(st.sampled_from(keys))
        if data.draw(st.booleans()):
            place[key] = data.draw(ANYTHING)
        else:
            del place[key]
    told(json.dumps(tree), None)


@pytest.mark.slow
@pytest.mark.parametrize("name", TREES)
def test_cut_json_is_said_to_be_cut(name: str) -> None:
    text = json.dumps(TREES[name])
    for part in (0.5, 0.9, 0.99):
        sentence = told(text[: int(part * len(text))], None)
        assert "is cut or damaged and is no whole JSON: copy or measure it again" in sentence, part


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
def test_every_format_refuses_what_is_none_of_it(format: str) -> None:
    for text in ("one two three\n", "[]", "{}", "\n1\n0\n", '{"results": 5}', "a,b\n1,2\n"):
        assert told(text, format), text
