"""The source papers, a folder each: every figure, and every claim that can be checked."""
