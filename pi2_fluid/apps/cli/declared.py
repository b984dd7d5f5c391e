"""What laws that have a loop declare, in words: written by tools/write_options.py."""

from typing import Final

PARAMETERS: Final[dict[str, dict[str, str]]] = {
    "update_interval": {
        "only": "pi, pie, pi2, coupled and dualpi2",
        "unit": "s",
        "range": "above 0",
        "default": "32ms, for pie 15ms, for dualpi2 16ms",
    },
    "alpha": {
        "only": "pi, pie, pi2, coupled and dualpi2",
        "unit": "Hz",
        "range": "0 or more",
        "default": "0.3125, for pi and pie 0.125, for dualpi2 0.16",
    },
    "beta": {
        "only": "pi, pie, pi2, coupled and dualpi2",
        "unit": "Hz",
        "range": "0 or more",
        "default": "3.125, for pi and pie 1.25, for dualpi2 3.2",
    },
    "target": {
        "only": "pi, pie, pi2, coupled and dualpi2",
        "unit": "s",
        "range": "above 0",
        "default": "20ms, for pie and dualpi2 15ms",
    },
    "table": {
        "only": "pie",
        "choices": "rfc8033, rfc8034, hpsr13, ietf_early, none, sqrt2p",
        "default": "rfc8033",
    },
    "variant": {
        "only": "pie, pi2, coupled and dualpi2",
        "choices": "linux6.18, linux4.14, rfc8033, hpsr13, plain, pi2-2016, hpe, ns3, rfc9332",
        "default": "plain, for pie and dualpi2 linux6.18",
    },
    "cap": {"only": "pie", "choices": "true, false", "default": "that of the law"},
    "boost250": {"only": "pie", "choices": "true, false", "default": "that of the law"},
    "decay": {"only": "pie", "choices": "true, false", "default": "that of the law"},
    "burst": {"only": "pie", "unit": "s", "range": "0 or more", "default": "that of the law"},
    "derandomize": {"only": "pie", "choices": "true, false", "default": "that of the law"},
    "k": {"only": "coupled and dualpi2", "unit": "", "range": "above 0", "default": "2"},
    "step": {"only": "dualpi2", "unit": "s", "range": "above 0", "default": "1ms"},
    "ramp": {"only": "dualpi2", "unit": "s", "range": "above 0", "default": "that of the law"},
    "c_protection": {"only": "dualpi2", "unit": "", "range": "0 or more", "default": "0.1"},
    "drop_overload": {"only": "dualpi2", "choices": "true, false", "default": "true"},
}
SIGNALS: Final = {"classic": "reno, creno and cubic", "scalable": "scalable, dctcp and prague"}
