"""Metrics for a scraper: at a port of this machine alone, or in a text file."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

from pi2_fluid.deployment.watching.openmetrics import CONTENT_TYPE, metrics_of
from pi2_fluid.deployment.watching.watcher import Instant
from pi2_fluid.errors import QuantityError, show_value
from pi2_fluid.saving import require_writable, save_text

_HERE: Final = "127.0.0.1"
_LARGEST: Final = 65_535
_PATH: Final = "/metrics"
_NOTHING: Final = "# EOF\n"


class Metrics:
    """The last instant of each device, as OpenMetrics text, where `--metrics` says.

    Parameters
    ----------
    place : str
        A port of 127.0.0.1 (0: one that is free), or a file whose name ends with .prom.

    Raises
    ------
    QuantityError
        If it is neither, or the port is in use.
    OSError
        If there can be no such file.
    """

    def __init__(self, target: str) -> None:
        self._instants: dict[str, Instant] = {}
        self._text = _NOTHING
        self._file: Path | None = None
        self._server: ThreadingHTTPServer | None = None
        if target.isascii() and target.isdecimal():
            self._serve(int(target))
        elif target.endswith(".prom"):
            self._file = Path(target)
            require_writable(self._file)
        else:
            raise QuantityError(
                f"--metrics {show_value(target)} is neither a port nor a file: give a port from 0"
                f" to {_LARGEST}, as 9900, or a file whose name ends with .prom."
            )

    @property
    def where(self) -> str:
        """The file, or the address at which it is served."""
        if self._server is not None:
            return f"http://{_HERE}:{self._server.server_address[1]}{_PATH}"
        return str(self._file)

    def show(self, instant: Instant) -> None:
        """Make an instant the last of its device."""
        self._instants[instant.device] = instant
        self._text = metrics_of(self._instants.values())
        if self._file is not None:
            save_text(self._file, self._text)  # who reads it meanwhile has the old one, whole

    def close(self) -> None:
        """Leave the port; a file stays."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    def _serve(self, port: int) -> None:
        if port > _LARGEST:
            raise QuantityError(f"--metrics {port} is no port: give one from 0 to {_LARGEST}.")
        metrics = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path.partition("?")[0] not in {_PATH, "/"}:
                    self.send_error(404)
                    return
                body = metrics._text.encode()
                self.send_response(200)
                self.send_header("Content-Type", CONTENT_TYPE)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing of each scrape."""

        try:
            self._server = ThreadingHTTPServer((_HERE, port), Handler)
        except OSError as error:
            raise QuantityError(
                f"port {port} of {_HERE} cannot be had ({error.strerror}): give another, or 0 for"
                " one that is free."
            ) from None
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
