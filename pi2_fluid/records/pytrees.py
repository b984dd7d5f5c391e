"""Records and counts are JAX pytrees whether JAX is imported before them, after them, or never.

JAX is slow to import and is not everywhere, so nothing here imports it: what is to be a pytree
waits until somebody does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

_Pytree = tuple[type, Callable[[Any], Any], Callable[[Any, Any], Any]]

_waiting: list[_Pytree] = []


def register_pytree(
    cls: type, flatten: Callable[[Any], Any], unflatten: Callable[[Any, Any], Any]
) -> None:
    """Register a class as `jax.tree_util.register_pytree_with_keys` does, now or with JAX."""
    _waiting.append((cls, flatten, unflatten))
    if sys.modules.get("jax") is not None:
        _register_waiting()


def _register_waiting() -> None:
    from jax.tree_util import register_pytree_with_keys

    while _waiting:
        register_pytree_with_keys(*_waiting.pop())


class _JaxFinder:
    """Finds JAX as the other finders do, and has it know the classes once it is loaded.

    A user may make a record, import JAX in the next cell, and hand the record to `jax.grad`: no
    code of this package runs in between.
    """

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> Any:
        """Return JAX's module spec with a step added to its loading; None for other modules."""
        if name != "jax":
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        found = (finder.find_spec(name, path, target) for finder in others)
        spec = next((spec for spec in found if spec is not None), None)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_register(module: ModuleType) -> None:
                load(module)
                _register_waiting()

            spec.loader.exec_module = load_and_register  # type: ignore[method-assign]
        return spec


if "jax" not in sys.modules:
    sys.meta_path.insert(0, _JaxFinder())
