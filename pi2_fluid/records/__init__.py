"""Records: frozen dataclasses of checked numbers, and how they are counted, labelled and named."""
