"""One traffic with several queues: from words of the shell to scenarios."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pi2_fluid.apps.cli.queues import split_name
from pi2_fluid.apps.cli.scenarios import load_scenario
from pi2_fluid.apps.cli.wording import in_words_of_shell
from pi2_fluid.errors import QuantityError, show_value, suggest
from pi2_fluid.laws.registry import AQMS, PRESETS, make_aqm, sender_class

if TYPE_CHECKING:
    from pi2_fluid.laws.aqm import Aqm
    from pi2_fluid.network.scenario import Scenario

#: What makes a traffic without a file, by what Python calls it.
_OPTIONS: Final = {
    "count": "--flows",
    "capacity": "--rate",
    "base_rtt": "--path",
    "sender": "--sender",
    "duration": "--duration",
}
_USUAL: Final = {"sender": "cubic", "duration": "60s"}
_FLAGS: Final[dict[str, Any]] = {"true": True, "false": False}
#: Over which part of the run flows start, and how long at most (s): not in step with each other.
_START: Final = 0.05
_LONGEST_START: Final = 1.0


class OneTraffic(NamedTuple):
    """Scenarios that differ in their queues."""

    title: str
    scenarios: list[Scenario]
    labels: list[str]
    """What the queues are called."""
    note: str = ""
    """What was changed of the scenario; "" if nothing was."""


def read_traffic(
    files: Sequence[str], aqm: Sequence[str], options: Mapping[str, str | None], *, kernel: bool
) -> OneTraffic:
    """Return what files and options mean: several files, or one traffic under each of some queues.

    Parameters
    ----------
    files : sequence of str
        Scenarios as the shell names them.
    aqm : sequence of str
        Lists of queues, with commas between.
    options : mapping
        Options that describe a traffic without a file, by the names of `_OPTIONS`; None: not given.
    kernel : bool
        Whether only a kernel runs it.

    Raises
    ------
    QuantityError, DomainError, ScenarioError, UnsupportedError, OSError
        If they are not as they should be, or contradict each other.
    """
    described = {key: value for key, value in options.items() if value is not None}
    if files and described:
        option = _OPTIONS[next(iter(described))]
        raise QuantityError(f"{option} has no meaning beside a scenario: leave out one of both.")
    if len(files) > 1:
        if aqm:
            raise QuantityError(
                "--aqm puts queues into one scenario, and here are"
                f" {len(files)}: give one of them, or leave out --aqm."
            )
        return _of_files(files)
    queues = read_queues(aqm)
    base, title = load_scenario(files[0]) if files else _without_file(described, queues)
    _ = base.aqm  # says so of a network, which has several
    note = ""
    if base.link.kind == "wire" and (kernel or any(law.only_in for law in queues.values())):
        base = dataclasses.replace(base, link=dataclasses.replace(base.link, kind="htb"))
        note = "The link is a token bucket (htb) for all of them: the kernel has no other."
    scenarios = [dataclasses.replace(base, aqm=law) for law in queues.values()]
    return OneTraffic(title, scenarios, list(queues), note)


def _of_files(files: Sequence[str]) -> OneTraffic:
    loaded = [load_scenario(file)[0] for file in files]
    for names in (
        [scenario.name for scenario in loaded],
        [Path(file).stem for file in files],
        list(files),
    ):
        if all(names) and len(set(names)) == len(names):
            return OneTraffic(f"{len(files)} queues under one traffic", loaded, list(names))
    raise QuantityError(
        f"{max(files, key=list(files).count)} is given twice, whose results would be the same: give"
        " each once."
    )


def read_queues(texts: Sequence[str]) -> dict[str, Aqm]:
    """Return the queues of lists with commas between, by what they are called there.

    Parameters
    ----------
    texts : sequence of str
        Each a kind, a preset, or a qdisc of the kernel; behind a colon numbers of its own.

    Raises
    ------
    QuantityError, DomainError, ScenarioError
        If a queue or a number is unknown, or a queue is given twice.

    Examples
    --------
    >>> queues = read_queues(["pie:target=20ms,alpha=0.2,pi2", "cake:rtt=50ms"])
    >>> queues["pie:target=20ms,alpha=0.2"].alpha, list(queues)[1:]
    (0.2, ['pi2', 'cake:rtt=50ms'])

    What all of a kind have alike is not said of each:

    >>> list(read_queues(["codel:target=5ms,interval=80ms", "codel:target=9ms,interval=80ms"]))
    ['codel:target=5ms', 'codel:target=9ms']
    """
    words: list[str] = []
    for text in texts:
        for part in (part.strip() for part in text.split(",")):
            # A number behind a comma belongs to the queue before it.
            if "=" in part and ":" not in part and words:
                words[-1] += f",{part}"
            elif part:
                words.append(part)
    for word in words:
        if words.count(word) > 1:
            raise QuantityError(f"--aqm has {word} twice: give each once.")
    if len(words) < 2:
        raise QuantityError(
            f"--aqm {show_value(','.join(words))} leaves nothing to compare: give two queues or"
            " more, as pie,dualpi2,fq_codel."
        )
    return dict(zip(_short(words), map(_read_queue, words), strict=True))


def _short(words: Sequence[str]) -> list[str]:
    """Return what to call queues: without the numbers that several of a kind have alike."""
    parts = [
        (name, behind.split(",")) for name, _, behind in (word.partition(":") for word in words)
    ]
    labels = []
    for name, numbers in parts:
        alike = [set(others) for other, others in parts if other == name]
        shared = set.intersection(*alike) if len(alike) > 1 else set()
        own = ",".join(number for number in numbers if number not in shared)
        labels.append(f"{name}:{own}" if own else name)
    return labels


def _read_queue(word: str) -> Aqm:
    from pi2_fluid.laws.aqms.qdisc import Qdisc
    from pi2_fluid.laws.kernel.qdiscs import QDISCS

    name, texts = split_name(word)
    numbers = {key: _FLAGS.get(text, text) for key, text in texts.items()}
    if name in AQMS or name in PRESETS:
        return make_aqm(name, numbers)
    if name in QDISCS:
        return Qdisc(name, **numbers)
    known = [*AQMS, *PRESETS, *(kind for kind in QDISCS if kind not in AQMS)]
    raise QuantityError(f"--aqm {show_value(name)} is unknown: give {suggest(name, known)}.")


def _without_file(described: Mapping[str, str], queues: Mapping[str, Aqm]) -> tuple[Scenario, str]:
    """Return a scenario of equal flows, and what it is."""
    from pi2_fluid.network.flows import Flows
    from pi2_fluid.network.link import Link
    from pi2_fluid.network.scenario import Scenario
    from pi2_fluid.units import rate_in_words, validate_quantity

    needed = [name for name in ("count", "capacity", "base_rtt") if name not in described]
    if needed:
        options = " and ".join(_OPTIONS[name] for name in needed)
        raise QuantityError(
            f"{options} missing: give a scenario, or a traffic, as --flows 4 --rate 20Mbit/s --path"
            " 40ms."
        )
    told: dict[str, Any] = {**_USUAL, **described}
    with in_words_of_shell(_OPTIONS):
        sender = sender_class(told["sender"])()
        length = validate_quantity(told["duration"], "time", "duration")
        spread = min(_LONGEST_START, _START * float(length))
        flows = Flows(sender, told["count"], told["base_rtt"], start_jitter=spread)
        first = next(iter(queues.values()))
        scenario = Scenario(length, Link(told["capacity"]), first, flows)
    count = float(flows.count)
    rate, path = rate_in_words(float(scenario.link.capacity)), 1e3 * float(flows.base_rtt or 0.0)
    title = f"{count:g} {told['sender']} flow{'s' * (count != 1.0)} on {rate} over {path:.4g} ms"
    return scenario, title
