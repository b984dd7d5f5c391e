"""What people paste, cut into observations: one device at one instant, and its queues.

`observe` reads any text: what tc printed, logs of it, scripts and sessions of a shell, mail.
"""

from pi2_fluid.tc.observing.observation import Observation
from pi2_fluid.tc.observing.reader import Reading, observe
from pi2_fluid.tc.observing.series import Series, series_of

__all__ = ["Observation", "Reading", "Series", "observe", "series_of"]
