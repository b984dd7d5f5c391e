"""Ask checkers about dist/ and the files that other programs read: make check-packages.

What a checker finds that is to stay is told to it in pyproject.toml, with the reason;
docs/releasing.md has the list.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
BIN: Final = Path(sys.executable).parent
#: Files, and the schema of JSON that each must keep to.
SCHEMAS: Final = {
    "vendor.github-workflows": ".github/workflows/*.yml",
    "custom.github-workflows-require-timeout": ".github/workflows/*.yml",
    "vendor.github-issue-forms": ".github/ISSUE_TEMPLATE/[!c]*.yml",
    "vendor.github-issue-config": ".github/ISSUE_TEMPLATE/config.yml",
    "vendor.dependabot": ".github/dependabot.yml",
    "vendor.citation-file-format": "CITATION.cff",
}
#: Where conda-forge would build, and what it compiles with there.
CONDA: Final = ("linux-64", "linux-aarch64", "osx-64", "osx-arm64")
VARIANTS: Final = """
python: ["3.11", "3.13"]
c_compiler: [c]
cxx_compiler: [cxx]
c_stdlib: [c]
"""


def commands() -> Iterator[list[str]]:
    """Return what is asked, in order."""
    packages = sorted((ROOT / "dist").glob("*"))
    if not packages:
        raise SystemExit("There is nothing in dist/ to check: run make wheels first.")
    wheels = [str(path) for path in packages if path.suffix == ".whl"]
    yield ["validate-pyproject", "pyproject.toml"]
    yield ["sp-repo-review", "."]
    yield ["check-manifest", "--no-build-isolation"]
    yield ["twine", "check", "--strict", *map(str, packages)]
    yield ["check-wheel-contents", *wheels]
    stable = [wheel for wheel in wheels if "-abi3-" in wheel]
    if stable:
        yield ["abi3audit", "--strict", *stable]
    for schema, pattern in SCHEMAS.items():
        files = [str(path) for path in sorted(ROOT.glob(pattern))]
        yield ["check-jsonschema", "--builtin-schema", schema, *files]


def render() -> None:
    """Render the conda recipe for every platform that it is for."""
    from rattler_build import PlatformConfig, RenderConfig, Stage0Recipe, VariantConfig

    recipe = Stage0Recipe.from_file(ROOT / "conda/recipe.yaml")
    variants = VariantConfig.from_yaml(VARIANTS)
    for name in CONDA:
        platform = PlatformConfig(
            target_platform=name, build_platform="linux-64", host_platform=name
        )
        rendered = recipe.render(variants, RenderConfig(platform=platform))
        print(f"conda/recipe.yaml renders for {name}, {len(rendered)} variants")
        assert len(rendered) == 2


def main() -> None:
    """Ask all, and fail if one of them finds something."""
    failed = []
    for name, *rest in commands():
        print(f"\n== {name} {' '.join(rest)[:100]}", flush=True)
        if subprocess.run([BIN / name, *rest], cwd=ROOT, check=False).returncode:
            failed.append(name)
    print("\n== rattler-build")
    render()
    if failed:
        raise SystemExit(f"\nfound something: {', '.join(failed)}")


if __name__ == "__main__":
    main()
