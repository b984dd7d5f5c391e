"""The targets of `make`, one environment for each Python: nox -s "tests(python='3.13')".

What is done is said in the Makefile alone; here only for which Pythons.
"""

import nox

nox.options.sessions = ["lint", "tests"]
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]


def make(session: nox.Session, *targets: str, python: str = "3.11") -> None:
    """Make targets with a Python, in its own .venv."""
    named = [f"PYTHON=python{python}", f"VENV=.venv-{python}"]
    session.run("make", *targets, *named, external=True)


@nox.session(venv_backend="none")
@nox.parametrize("python", PYTHONS)
def tests(session: nox.Session, python: str) -> None:
    """Run all tests: make test."""
    make(session, "test", python=python)


@nox.session(venv_backend="none")
def lint(session: nox.Session) -> None:
    """Ask ruff, mypy and codespell: make lint."""
    make(session, "lint")


@nox.session(venv_backend="none")
def docs(session: nox.Session) -> None:
    """Build the site: make docs."""
    make(session, "docs")


@nox.session(venv_backend="none")
def wheels(session: nox.Session) -> None:
    """Build and try the wheels: make wheels."""
    make(session, "wheels")
