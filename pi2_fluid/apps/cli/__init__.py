"""The shell's door: `pi2-fluid`, one command for each thing the library answers.

Each command is one public function with the shell in front, and loads what it needs when it runs:
asking for help loads none of it. Numbers are taken as text and read by the library itself.

Exit codes: 0 stable or done, 1 unstable, 2 bad input, 3 undecided, 4 numerical failure, missing
package or tool, no network or full disk, 70 internal error, 130 interrupted.
"""

from pi2_fluid.apps.cli.shell import main, run

__all__ = ["main", "run"]
