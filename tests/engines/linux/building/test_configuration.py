"""What is asked of a kernel, and what it has."""

from __future__ import annotations

import pytest
from refusals import refused

from pi2_fluid.engines.linux.building.configuration import (
    FRAGMENT,
    NEEDED,
    congestion_controls_of,
    merged,
    options_of,
    qdiscs_of,
    require_options,
)
from pi2_fluid.errors import UnsupportedError

TEXT = FRAGMENT.read_text(encoding="utf-8")


def test_what_is_needed_is_asked_for() -> None:
    asked = options_of(TEXT)
    assert {name for name in NEEDED if asked.get(name) != "y"} == set()


def test_nothing_is_asked_for_twice() -> None:
    lines = [line for line in TEXT.splitlines() if options_of(line)]
    assert len(lines) == len(options_of(TEXT))


def test_qdiscs_and_congestion_controls_are_named_as_users_name_them() -> None:
    assert {"pie", "fq_pie", "dualpi2", "codel", "fq_codel", "fq", "cake", "red", "htb", "tbf"} < {
        *qdiscs_of(TEXT)
    }
    assert {"prio", "netem", "sfq", "ingress", "clsact", "pfifo", "bfifo"} < {*qdiscs_of(TEXT)}
    assert {"cubic", "reno", "dctcp", "bbr", "prague", "highspeed"} < {
        *congestion_controls_of(TEXT)
    }
    assert "advanced" not in congestion_controls_of(TEXT)


def test_the_last_word_is_the_fragments() -> None:
    base = "# top\nCONFIG_NET=y\nCONFIG_IPV6=m\n# CONFIG_VETH is not set\nCONFIG_HZ=100\n"
    said = "# CONFIG_IPV6 is not set\nCONFIG_VETH=y\n"
    found = options_of(merged(base, said))
    assert found == {"NET": "y", "HZ": "100", "IPV6": "n", "VETH": "y"}


def test_a_kernel_with_all_that_is_needed_is_taken() -> None:
    require_options(TEXT, "7.2.13")


@pytest.mark.parametrize(
    ("name", "purpose"),
    [("UML_TIME_TRAVEL_SUPPORT", "virtual time"), ("NET_SCH_DUALPI2", "DualPI2")],
)
@pytest.mark.parametrize("instead", ["", "# CONFIG_{} is not set", "CONFIG_{}=m"])
def test_a_kernel_without_it_is_refused(name, purpose, instead) -> None:
    text = TEXT.replace(f"CONFIG_{name}=y", instead.format(name))
    with refused(UnsupportedError, "7.2.13", f"CONFIG_{name}", purpose, "pi2-fluid linux build"):
        require_options(text, "7.2.13")
