#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox>=2025.2.9"]
# ///
"""The targets of `make`, one environment for each Python: nox -s "tests(python='3.13')".

What is done is said in the Makefile alone; here only for which Pythons.
"""

import nox

nox.needs_version = ">=2025.2.9"
# make sets up the environments.
nox.options.default_venv_backend = "none"
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]


def make(session: nox.Session, *targets: str, python: str = "3.11") -> None:
    """Make targets with a Python, in its own .venv."""
    named = [f"PYTHON=python{python}", f"VENV=.venv-{python}"]
    session.run("make", *targets, *named, external=True)


@nox.session
@nox.parametrize("python", PYTHONS)
def tests(session: nox.Session, python: str) -> None:
    """Run all tests: make test."""
    make(session, "test", python=python)


@nox.session
def lint(session: nox.Session) -> None:
    """Ask ruff, codespell and mypy: make lint."""
    make(session, "lint")


@nox.session(default=False)
def docs(session: nox.Session) -> None:
    """Build the site: make docs."""
    make(session, "docs")


@nox.session(default=False)
def wheels(session: nox.Session) -> None:
    """Build and try the wheels: make wheels."""
    make(session, "wheels")


if __name__ == "__main__":
    nox.main()
