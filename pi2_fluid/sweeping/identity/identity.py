"""`Identity`: what all answers of a sweep follow from, part by part, and how two differ."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from typing import Any, Final

from pi2_fluid.sweeping.identity.content import content_of
from pi2_fluid.sweeping.identity.origins import origin_of

_PYTHON: Final = f"{sys.version_info.major}.{sys.version_info.minor}"


def identity_of(parts: Mapping[str, object], version: str | None) -> dict[str, Any]:
    """Return what tells a sweep from others, which goes into JSON.

    Parameters
    ----------
    parts : mapping of str to object
        All that answers follow from, by the names of `sweep`'s arguments.
    version : str, optional
        What stands for all code of somebody's own.

    Returns
    -------
    dict
        The hash of each part; ``installed``, the versions of this package and of whatever code of
        somebody's own uses; ``python``, its version if there is such code, as compiled code can be
        compared within one alone, "" otherwise.

    Raises
    ------
    QuantityError
        If a part cannot be read.
    """
    contents = {name: content_of(part, name, version) for name, part in parts.items()}
    used = set().union(*(content.libraries for content in contents.values()))
    package = origin_of("pi2_fluid")
    installed = {origin.name: origin.version for origin in {*used, package} if origin is not None}
    is_code = any(content.is_code for content in contents.values())
    return {
        "parts": {name: content.digest for name, content in contents.items()},
        "installed": dict(sorted(installed.items())),
        "python": _PYTHON if is_code else "",
        "version": version,
    }


def specification_of(identity: Mapping[str, Any]) -> str:
    """Return one hash of an identity."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return in which respects two identities differ, in words.

    Examples
    --------
    >>> old = {"parts": {"reduce": "1a"}, "installed": {"numpy": "2.3"}, "python": "3.11"}
    >>> differences(old, {**old, "parts": {"reduce": "2b"}, "installed": {"numpy": "2.4"}})
    ['reduce', 'numpy (2.3, and now 2.4)']
    """
    sentences = []
    if old["python"] and new["python"] and old["python"] != new["python"]:
        # Each compiles the same source otherwise, so that nothing can be said of the code itself.
        sentences.append(f"Python ({old['python']}, and now {new['python']})")
    else:
        parts = dict.fromkeys([*new["parts"], *old["parts"]])
        sentences += [name for name in parts if old["parts"].get(name) != new["parts"].get(name)]
    for name in dict.fromkeys([*new["installed"], *old["installed"]]):
        before, now = old["installed"].get(name), new["installed"].get(name)
        if before and now and before != now:
            sentences.append(f"{name} ({before}, and now {now})")
    if old.get("version") != new.get("version"):
        sentences.append(f"version ({old.get('version')}, and now {new.get('version')})")
    return sentences
