"""The RED that runs by what tc shows: in packets, with its words for marks and drops."""

from __future__ import annotations

import pytest

from pi2_fluid.errors import DomainError, QuantityError
from pi2_fluid.measured.queue_said import queue_of_text
from pi2_fluid.tc.red import red_as_run

SHOWN = {"min": "12500b", "max": "62500b", "ewma": "2", "probability": "0.1"}
LINE = "qdisc red 8001: root refcnt 2 limit 1500000b min 12500b max 62500b "
DETAILS = "ewma 2 probability 0.1 Scell_log 12\n"


@pytest.mark.parametrize(
    "words", [(), ("ecn",), ("ecn", "harddrop"), ("ecn", "nodrop"), ("adaptive",), ("adaptative",)]
)
def test_each_word_has_its_field(words: tuple[str, ...]) -> None:
    law = red_as_run(SHOWN | dict.fromkeys(words, True))
    said = [name for name in ("ecn", "harddrop", "nodrop") if getattr(law, name)]
    assert said == [word for word in words if not word.startswith("adapt")]
    assert law.adaptive == any(word.startswith("adapt") for word in words)
    assert (law.min, law.max) == (12500 / 1500, 62500 / 1500)
    assert (law.weight, law.max_p, law.arithmetic) == (0.25, 0.1, "fixed")


def test_words_that_json_has_as_false_are_not_said() -> None:
    law = red_as_run({"min": 12500, "max": 62500, "ecn": False, "ewma": 2, "probability": 0.1})
    assert not law.ecn
    assert law.max == 62500 / 1500


def test_packets_of_another_size_are_fewer() -> None:
    assert red_as_run(SHOWN, 9000.0).max == 62500 / 9000


@pytest.mark.parametrize(
    ("other", "error", "says"),
    [
        ({"ewma": None}, QuantityError, "ewma of red is not shown"),
        ({"min": "many"}, QuantityError, "min of red"),
        ({"max": "1b"}, DomainError, "below min"),
    ],
)
def test_what_cannot_be_read_is_said(other: dict, error: type[Exception], says: str) -> None:
    shown = {word: value for word, value in (SHOWN | other).items() if value is not None}
    with pytest.raises(error, match=says):
        red_as_run(shown)


def test_a_measurement_names_its_red() -> None:
    said = queue_of_text(LINE + "ecn nodrop " + DETAILS)
    assert said is not None
    assert (said.kind, said.buffer, said.numbered) == ("red", 1000, True)
    assert said.aqm.ecn
    assert said.aqm.nodrop
    assert queue_of_text(LINE + "ecn\n") is None  # without -d
