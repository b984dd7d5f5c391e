"""The shell's door: `pi2-fluid`, one command for each thing the library answers.

Each command is one public function with the shell in front, and loads what it needs when it runs:
asking for help loads none of it. Numbers are taken as text and read by the library itself.

What exit codes mean is in `codes`.
"""

from pi2_fluid.apps.cli.shell import main, run

__all__ = ["main", "run"]
