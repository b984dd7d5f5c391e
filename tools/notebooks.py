"""Run the notebooks and store what they print and draw: python tools/notebooks.py [FILE ...].

What changes from run to run is left out, and a widget is stored as the picture that it shows, so
that a page without a kernel has it, too. `differences` says where a stored notebook is not what a
fresh run gives; tests/test_notebooks.py asks it.
"""

from __future__ import annotations

import base64
import io
import re
import sys
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
from nbclient import NotebookClient
from PIL import Image

from pi2_fluid.saving import save_text

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"
WIDGET = "application/vnd.jupyter.widget-view+json"
PATIENCE = 900  # s for one cell, on a slow and busy machine
NUMBER = re.compile(r"(?<![\w.])[-+−]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
# Two machines differ by rounding: by one in the last digit that is printed, or where more digits
# are printed than they agree in, by this much.
RELATIVE = 1e-9
# Pictures are compared as this many columns and rows of grey, by the mean and the largest
# difference (black to white is 1): a font or a version of Matplotlib moves single pixels, a curve
# that lies elsewhere whole cells.
CELLS = (48, 24)
MEAN_DIFFERENCE, LARGEST_DIFFERENCE = 0.005, 0.10


def read(path: Path) -> Any:
    """Return a notebook as it is stored."""
    return nbformat.read(path, as_version=4)


def run(stored: Any) -> Any:
    """Return a copy of a notebook as a fresh kernel leaves it, without what is not to be stored."""
    fresh = nbformat.from_dict(stored)
    for cell in fresh.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    client = NotebookClient(
        fresh,
        timeout=PATIENCE,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": str(FOLDER)}},
    )
    client.execute()
    fresh.metadata = nbformat.from_dict(stored.metadata)
    for cell in fresh.cells:
        if cell.cell_type == "code":
            cell.outputs = [_lasting(output, client) for output in _joined(cell.outputs)]
    return fresh


def _joined(outputs: list[Any]) -> list[Any]:
    """Return the outputs with what was printed in one piece: where it is cut depends on time."""
    found: list[Any] = []
    for output in outputs:
        last = found[-1] if found else None
        if last and output.output_type == last.output_type == "stream" and output.name == last.name:
            last.text += output.text
        else:
            found.append(output)
    return found


def _lasting(output: Any, client: NotebookClient) -> Any:
    data = output.get("data", {})
    if WIDGET in data:
        data["image/png"] = _picture_of(data.pop(WIDGET)["model_id"], client)
        data["text/plain"] = "sliders, and this picture, which follows them"
    if "image/png" in data:
        data["image/png"] = _small(data["image/png"])
    return output


def _picture_of(model: str, client: NotebookClient) -> str:
    """Return the pictures that a widget shows, side by side as on a wide screen."""
    parts = [_image(png).convert("RGB") for png in _pictures_in(model, client)]
    whole = Image.new("RGB", (sum(part.width for part in parts), parts[0].height))
    at = 0
    for part in parts:
        whole.paste(part, (at, 0))
        at += part.width
    made = io.BytesIO()
    whole.save(made, format="PNG")
    return base64.b64encode(made.getvalue()).decode()


def _pictures_in(model: str, client: NotebookClient) -> list[str]:
    state = client.widget_state[model]
    if state.get("_model_name") == "ImageModel":
        return [str(buffer["data"]) for buffer in client.widget_buffers.get(model, {}).values()]
    children = state.get("children", [])
    return [png for child in children for png in
            _pictures_in(child.removeprefix("IPY_MODEL_"), client)]  # fmt: skip


def _small(png: str) -> str:
    """Return a PNG with at most 256 colours, without the name of the program that drew it."""
    made = io.BytesIO()
    picture = _image(png).convert("RGB")
    picture.quantize(256, dither=Image.Dither.NONE).save(made, format="PNG", optimize=True)
    return base64.b64encode(made.getvalue()).decode()


def _image(png: str) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(png)))


def store(path: Path) -> None:
    """Run a notebook, and store it with its outputs."""
    save_text(path, nbformat.writes(run(read(path))) + "\n")


def differences(stored: Any, fresh: Any) -> list[str]:
    """Return a sentence for each output of a fresh run that is not what is stored."""
    found = []
    for old, new in zip(stored.cells, fresh.cells, strict=True):
        if old.cell_type != "code":
            continue
        kinds = [[_kind(output) for output in cell.outputs] for cell in (old, new)]
        if kinds[0] != kinds[1]:
            found.append(f"{old.id}: stored are {kinds[0]}, a fresh run has {kinds[1]}")
            continue
        for output, fresh_output in zip(old.outputs, new.outputs, strict=True):
            found += [f"{old.id}: {what}" for what in _unlike(output, fresh_output)]
    return found


def _kind(output: Any) -> tuple[str, ...]:
    return (output.output_type, *sorted(output.get("data", {})), output.get("name", ""))


def _unlike(old: Any, new: Any) -> list[str]:
    if old.output_type == "stream":
        return text_differences(old.text, new.text)
    found = []
    for kind, value in new.data.items():
        if kind == "image/png":
            found += picture_differences(old.data[kind], value)
        else:
            found += text_differences(str(old.data[kind]), str(value))
    return found


def text_differences(old: str, new: str) -> list[str]:
    """Compare words exactly, numbers up to one in the last digit printed, and no white space."""
    words = [NUMBER.sub("#", text).split() for text in (old, new)]
    if words[0] != words[1]:
        return [f"the words differ: {old.strip()!r} is stored, not {new.strip()!r}"]
    pairs = zip(NUMBER.findall(old), NUMBER.findall(new), strict=True)
    return [f"{a} is stored, not {b}" for a, b in pairs if not _close(a, b)]


def _close(a: str, b: str) -> bool:
    if a == b:
        return True
    mantissa, _, exponent = a.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    if not decimals:
        return False  # a count
    last = 10.0 ** (int(exponent or 0) - decimals)
    x, y = (float(text.replace("−", "-")) for text in (a, b))
    return abs(x - y) <= 1.001 * last + RELATIVE * abs(x)


def picture_differences(old: str, new: str) -> list[str]:
    """Compare size, and how dark each part of two pictures is."""
    images = [_image(png) for png in (old, new)]
    if any(abs(1.0 - a / b) > 0.02 for a, b in zip(images[0].size, images[1].size, strict=True)):
        return [f"a picture of {images[0].size} pixels is stored, not of {images[1].size}"]
    grey = [
        np.asarray(image.convert("L").resize(CELLS, Image.Resampling.BOX)) / 255.0
        for image in images
    ]
    apart = np.abs(grey[0] - grey[1])
    if apart.mean() <= MEAN_DIFFERENCE and apart.max() <= LARGEST_DIFFERENCE:
        return []
    return [f"another picture is stored: they differ by {apart.mean():.4f}, {apart.max():.2f} most"]


if __name__ == "__main__":
    for path in [Path(name) for name in sys.argv[1:]] or sorted(FOLDER.glob("*.ipynb")):
        print(f"running {path.name} ...", flush=True)
        store(path)
