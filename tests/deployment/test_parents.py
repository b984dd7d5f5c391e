"""Which queue stands below which: one rule for `check` and `watch`."""

from __future__ import annotations

from itertools import permutations

from pi2_fluid.deployment.parents import children_of
from pi2_fluid.deployment.watching.tree import above_of, ordered
from pi2_fluid.tc.observing.following import Shown


def test_children_of_default_queues_are_none_of_each_other() -> None:
    """All handles of a device's default tree are 0: only mq can stand above others by it."""
    mq = Shown(kind="mq", handle="0:", parent="root")
    pies = [Shown(kind="pie", handle="0:", parent=f":{n}") for n in (1, 2)]
    for shown in permutations([mq, *pies]):
        assert above_of(mq, shown) is None
        assert all(above_of(pie, shown) is mq for pie in pies)


def test_a_circle_of_parents_ends() -> None:
    circle = [
        Shown(kind="prio", handle="1:", parent="2:1"),
        Shown(kind="prio", handle="2:", parent="1:1"),
    ]
    assert ordered(circle) == [(0, circle[0]), (1, circle[1])]


def test_children_come_in_order_and_nothing_is_its_own_child() -> None:
    top, first, second = "top", "first", "second"
    children = children_of([first, top, second], lambda _: top)
    assert children == {id(top): [first, second]}
