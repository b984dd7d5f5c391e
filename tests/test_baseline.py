"""How what the benches measure is kept, and compared with what they measured before."""

from __future__ import annotations

import json
from pathlib import Path

import compare
import pytest
import record
from record import Row

FASTER = [Row("a", 30.0, (1e-5, 2e-6)), Row("b", 4.0)]


@pytest.fixture(autouse=True)
def no_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "first_line", lambda *command: command[0])


def stored(folder: Path, rows: list[Row] = FASTER, better: record.Better = "larger") -> list[str]:
    """Store the rows, and return the words that ask for a comparison with them."""
    record.record("some table", rows, better, folder)
    words = ["--recorded", str(folder), "--baseline", str(folder / "stored" / "baseline.json")]
    (folder / "stored").mkdir(exist_ok=True)
    compare.main([*words, "--store"])
    return words


def said(capsys: pytest.CaptureFixture[str], words: list[str]) -> list[str]:
    capsys.readouterr()
    compare.main(words)
    return capsys.readouterr().out.splitlines()


def notes(lines: list[str]) -> list[str]:
    return [line for line in lines if line.startswith(("worse", "missing", "not measured"))]


def test_the_same_numbers_are_no_worse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys, stored(tmp_path))
    assert not notes(lines)
    assert "Nothing became dearer by more than 25 %" in lines[-1]


@pytest.mark.parametrize(
    ("better", "ratio", "worse"),
    [
        ("larger", 24.1, False),  # 30 / 24.1 = 1.245
        ("larger", 23.9, True),
        ("larger", 90.0, False),
        ("smaller", 37.4, False),
        ("smaller", 37.6, True),
        ("smaller", 10.0, False),
    ],
)
def test_worse_is_what_costs_a_quarter_more(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    better: record.Better,
    ratio: float,
    worse: bool,
) -> None:
    words = stored(tmp_path, better=better)
    record.record("some table", [Row("a", ratio, (1e-5, 2e-6)), FASTER[1]], better, tmp_path)
    found = notes(said(capsys, words))
    assert len(found) == worse
    assert all("some table, a: 30 before" in line for line in found)


def test_both_columns_and_both_errors_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = stored(tmp_path)
    record.record("some table", [Row("a", 60.0, (1e-5, 3e-6)), FASTER[1]], "larger", tmp_path)
    [row] = [line for line in said(capsys, words) if line.strip().startswith("a ")]
    assert row.split() == ["a", "30", "60", "-50%", "1e-05", "/", "2e-06,", "1e-05", "/", "3e-06"]


@pytest.mark.parametrize(
    ("errors", "worse"),
    [((9e-5, 2e-6), 0), ((1.1e-4, 2e-6), 1), ((1e-5, float("nan")), 1), ((1e-14, 1e-14), 0)],
)
def test_an_error_is_worse_by_a_digit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], errors: tuple[float, float], worse: int
) -> None:
    words = stored(tmp_path)
    record.record("some table", [Row("a", 30.0, errors), FASTER[1]], "larger", tmp_path)
    found = notes(said(capsys, words))
    assert len(found) == worse
    assert all("an error of" in line for line in found)


def test_rounding_errors_are_not_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = stored(tmp_path, [Row("a", 30.0, (1e-16,))])
    record.record("some table", [Row("a", 30.0, (9e-14,))], "larger", tmp_path)
    assert not notes(said(capsys, words))


def test_missing_and_new_rows_and_tables_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = stored(tmp_path)
    record.record("some table", [FASTER[0], Row("c", 1.0)], "larger", tmp_path)
    record.record("another", FASTER, "larger", tmp_path)
    lines = said(capsys, words)
    assert notes(lines) == ["missing: some table, b: stored, and not measured now"]
    assert any(line.split()[:3] == ["c", "new", "1"] for line in lines)
    assert any(line.startswith("another: new, 2 rows") for line in lines)
    (tmp_path / "some_table.json").unlink()
    assert "not measured: some table" in said(capsys, words)


def test_storing_replaces_what_was_measured_and_leaves_the_rest(tmp_path: Path) -> None:
    words = stored(tmp_path)
    record.record("another", FASTER, "smaller", tmp_path)
    (tmp_path / "some_table.json").unlink()
    compare.main([*words, "--store"])
    kept = json.loads((tmp_path / "stored" / "baseline.json").read_text(encoding="utf-8"))
    assert list(kept) == ["another", "some table"]
    assert {"date", "machine", "compiler", "python", "numpy"} <= kept["another"][
        "conditions"
    ].keys()
    assert kept["some table"]["rows"]["b"] == {"ratio": 4.0, "errors": []}


def test_other_conditions_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = stored(tmp_path)
    monkeypatch.setattr(record, "processor", lambda: "an abacus")
    record.record("some table", FASTER, "larger", tmp_path)
    assert any("is an abacus" in line for line in said(capsys, words))


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[1]",
        '{"some table": 3}',
        '{"t": {"better": "larger", "conditions": {}, "rows": {"a": {"ratio": "x"}}}}',
        '{"t": {"better": "larger", "conditions": {}, "rows": {"a": {"ratio": 0, "errors": []}}}}',
        '{"t": {"better": "dearer", "conditions": {}, "rows": {}}}',
    ],
)
def test_a_malformed_file_gives_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    words = stored(tmp_path)
    (tmp_path / "stored" / "baseline.json").write_text(text, encoding="utf-8")
    [line] = said(capsys, words)
    assert "baseline.json" in line
    assert "measure again" in line
    with pytest.raises(SystemExit, match="measure again"):
        compare.main([*words, "--store"])


def test_nothing_recorded_or_stored_gives_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = stored(tmp_path)
    (tmp_path / "stored" / "baseline.json").unlink()
    assert "No baseline is stored" in said(capsys, words)[0]
    (tmp_path / "some_table.json").unlink()
    assert "Nothing is recorded" in said(capsys, words)[0]


def test_the_stored_baseline_is_readable_and_names_its_machine() -> None:
    tables = compare.tables_in(compare.stored(compare.BASELINE), compare.BASELINE)
    assert {"startup", "margins", "fluid", "routes", "batch", "designs"} <= tables.keys()
    assert all(table.conditions["machine"] for table in tables.values())
