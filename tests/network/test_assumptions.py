"""Warnings of assumptions: in whose name, and in which thread they are left out."""

from __future__ import annotations

import threading
import warnings
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from pi2_fluid.errors import AssumptionWarning, quietly
from pi2_fluid.network.assumptions import warn_of


def test_quiet_is_one_thread_alone() -> None:
    begun, said = threading.Event(), threading.Event()

    def work() -> None:
        with quietly():
            begun.set()
            assert said.wait(10.0)
            warn_of("not heard")

    def say(future: Future[None]) -> None:
        warn_of("of another thread")
        said.set()
        future.result()

    usual = warnings.filters[:]
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(work)
        assert begun.wait(10.0)
        with pytest.warns(AssumptionWarning) as heard:
            say(future)
    assert [str(one.message) for one in heard] == ["of another thread"]
    assert warnings.filters == usual


def test_quiet_ends_with_its_block() -> None:
    def say() -> None:
        with quietly():
            with quietly():
                warn_of("not heard")
            warn_of("not heard, either")
            warn_of("no assumption", RuntimeWarning)
        warn_of("afterwards")

    with pytest.warns() as heard:
        say()
    assert [str(one.message) for one in heard] == ["no assumption", "afterwards"]
    assert {one.filename for one in heard} == {__file__}
