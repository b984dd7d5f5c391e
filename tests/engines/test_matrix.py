"""The table of what answers what says what is so."""

from __future__ import annotations

import pytest
import write_matrix


@pytest.mark.slow
def test_the_table_is_current():
    text = write_matrix.PAGE.read_text(encoding="utf-8")
    found = write_matrix.matrix()
    assert len(found) == 88
    assert write_matrix.page(text, found) == text, "run python tools/write_matrix.py"
