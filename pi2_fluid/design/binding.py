"""The loops that bound the gains of a design, by both clocks."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pi2_fluid.design.linear_plants import LinearPlants, SomePlants, join
from pi2_fluid.design.plants import Plants


@dataclass(frozen=True, eq=False)
class Binding:
    """Loops by rates, and single ones by acknowledgements; as one sequence, the former first."""

    rates: SomePlants
    acks: tuple[LinearPlants, ...] = ()

    def __len__(self) -> int:
        return len(self.rates) + len(self.acks)

    def take(self, index: int) -> Plants | LinearPlants:
        """Return one of them."""
        beyond = index - len(self.rates)
        return self.rates.take(index) if beyond < 0 else self.acks[beyond]

    def and_by_rates(self, plants: SomePlants) -> Binding:
        """Return these and some more."""
        return replace(self, rates=join([self.rates, plants]))

    def and_by_acks(self, plants: tuple[LinearPlants, ...]) -> Binding:
        """Return these and some more."""
        return replace(self, acks=self.acks + plants)
