"""The Dataset of a replay: columns along one dim, and whose they are."""

from __future__ import annotations

import xarray as xr

from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.results import Column, make_dataset


def replay_dataset(variables: dict[str, Column], law: Aqm) -> xr.Dataset:
    """Return what a law answered."""
    return make_dataset(variables, {}, {"engine": "replay", "law": repr(law)})
