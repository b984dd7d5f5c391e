"""The loops that bound the gains of a design, by both clocks."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pi2_fluid.design.by_acks import AckPlants
from pi2_fluid.design.plants import Plants, join

__all__ = ["Binding"]


@dataclass(frozen=True, eq=False)
class Binding:
    """Loops by rates, and single ones by acknowledgements; as one sequence, the former first."""

    rates: Plants
    acks: tuple[AckPlants, ...] = ()

    def __len__(self) -> int:
        return len(self.rates) + len(self.acks)

    def take(self, index: int) -> Plants | AckPlants:
        """Return one of them."""
        beyond = index - len(self.rates)
        return self.rates.take(index) if beyond < 0 else self.acks[beyond]

    def and_by_rates(self, plants: Plants) -> Binding:
        """Return these and some more."""
        return replace(self, rates=join(self.rates, plants))

    def and_by_acks(self, plants: tuple[AckPlants, ...]) -> Binding:
        """Return these and some more."""
        return replace(self, acks=self.acks + plants)
