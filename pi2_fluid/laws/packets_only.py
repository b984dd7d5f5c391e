"""Queues that are described packet by packet and have no equations of a fluid."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from typing import Any, Final, NoReturn

from pi2_fluid.errors import UnsupportedError
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.records.record import OptionalParameter

_NONE: Final[Any] = dataclasses.field(default=None, init=False, repr=False)


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class PacketsOnly(Aqm):
    """A queue that refuses all that a fluid or a loop would ask of it."""

    update_interval: OptionalParameter = _NONE

    @abstractmethod
    def without_fluid(self) -> UnsupportedError:
        """Return what is raised: why it has no fluid form, and what runs it."""

    def _refuse(self, *args: object, **kwargs: object) -> NoReturn:
        """Refuse: a packet-level law."""
        raise self.without_fluid()

    # Engines begin with `initial`, operating points with `at_rest` or `decode`.
    initial = _refuse
    update = _refuse
    encode = _refuse
    saturate = _refuse
    controller = _refuse
    signals = _refuse
    drift = _refuse
    flow = _refuse
    at_rest = _refuse
    load_at = _refuse
    at_rest_alone = _refuse
    decode = _refuse
    delays = _refuse
    serve = _refuse
