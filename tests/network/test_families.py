"""The families of the package, held against what was measured and what their page says of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

import pi2_fluid as pf

PAGE = (Path(__file__).parents[2] / "docs/traffic.md").read_text(encoding="utf-8")
#: The rows of the page's table of families: the word, and its other columns.
ROWS = dict(re.findall(r"^\| `(\w+)` \|(.*)\|$", PAGE, re.MULTILINE))
#: Bytes that a full packet carries, behind the headers of IP and TCP with timestamps.
PAYLOAD = 1448

words = pytest.mark.parametrize("word", pf.traffic_names())


def transfers(word: str, name: str) -> list[pf.Transfers]:
    """The classes of transfers in a family whose names begin so."""
    flows = (flow for cell in pf.Traffic(word).cells for flow in cell.scenario.flows)
    return [f for f in flows if isinstance(f, pf.Transfers) and (f.name or "").startswith(name)]


@words
class TestPage:
    def test_has_the_numbers_of_each_family(self, word: str) -> None:
        family = pf.Traffic(word)
        cells = family.cells
        _, number, rates, long, windows, rtts, _ = ROWS[word].split("|")
        assert int(number) == len(cells)
        assert span(rates) == ends(float(c.scenario.link.capacity) / 1e6 for c in cells)
        assert span(long) == ends(n for c in cells for n in c.long_flows)
        assert span(windows) == ends(round(w) for c in cells for w in c.windows or ())
        assert span(rtts) == ends(round(1e3 * r) for r in (family.shortest_rtt, family.longest_rtt))

    def test_knows_the_cell_that_is_least_sure(self, word: str) -> None:
        least = ROWS[word].split("|")[-1]
        names = {cell.name for cell in pf.Traffic(word).cells}
        assert set(re.findall(r"`(\w+)`", least)) <= names


def test_the_page_shows_a_family_that_lacks_nothing() -> None:
    (text,) = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert pf.Traffic.from_toml(text).caveats == ()


def span(text: str) -> tuple[float, float]:
    low, _, high = text.strip().partition("-")
    return float(low), float(high or low)


def ends(numbers: Iterable[float]) -> tuple[float, float]:
    values = [float(value) for value in numbers]
    return min(values), max(values)


class TestMeasured:
    @pytest.mark.parametrize("word", ["home", "pages", "wifi", "far"])
    def test_pages_have_the_weight_of_the_median(self, word: str) -> None:
        pages = transfers(word, "page_at")
        assert pages
        for page in pages:
            assert page.size is not None
            weight = float(page.count) * page.size.mean * PAYLOAD
            # Web Almanac 2024: 2652 KB; connections have whole segments.
            assert weight == pytest.approx(2652 * 1024, rel=0.005)

    @pytest.mark.parametrize(("packets", "more"), [(100, 2.6522), (1000, 0.5456), (10_000, 0.1078)])
    def test_short_flows_fall_off_as_those_of_a_campus(self, packets: int, more: float) -> None:
        # Jurkiewicz et al.: per cent of flows with more packets, of the 13.4914 with more than 10.
        size = transfers("office", "short")[0].size
        assert isinstance(size, pf.Pareto)
        uncapped = pf.Pareto(size.shape, size.scale)
        assert 1 - float(uncapped.cdf(packets)) == pytest.approx(more / 13.4914, rel=0.03)

    def test_short_flows_have_their_share_of_a_campus(self) -> None:
        # The same: 22.9 % of the bytes are in flows of up to 10,000 packets, the size's cap.
        for cell in pf.Traffic("office").cells:
            for flow in cell.scenario.flows:
                if isinstance(flow, pf.Transfers) and flow.name == "short":
                    assert flow.size is not None
                    assert flow.arrivals is not None
                    offered = float(flow.arrivals * flow.size.mean) * 12_000
                    share = offered / float(cell.scenario.link.capacity)
                    assert share == pytest.approx(0.23, abs=0.01)

    def test_films_come_in_the_bursts_that_were_seen(self) -> None:
        for film in (
            *transfers("home", "films"),
            *transfers("wifi", "film"),
            *transfers("far", "film"),
        ):
            assert film.size is not None
            assert 1e6 <= film.size.mean * PAYLOAD <= 2.1e6  # Ghobadi et al.: 1 to 2 MB
