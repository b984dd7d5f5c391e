"""The block diagrams of the PI2 paper: the blocks that are drawn make the loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.text import Text

import pi2_fluid as pf
from pi2_fluid.papers.pi2 import diagrams

LAWS = {
    "Pi": pf.Pi(alpha=0.125, beta=1.25),
    "Pie": pf.Pie(alpha=0.125, beta=1.25, update_interval="32ms", variant="rfc8033"),
    "Pi2": pf.Pi2(alpha=0.3125, beta=3.125),
    "CoupledPi2": pf.CoupledPi2(alpha=0.3125, beta=3.125, k=2),
}
SENDERS = {"reno": pf.Reno(), "scalable": pf.Scalable()}


@pytest.mark.parametrize("row", diagrams.loops(), ids=lambda row: f"{row['sender']}-{row['queue']}")
def test_the_blocks_multiplied_are_the_loop(row: Any) -> None:
    s = 1j * np.geomspace(0.1, 60.0, 25)
    blocks = [diagrams.BLOCKS[name] for name in ("controller", "queue", row["sender"])]
    product = np.prod([block.response(row, s) for block in blocks], axis=0)
    loop = pf.Loop(SENDERS[row["sender"]], LAWS[row["queue"]], rtt="100ms", p=row["p"])
    np.testing.assert_allclose(product, np.asarray(loop(s)), rtol=1e-10)


def test_every_loop_of_a_chart_is_at_the_same_p_prime() -> None:
    rows = diagrams.loops()
    # PI and PIE control p itself.
    assert [row["controller"] for row in rows] == pytest.approx([0.01, 0.01, 0.1, 0.1, 0.1])
    assert [row["p"] for row in rows] == pytest.approx([0.01, 0.01, 0.01, 0.01, 0.2])
    assert [row["tune"] for row in rows] == [1.0, 0.5, 1.0, 1.0, 1.0]


@pytest.mark.slow
def test_the_terms_are_written_in_the_blocks() -> None:
    made = pf.figure("pi2", "diagrams", settings={"rtt": "50ms"})
    said = [text.get_text() for text in made.draw().findobj(Text)]
    for row in diagrams.loops(rtt=0.05):
        pole = "s_R" if row["sender"] == "reno" else "s_S"
        assert rf"$\kappa$ = {row['kappa']:.3g}, ${pole}$ = {row['pole_rad_s']:.3g}" in said
        z = row["z_a_rad_s"]
        assert rf"$\kappa_A$ = {row['kappa_a_hz']:.3g}, $z_A$ = {z:.3g}" in said
        assert any(f"α = {row['alpha_hz']:g}, β = {row['beta_hz']:g}" in text for text in said)
    for block in diagrams.BLOCKS.values():
        assert block.formula in said
    assert "$p = p'^2$" in said
    assert "$p_c = p'^2 = (p_s/k)^2$" in said
