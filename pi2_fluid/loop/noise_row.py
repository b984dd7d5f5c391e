"""An array of linear loops as a row, and where the noise of signals goes in each.

The equations are those of `pi2_fluid.loop.spread`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from pi2_fluid.loop.acks import AckLoop, class_delays
from pi2_fluid.loop.response import (
    class_responses,
    controller_order,
    controller_polynomials,
    held_polynomials,
    leading_coefficient,
)
from pi2_fluid.loop.sampled import alias_sum
from pi2_fluid.loop.state_space import LinearController, LinearLoop, told_once

if TYPE_CHECKING:
    from pi2_fluid.values import ComplexArray, FloatArray, IntArray

#: rad per shortest round-trip time, up to which images are summed: |G|^2 has fallen by 1e4 there.
FAR: Final = 100.0
FEWEST: Final = 6  # pairs of images
MOST: Final = 200
#: Over a loop's reach: between these its echoes fade out, which only flows of the very same
#: round-trip time would have.
_FADE: Final = (0.6, 1.1)


class Row:
    """An array of loops as a row, and what of it no gain changes."""

    def __init__(
        self,
        loop: LinearLoop | AckLoop,
        update: str,
        density: Sequence[FloatArray],
        window: float,
        together: FloatArray | None = None,
    ) -> None:
        self.size = math.prod(loop.shape)
        self.window = window
        self.half_sample = update == "delayed"
        all_of_it = [*density] if together is None else [*density, together]
        noises = [np.broadcast_to(one, loop.shape).ravel() for one in all_of_it]
        self.noise, self.together = np.array(noises) / np.pi, together is not None
        plants = told_once(loop)
        places = np.argwhere(np.ones(plants.shape)).T
        self.plants = replace(plants.element(tuple(places)), shape=(places.shape[1],))
        numbers = np.arange(places.shape[1]).reshape(plants.shape)
        self.plant = np.broadcast_to(numbers, loop.shape).ravel()
        self.controller, self.shape = loop.controller, loop.shape
        self.places = np.argwhere(np.ones(loop.shape))
        self.longest = np.max([np.atleast_1d(cls.rtt) for cls in self.plants.classes], axis=0)

    def of(self, chosen: IntArray) -> tuple[IntArray, LinearController, FloatArray]:
        """Return the numbers of the plants of chosen loops, their controllers and noise."""
        controller = self.controller.element(self.shape, tuple(self.places[chosen].T))
        return self.plant[chosen], controller, self.noise[:, None, chosen]

    def flowing(self, x: FloatArray, chosen: IntArray) -> tuple[FloatArray, ComplexArray]:
        """The terms where the variable moves all the time, late by T/2 or not; w = e^x."""
        plant, controller, noise = self.of(chosen)
        w = np.exp(x)[:, None]
        s = 1j * w
        each = self.responses(s)[..., plant]
        numerator, denominator = controller_polynomials(controller, s)
        law = numerator / denominator
        if self.half_sample:
            law = law * np.exp(-s * controller.interval / 2)
        back = 1.0 + law * each.sum(axis=0)
        driven = noise * np.abs(self.heard(each) / back) ** 2 * w
        variable = np.sum(driven, axis=0) * np.abs(law) ** 2
        unit = (s + 1.0 / self.longest[plant]) ** controller_order(controller)
        curve = denominator / (leading_coefficient(controller) * unit) * back
        return np.concatenate([driven * self.seen(w), variable[None]]), curve

    def sampled(self, x: FloatArray, chosen: IntArray) -> tuple[FloatArray, ComplexArray]:
        """The terms where it is held from update to update; w = (2/T) arctan e^x."""
        T = self.plants.controller.interval
        plant, controller, noise = self.of(chosen)
        x = x[:, None]
        s = 2j / T * np.arctan(np.exp(x))
        each, images, total = self.images(s, self.pairs)
        seen = self.seen(np.asarray(images.imag, dtype=float))
        over = each.sum(axis=0) / (images * T)
        sizes = np.abs(self.heard(each)) ** 2
        A, B = sizes.sum(axis=1)[..., plant], (sizes * seen).sum(axis=1)[..., plant]
        C = (sizes * seen * over.conj()).sum(axis=1)[..., plant]
        E = (np.abs(over) ** 2 * seen).sum(axis=0)[..., plant]
        s = s[:, plant]
        numerator, denominator = held_polynomials(controller, s)
        law = numerator / denominator
        held = -np.expm1(-s * controller.interval) * law
        back = 1.0 + held * total[..., plant]
        Q = held / back
        slope = 1.0 / (controller.interval * np.cosh(x))
        driven = noise * slope * (B - 2.0 * (Q.conj() * C).real + A * (E * np.abs(Q) ** 2))
        variable = np.sum(noise * A, axis=0) * slope * np.abs(law / back) ** 2
        return np.concatenate([driven, variable[None]]), denominator * back

    def held_at(self, w: float, chosen: IntArray) -> FloatArray:
        """The density of the delay at one frequency, whichever image it is: classes, loops."""
        T = float(np.max(self.plants.controller.interval))
        plant, controller, noise = self.of(chosen)
        place = round(w * T / (2.0 * np.pi))
        base = w - 2.0 * np.pi * place / T
        s = np.full((1, 1), 1j * (abs(base) or 1e-9 / T))
        at = place if base >= 0.0 else -place  # the mirror image of what is below 0
        pairs = max(self.pairs, abs(at))
        each, images, total = self.images(s, pairs)
        over = (each.sum(axis=0) / (images * T))[pairs + at]
        each = self.heard(each)
        A = (np.abs(each) ** 2).sum(axis=1)[..., plant]
        own = each[:, pairs + at][..., plant]
        s = s[:, plant * 0]
        numerator, denominator = held_polynomials(controller, s)
        held = -np.expm1(-s * controller.interval) * numerator / denominator
        back = held / (1.0 + held * total[..., plant]) * over[..., plant]
        found = np.abs(own) ** 2 * (1.0 - 2.0 * back.real) + A * np.abs(back) ** 2
        result: FloatArray = (noise * found)[:, 0]
        return result

    def heard(self, each: ComplexArray) -> ComplexArray:
        """Return each class's response and, last, that of all to what all hear together."""
        if not self.together:
            return each
        return np.concatenate([each, each.sum(axis=0, keepdims=True)])

    @property
    def pairs(self) -> int:
        """How many images on either side are summed."""
        shortest = float(np.min([cls.rtt for cls in self.plants.classes]))
        interval = float(np.max(self.plants.controller.interval))
        turns = math.ceil(FAR / shortest * interval / (2.0 * np.pi))
        return min(max(turns, FEWEST), MOST)

    def images(
        self, s: ComplexArray, pairs: int
    ) -> tuple[ComplexArray, ComplexArray, ComplexArray]:
        """Each class's response at s and its images, these, and the sum that L has of them."""
        plants = self.plants
        T = plants.controller.interval
        images = s + 2j * np.pi * np.arange(-pairs, pairs + 1)[:, None, None] / T
        total = alias_sum(plants, s, None)
        if isinstance(plants, AckLoop) and plants.dual:
            each, own = np.array(class_delays(plants, images, echoes=False)), self.responses(s)
            total = total + (own - np.array(class_delays(plants, s))).sum(axis=0) / (s * T)
            each[:, pairs] = own
        else:
            each = np.array(class_responses(plants, images))
        return each, images, total

    def responses(self, s: ComplexArray) -> ComplexArray:
        """Return `class_responses`, whose echoes fade out where the loop ends."""
        plants = self.plants
        found = np.array(class_responses(plants, s))
        if not (isinstance(plants, AckLoop) and plants.dual):
            return found
        low, high = _FADE
        x = np.clip((s.imag / plants.reach - low) / (high - low), 1e-2, 1.0 - 1e-2)
        kept = 1.0 / (1.0 + np.exp(1.0 / (1.0 - x) - 1.0 / x))
        without = np.array(class_delays(plants, s, echoes=False))
        result: ComplexArray = kept * found + (1.0 - kept) * without
        return result

    def seen(self, w: FloatArray) -> FloatArray:
        """What bins leave of the power at w."""
        result: FloatArray = np.sinc(w * self.window / (2.0 * np.pi)) ** 2
        return result
