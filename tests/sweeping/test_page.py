"""docs/scale.md: its Python runs as shown, one block after the other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import pi2_fluid as pf
from pi2_fluid.records.paths import replace_path

PAGE = (Path(__file__).parents[2] / "docs/scale.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.slow
def test_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    pytest.importorskip("zarr")
    pytest.importorskip("distributed")
    named = pf.named_scenario
    monkeypatch.setattr(pf, "named_scenario", lambda name: replace_path(named(name), "duration", 7))
    monkeypatch.chdir(tmp_path)
    given: dict[str, Any] = {"__name__": "page"}  # what begins clusters asks for "__main__"
    shown = []
    for code in BLOCKS:
        exec(compile(code, "scale.md", "exec"), given)
        shown.append(capsys.readouterr().out)
    loop = pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=0.1, update="sampled")
    assert float(shown[0]) == loop.margins().gain_margin_db
    assert given["runs"].delay_mean.dims == ("link.capacity", "aqm.target", "seed")
    assert (given["runs"].error == "").all()
    assert shown[2].strip() == "['' '']"
    assert any("__main__" in code for code in BLOCKS)
