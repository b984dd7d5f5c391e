"""Against the real kernel: cells simulated packet by packet and held against Linux, and ns-3.

The references are measurements that come with the package; `validate` simulates every cell anew,
compares, and draws; `validate_live` measures the kernel anew, too, by the engine `Linux`. `judging`
says what passes, `tolerances` how much may differ.
"""

from pi2_fluid.referee.cells import CELLS
from pi2_fluid.referee.judging import Validation
from pi2_fluid.referee.live_validating import validate_live
from pi2_fluid.referee.validating import validate

__all__ = ["CELLS", "Validation", "validate", "validate_live"]
