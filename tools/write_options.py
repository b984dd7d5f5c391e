"""Bring pi2_fluid/apps/cli/declared.py up to date with the laws: python tools/write_options.py.

The shell tells units, ranges and defaults of the laws' parameters in its help, which is to appear
before the classes of laws, and NumPy with them, could be loaded.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from dataclasses import Field, fields
from pathlib import Path
from typing import Any

from pi2_fluid.apps.cli.parameters import USUAL, kinds_with
from pi2_fluid.laws.registry import AQMS, SENDERS, aqm_class, sender_class
from pi2_fluid.saving import save_text
from pi2_fluid.units import si_unit

ROOT = Path(__file__).resolve().parents[1]
MODULE = ROOT / "pi2_fluid" / "apps" / "cli" / "declared.py"
HEAD = '''"""What laws that have a loop declare, in words: written by tools/write_options.py."""

from typing import Final

'''


def spoken(words: Iterable[str]) -> str:
    """Return words as a sentence lists them."""
    *first, last = dict.fromkeys(words)
    return f"{', '.join(first)} and {last}" if first else last


def parameters() -> dict[str, dict[str, str]]:
    """Return what there is to say of each parameter, by its name and then by place."""
    found: dict[str, dict[str, Field[Any]]] = {}
    for kind in kinds_with("loop", AQMS):
        cls = aqm_class(kind)
        for field in fields(cls):
            if field.init and field.name not in cls.packets_only:
                found.setdefault(field.name, {})[kind] = field
    return {name: described(by_kind) for name, by_kind in found.items()}


def described(by_kind: dict[str, Field[Any]]) -> dict[str, str]:
    """Return who has a parameter, and its unit, range or choices, and default."""
    places = {"only": spoken(by_kind)}
    rules = [field.metadata.get("quantity") for field in by_kind.values()]
    if all(rules):
        low = [(f"{rule['low']:g}", rule["closed"]) for rule in rules]
        places["unit"] = spoken(si_unit(rule["dimension"]) for rule in rules)
        places["range"] = spoken(f"{at} or more" if has else f"above {at}" for at, has in low)
    else:
        chosen = [option for field in by_kind.values() for option in field.metadata["choice"]]
        places["choices"] = ", ".join(dict.fromkeys(word(one) for one in chosen if one is not None))
    return places | {"default": default(by_kind)}


def default(by_kind: dict[str, Field[Any]]) -> str:
    """Return the default of the usual queue, or of the first, then those of others."""
    who: dict[str, list[str]] = {}
    for kind, field in by_kind.items():
        value = field.default
        if field.name == "table":  # None: that of the variant
            value = getattr(aqm_class(kind)(), "gain_table", None)
        who.setdefault(word(value), []).append(kind)
    usual = next((text for text, kinds in who.items() if USUAL in kinds), next(iter(who)))
    others = [f"for {spoken(kinds)} {text}" for text, kinds in who.items() if text != usual]
    return ", ".join([usual, *others])


def word(value: Any) -> str:
    """Return a value as a sentence has it."""
    if value is None:
        return "that of the law"
    return f"{value:g}" if isinstance(value, float) else str(value).lower()


def signals() -> dict[str, str]:
    """Return the senders of either kind."""
    kinds = kinds_with("loop", SENDERS)
    return {
        signal: spoken(kind for kind in kinds if sender_class(kind).signal == signal)
        for signal in ("classic", "scalable")
    }


def module() -> str:
    """Return the module of today."""
    text = (
        f"{HEAD}PARAMETERS: Final[dict[str, dict[str, str]]] = {parameters()!r}\n"
        f"SIGNALS: Final = {signals()!r}\n"
    )
    layout = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(MODULE), "-"]
    done = subprocess.run(layout, input=text, capture_output=True, text=True, check=True, cwd=ROOT)
    return done.stdout


if __name__ == "__main__":
    save_text(MODULE, module())
