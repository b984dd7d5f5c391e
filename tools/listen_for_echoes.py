"""Look for echo modes over equal paths, in packets or in the kernel: tools/listen_for_echoes.py.

Reno and DCTCP under DualPI2, 8 each on 100 Mbit/s over 32 ms and 4 each on 40 Mbit/s over 80 ms.
For each harmonic of the path it prints where the Classic delay's spectrum is highest near it, and
how many times the median beside it that is; chance makes about 2. --live takes the kernel.
"""

from __future__ import annotations

import argparse

import numpy as np

import pi2_fluid as pf

BIN, AFTER, PART = 0.004, 10.0, 10.0  # s
HARMONICS = 4
NEAR, BESIDE = 0.03, 0.15  # of the frequency


def scenario(rate: str, count: int, path: str) -> pf.Scenario:
    """Return as many Reno as DCTCP flows over one path."""
    link = pf.Link(rate, "100000 packets", kind="htb", delay_on="return")
    flows = [pf.Flows(law, count, path, start_jitter="1s") for law in (pf.Reno(), pf.Dctcp())]
    return pf.Scenario("30s", link, pf.DualPi2(arithmetic="fixed"), flows)


def spectrum(delay: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return frequencies (rad/s) and the mean periodogram of parts of runs."""
    length = round(PART / BIN)
    parts = delay[:, : delay.shape[1] // length * length].reshape(-1, length)
    parts = (parts - parts.mean(axis=1, keepdims=True)) * np.hanning(length)
    power = (np.abs(np.fft.rfft(parts, axis=1)) ** 2).mean(axis=0)
    return 2.0 * np.pi * np.fft.rfftfreq(length, BIN), power


def main() -> None:
    """Print the lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--live", action="store_true")
    engine = pf.Linux if parser.parse_args().live else pf.Packets
    for rate, count, path in (("100Mbit/s", 8, "32ms"), ("40Mbit/s", 4, "80ms")):
        found = pf.simulate(scenario(rate, count, path), engine(seeds=4, bin=BIN))
        delay = found.queue_delay.isel(band=0).to_numpy()[
            :, found.time.to_numpy() > AFTER + BIN / 2
        ]
        omega, power = spectrum(delay)
        for harmonic in range(1, HARMONICS + 1):
            aim = 2.0 * np.pi * harmonic / (1e-3 * float(path.removesuffix("ms")))
            off = np.abs(omega / aim - 1.0)
            top = np.argmax(np.where(off < NEAR, power, 0.0))
            beside = np.median(power[(off >= NEAR) & (off < BESIDE)])
            print(f"{path} {aim:6.1f} rad/s: {omega[top]:6.1f}, {power[top] / beside:.1f} times")


if __name__ == "__main__":
    main()
