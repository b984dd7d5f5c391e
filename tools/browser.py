"""Look at the explorer in a real browser: make browser.

Serves notebooks/04_tune.ipynb with Voila, opens it in the machine's Chromium, moves the sliders of
alpha and of the number of flows, and demands that picture and margins follow; then that a phone's
screen shows all of it. Screenshots of before and after, of the whole page and of the phone go to
build/browser/.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOK = ROOT / "notebooks" / "04_tune.ipynb"
OUT = ROOT / "build" / "browser"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Nothing but the page: no sandbox (there is none in a container), no updates, no calls home.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
HOST = "127.0.0.1"
PATIENCE = 300  # s, for the whole notebook to run
QUICK = 10  # s, for one move of a slider
PICTURE, MARGINS = ".pi2-picture", ".pi2-margins"
# The bytes that the page shows, wherever it holds them.
READ_PICTURE = """async selector => {
    const image = document.querySelector(selector);
    const buffer = await (await fetch(image.src)).arrayBuffer();
    return Array.from(new Uint8Array(buffer));
}"""
# Every new picture has an address of its own.
READ_STATE = """([picture, margins]) => [
    document.querySelector(picture).src, document.querySelector(margins).innerText
]"""
PHONE = {"width": 390, "height": 1800}  # as wide as a phone, as high as to see all at once
# What of the explorer a narrow screen does not show; nothing, if all is well.
CUT_OFF = """([picture, width]) => {
    const boxes = [...document.querySelectorAll(picture)].map(one => one.getBoundingClientRect());
    const beside = boxes.some((box, k) => k > 0 && box.top < boxes[k - 1].bottom - 1);
    if (beside) return "pictures lie side by side";
    if (boxes.some(box => box.right > width + 1)) return "a picture is wider than the screen";
    const values = [...document.querySelectorAll("[class*=pi2-] .widget-readout")];
    const seen = values.filter(one => {
        const box = one.getBoundingClientRect();
        return box.width > 20 && box.right <= width + 1;
    });
    return seen.length === values.length && seen.length > 3 ? "" : "values of sliders are cut off";
}"""
BOTH_NEW = """([picture, margins, source, text]) => {
    const image = document.querySelector(picture);
    return image.src !== source && image.complete && image.naturalWidth > 0
        && document.querySelector(margins).innerText !== text;
}"""


def main() -> int:
    """Return 0 if the sliders move the picture, 1 with one sentence if not."""
    browser = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if browser is None:
        print(
            f"no browser found ({', '.join(BROWSERS)}): install Chromium, e.g. apt-get install"
            " chromium.",
            file=sys.stderr,
        )
        return 1
    OUT.mkdir(parents=True, exist_ok=True)
    with serve() as address, open_page(browser) as page:
        print(f"running {NOTEBOOK.name} in Voila, then opening it in {browser} ...", flush=True)
        page.goto(address, timeout=1000 * PATIENCE, wait_until="commit")
        page.wait_for_selector(PICTURE, timeout=1000 * PATIENCE)
        return check(page)


def check(page: Any) -> int:
    """Move two sliders step by step, and say what followed."""
    page.wait_for_function(
        "selector => document.querySelector(selector).naturalWidth > 0", arg=PICTURE
    )
    explorer = page.locator(".widget-vbox", has=page.locator(PICTURE)).last
    explorer.scroll_into_view_if_needed()
    explorer.screenshot(path=OUT / "before.png")
    beginning = look(page)
    print(f"at first    {beginning[1]}")
    for name, key, times in (("alpha", "ArrowRight", 20), ("flows", "ArrowLeft", 4)):
        before = look(page)
        taken = [move(page, name, key) for _ in range(times)]
        now = look(page)
        if None in taken or now[0] == before[0] or now[1] == before[1]:
            print(
                f"the slider of {name} did not move picture and margins within {QUICK} s.",
                file=sys.stderr,
            )
            page.screenshot(path=OUT / "failed.png", full_page=True)
            return 1
        slowest = max(seconds for seconds in taken if seconds is not None)
        print(
            f"{name:<11} {now[1]}  ({times} steps, each followed in {1e3 * slowest:.0f} ms or less)"
        )
    explorer.screenshot(path=OUT / "after.png")
    page.screenshot(path=OUT / "page.png", full_page=True)
    page.set_viewport_size(PHONE)
    page.wait_for_timeout(1000)
    explorer.screenshot(path=OUT / "phone.png")
    if cut_off := page.evaluate(CUT_OFF, [PICTURE, PHONE["width"]]):
        print(f"on a screen of {PHONE['width']} pixels: {cut_off}.", file=sys.stderr)
        return 1
    print(f"phone       three pictures one below the other, {PHONE['width']} pixels wide")
    print(f"screenshots in {OUT.relative_to(ROOT)}/")
    return 0


def look(page: Any) -> tuple[str, str]:
    """Return a digest of the picture's bytes, and the text of the margins."""
    data = bytes(page.evaluate(READ_PICTURE, PICTURE))
    return hashlib.sha256(data).hexdigest(), " ".join(page.inner_text(MARGINS).split())


def move(page: Any, name: str, key: str) -> float | None:
    """Press a key on a slider; return the seconds until picture and text are both new, or None."""
    from playwright.sync_api import TimeoutError as TooLong

    shown = [PICTURE, MARGINS, *page.evaluate(READ_STATE, [PICTURE, MARGINS])]
    handle = page.locator(f".pi2-{name} .noUi-handle")
    handle.focus()
    start = time.monotonic()
    handle.press(key)
    try:
        page.wait_for_function(BOTH_NEW, arg=shown, timeout=1000 * QUICK)
    except TooLong:
        return None
    return time.monotonic() - start


@contextlib.contextmanager
def open_page(browser: str) -> Iterator[Any]:
    """A page in the machine's own browser; playwright downloads none."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=FLAGS)
        try:
            page = chromium.new_page(viewport={"width": 1240, "height": 900})
            # It needs nothing from elsewhere, and would wait for it where there is no network.
            page.route(lambda url: HOST not in url, lambda route: route.abort())
            yield page
        finally:
            chromium.close()


@contextlib.contextmanager
def serve() -> Iterator[str]:
    """The address at which Voila serves the notebook, on a free port of this machine alone."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port = probe.getsockname()[1]
    command = [
        *(sys.executable, "-m", "voila", str(NOTEBOOK), "--no-browser"),
        *(f"--Voila.ip={HOST}", f"--port={port}"),
        f"--VoilaExecutor.timeout={PATIENCE}",
    ]
    log = OUT / "voila.log"
    with log.open("w", encoding="utf-8") as file:
        server = subprocess.Popen(
            command, stdout=file, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            wait_for(f"http://{HOST}:{port}/voila/static/voila.js", server, log)
            yield f"http://{HOST}:{port}/"
        finally:
            with contextlib.suppress(ProcessLookupError):  # it never started
                os.killpg(server.pid, signal.SIGTERM)  # its kernels, too
            server.wait(timeout=30)


def wait_for(address: str, server: Any, log: Path) -> None:
    """Wait until the server answers at all."""
    for _ in range(600):
        if server.poll() is not None:
            raise SystemExit(f"Voila did not start: see {log}.")
        try:
            urllib.request.urlopen(address, timeout=1).close()
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise SystemExit(f"Voila did not answer within a minute: see {log}.")


if __name__ == "__main__":
    sys.exit(main())
