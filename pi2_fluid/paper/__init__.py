"""The source papers: every figure and every checkable claim, one short file each."""
