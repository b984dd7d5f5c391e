"""tc asked for a device again and again: what it shows, and nothing is ever changed.

Source: tc(8), the options -s, -d and -j.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from typing import Final

from pi2_fluid.errors import BuildError, QuantityError
from pi2_fluid.tc.observing.following import Follower, Output

#: Where tc is for people who are not root.
_PLACES: Final = ("/usr/sbin/tc", "/sbin/tc", "/usr/local/sbin/tc")
_PATIENCE: Final = 10.0  # s
_NO_DEVICE: Final = ("cannot find device", "no such device", "does not exist")
_NO_JSON: Final = ("-j", "json")


class Asked:
    """tc, asked for the queues and classes of a device.

    Parameters
    ----------
    device : str
    follower : Follower, optional
        Who reads what tc prints. Default: one of its own.

    Raises
    ------
    BuildError
        If there is no tc.
    """

    def __init__(self, device: str, follower: Follower | None = None) -> None:
        found = shutil.which("tc") or next(filter(shutil.which, _PLACES), None)
        if found is None:
            raise BuildError(
                "tc is not installed here: install iproute2, or give a log of what"
                f" `tc -s qdisc show dev {device}` printed elsewhere."
            )
        self.device = device
        self._tc = found
        self._options: tuple[str, ...] = ("-s", "-d", "-j")
        self._follower = Follower() if follower is None else follower

    def outputs(self, now: float) -> list[Output]:
        """Return what tc shows now (s since 1970).

        Raises
        ------
        QuantityError
            If there is no such device.
        BuildError
            If tc refuses, or does not answer.
        """
        text = self._asked("qdisc")
        classes = self._asked("class", may_fail=True)
        follower = self._follower
        follower.around, follower.time = (None, None, self.device), now
        found: list[Output] = []
        for line in (*text.splitlines(), *classes.splitlines()):
            found += follower.feed(line)
        found += follower.pause()
        return found

    def _asked(self, what: str, *, may_fail: bool = False) -> str:
        options = self._options if what == "qdisc" else tuple(o for o in self._options if o != "-d")
        try:
            answer = subprocess.run(
                [self._tc, *options, what, "show", "dev", self.device],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_PATIENCE,
                check=False,
                stdin=subprocess.DEVNULL,
            )
        except subprocess.TimeoutExpired:
            raise BuildError(
                f"tc has not answered for {_PATIENCE:g} s: try `tc -s qdisc show dev"
                f" {self.device}` by hand."
            ) from None
        except OSError as error:
            raise BuildError(
                f"tc cannot be run ({error.strerror}): see whether {self._tc} is a program that"
                " you may run."
            ) from None
        if answer.returncode == 0:
            return answer.stdout
        refusal = " ".join((answer.stderr or answer.stdout).split())
        if any(words in refusal.lower() for words in _NO_DEVICE):
            raise QuantityError(
                f"there is no device {self.device!r} here: `ip link` lists those that there are; a"
                " log is given by its path."
            )
        if "-j" in self._options and any(words in refusal.lower() for words in _NO_JSON):
            self._options = ("-s", "-d")  # an older tc, which prints text
            return self._asked(what, may_fail=may_fail)
        if may_fail:
            return ""
        raise BuildError(
            f"tc refuses to show {self.device} ({refusal.removesuffix('.') or 'without a word'}):"
            f" try `tc -s qdisc show dev {self.device}` by hand."
        )


def asked(device: str, every: float, follower: Follower | None = None) -> Iterator[Output]:
    """Yield what tc shows of a device, every so often (s), without an end.

    Raises
    ------
    QuantityError, BuildError
        See `Asked.outputs`.
    """
    tc = Asked(device, follower)
    due = time.monotonic()
    while True:
        yield from tc.outputs(time.time())
        due += every
        left = due - time.monotonic()
        if left > 0:
            time.sleep(left)
        else:
            due -= left  # what was missed is not made up for
