"""What a loop says where an attribute is missing inside, and where a law gives text."""

from dataclasses import dataclass

import pytest

import pi2_fluid as pf


def test_a_property_that_fails_says_itself_what_it_has_not_found(monkeypatch) -> None:
    """Python asks `__getattr__` then, which knew the property, and called it unknown."""
    loop = pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=0.1)
    fails = property(lambda self: pf.Pi2().no_such_number)
    monkeypatch.setattr(type(loop), "_search", fails)
    with pytest.raises(AttributeError, match="'Pi2' object has no attribute 'no_such_number'"):
        loop.nyquist_count()
    with pytest.raises(AttributeError, match=r"Loop has no '_nothing'"):
        loop._nothing  # noqa: B018
    with pytest.raises(AttributeError, match="has no 'margin': give 'disk_margin'"):
        loop.margin  # noqa: B018


@dataclass(frozen=True, eq=False, kw_only=True)
class TextByUpdate(pf.Aqm):
    update_interval: float = 0.016

    def initial(self):
        return (0.0,)

    def update(self, state, seen, dt):
        return ("a",)

    def encode(self, u):
        return pf.Signal(u, u)


@dataclass(frozen=True, eq=False, kw_only=True)
class TextByEncode(TextByUpdate):
    def update(self, state, seen, dt):
        return (state[0] + 0.1 * (seen.queue_delay - 0.02),)

    def encode(self, u):
        return pf.Signal("x", u)


@dataclass(frozen=True, eq=False, kw_only=True)
class TextByRate(pf.Sender):
    signal = "classic"

    def rate(self, *args):
        return "text"


@pytest.mark.parametrize(
    ("sender", "queue", "said"),
    [
        (pf.Reno(), TextByUpdate(), r"TextByUpdate.update gives .*'a'.* text: return"),
        (pf.Reno(), TextByEncode(), r"TextByEncode.encode gives no numbers: .*'x'"),
        (TextByRate(), pf.Pi2(), r"TextByRate.rate gives no numbers: .*'text', which is text"),
    ],
)
def test_a_law_that_gives_text_is_refused_in_a_sentence(sender, queue, said) -> None:
    with pytest.raises(pf.QuantityError, match=said):
        pf.Loop(sender, queue, rtt="100ms", p=0.1)
    flows = pf.Flows(sender, 4, "40ms")
    scenario = pf.Scenario("1s", pf.Link("10Mbit/s"), queue, flows)
    with pytest.raises(pf.QuantityError, match=r"gives no numbers: .* which is text"):
        pf.fluid.simulate(scenario)
