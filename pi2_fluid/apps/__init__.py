"""The faces for people: a shell's command and a notebook's sliders."""
