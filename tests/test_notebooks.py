"""Notebooks: a fresh run prints and draws what is stored, and every exercise has its solution."""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

import notebooks

ROOT = Path(__file__).resolve().parents[1]
STORED = sorted((ROOT / "notebooks").glob("*.ipynb"))
LARGEST = 500_000  # bytes
RENEW = "look at what changed, and store it with: make notebooks"

every_notebook = pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)


def code_cells(stored):
    return [cell for cell in stored.cells if cell.cell_type == "code"]


# --- what is stored ---------------------------------------------------------------------------


@every_notebook
@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # of the client of the kernel
def test_a_fresh_run_is_what_is_stored(path) -> None:
    stored = notebooks.read(path)
    apart = notebooks.differences(stored, notebooks.run(stored))
    assert not apart, "\n".join([*apart, RENEW])


@every_notebook
def test_it_is_stored_as_one_run_from_above(path) -> None:
    cells = code_cells(notebooks.read(path))
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1)), RENEW


@every_notebook
def test_it_is_small_and_holds_nothing_that_changes(path) -> None:
    assert path.stat().st_size < LARGEST
    stored = notebooks.read(path)
    for cell in code_cells(stored):
        assert "execution" not in cell.metadata
        for output in cell.outputs:
            assert output.output_type in {"stream", "display_data", "execute_result"}
            assert output.get("name") != "stderr"
            assert set(output.get("data", {})) <= {"image/png", "text/plain", "text/html"}
            shown = output.get("text", "") + "".join(
                text for kind, text in output.get("data", {}).items() if kind.startswith("text")
            )
            assert not re.search(r"\bat 0x[0-9a-f]+|/ipykernel_|/tmp/|/home/", shown)
    assert set(stored.metadata) == {"kernelspec", "language_info"}
    assert set(stored.metadata.language_info) == {"name"}


@every_notebook
def test_every_exercise_has_a_solution_that_runs(path) -> None:
    stored = notebooks.read(path)
    asked = re.findall(r"\*\*Exercise (\d+)\.\*\*", "".join(c.source for c in stored.cells))
    told = [cell.id for cell in stored.cells if "solution" in cell.metadata.get("tags", [])]
    assert asked
    assert told == [f"solution-{number}" for number in asked]
    for cell in code_cells(stored):
        if cell.id in told:
            assert "assert" in cell.source
            assert cell.metadata.jupyter.source_hidden


# --- what counts as different -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("W = 14.14 segments", "W = 14.15 segments"),
        ("W = 14.14", "W =  14.14 "),
        ("1.234e-05 and −0.5", "1.235e-05 and −0.6"),
        ("-0.000000", "+0.000000"),
        ("(3.140550000000001+2j)", "(3.14055000000007+2j)"),
    ],
)
def test_rounding_is_no_difference(old, new) -> None:
    assert notebooks.text_differences(old, new) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("W = 14.14 segments", "W = 14.16 segments"),
        ("W = 14.14 segments", "W = 14.14 packets"),
        ("20 flows", "21 flows"),
        ("1.234e-05", "1.234e-06"),
        ("0.5", "-0.5"),
        ("stable", "unstable"),
        ("one number 0.5", "one number 0.5 and 0.6"),
        ("(3.14055+2j)", "(3.14055+3j)"),
    ],
)
def test_a_difference_is_seen(old, new) -> None:
    assert len(notebooks.text_differences(old, new)) == 1


def test_outputs_are_compared_and_their_kinds_are(tmp_path) -> None:
    def of(*outputs):
        cell = notebooks.nbformat.v4.new_code_cell(outputs=list(outputs), id="cell")
        return notebooks.nbformat.v4.new_notebook(cells=[cell])

    def shown(**data):
        return notebooks.nbformat.v4.new_output("display_data", {**data})

    def printed(text):
        return notebooks.nbformat.v4.new_output("stream", text=text)

    both = {"text/plain": "a Figure", "image/png": drawing(1.0)}
    stored = of(printed("p = 0.50\n"), shown(**both))
    # A file keeps its keys by name, a kernel sends them as it likes.
    path = tmp_path / "x.ipynb"
    path.write_text(notebooks.nbformat.writes(stored))
    assert notebooks.differences(notebooks.read(path), stored) == []
    for fresh in (
        of(shown(**both)),
        of(printed("p = 0.50\n"), shown(**{"text/plain": "a Figure"})),
        of(printed("p = 0.55\n"), shown(**both)),
        of(printed("p = 0.50\n"), shown(**(both | {"image/png": drawing(0.5)}))),
    ):
        assert len(notebooks.differences(stored, fresh)) == 1


def drawing(height: float, size: tuple[float, float] = (7.0, 3.2), dpi: int = 100) -> str:
    figure = Figure(figsize=size, dpi=dpi)
    ax = figure.subplots()
    x = np.linspace(0.0, 1.0, 200)
    ax.plot(x, height * np.sin(9.0 * x) * np.exp(-x), color="black", linewidth=1.5)
    ax.set(ylim=(-1.2, 1.2), title="A curve")
    made = io.BytesIO()
    figure.savefig(made, format="png")
    return base64.b64encode(made.getvalue()).decode()


@pytest.mark.slow
def test_the_same_picture_is_no_difference() -> None:
    small = notebooks._small(drawing(1.0))
    assert notebooks.picture_differences(drawing(1.0), drawing(1.0)) == []
    assert notebooks.picture_differences(drawing(1.0), small) == []  # fewer colours
    assert notebooks.picture_differences(drawing(1.0), drawing(1.0, dpi=101)) == []
    assert b"Software" not in base64.b64decode(small)


@pytest.mark.slow
def test_another_picture_is_seen() -> None:
    """A curve a tenth higher, another shape, an empty picture."""
    for other in (drawing(1.1), drawing(1.0, (7.0, 3.4)), drawing(0.0)):
        assert len(notebooks.picture_differences(drawing(1.0), other)) == 1
