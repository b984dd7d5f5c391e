"""What `mkdocs build` does beyond the pages in docs/: notebooks, the gallery, nothing elsewhere.

Named under `hooks` in mkdocs.yml, which calls the functions that begin with `on_`.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from formulas import searched

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = ROOT / "notebooks"
GALLERY = ROOT / "docs" / "gallery" / "index.md"
#: Tags that make a browser fetch something, and where they say what; of `link` only these kinds.
FETCHED = {
    "audio": "src",
    "embed": "src",
    "iframe": "src",
    "img": "src",
    "input": "src",
    "link": "href",
    "object": "data",
    "script": "src",
    "source": "src",
    "track": "src",
    "video": "src",
}
LINKS = {"stylesheet", "preload", "prefetch", "preconnect", "dns-prefetch", "modulepreload", "icon"}
ELSEWHERE = re.compile(r"(?:https?:)?//", re.IGNORECASE)
IN_STYLE = re.compile(r"(?:url\(|@import)\s*[\"']?\s*((?:https?:)?//[^\"')\s;]+)", re.IGNORECASE)


class Requests(HTMLParser):
    """Collects what a page makes a browser fetch from another machine."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what one tag makes a browser fetch."""
        said = {name: value or "" for name, value in attrs}
        self.found += IN_STYLE.findall(said.get("style", ""))
        wanted = [part.split()[0] for part in said.get("srcset", "").split(",") if part.strip()]
        if tag != "link" or LINKS & set(said.get("rel", "").lower().split()):
            wanted.append(said.get(FETCHED.get(tag, ""), "").strip())
        self.found += [address for address in wanted if ELSEWHERE.match(address)]


def requests_elsewhere(text: str, suffix: str) -> list[str]:
    """Return the addresses on other machines that a page or a style sheet asks for by itself."""
    styles = re.findall(r"<style.*?</style>", text, re.DOTALL) if suffix == ".html" else [text]
    found = [address for style in styles for address in IN_STYLE.findall(style)]
    if suffix == ".html":
        page = Requests()
        page.feed(text)
        found += page.found
    return found


def gallery_nav(index: str) -> list[Any]:
    """Return the pages of the gallery by their paper, as its first page lists them."""
    nav: list[Any] = ["gallery/index.md"]
    for title, pages in re.findall(r"^## (.+?)$(.*?)(?=^## |\Z)", index, re.MULTILINE | re.DOTALL):
        names = dict.fromkeys(re.findall(r"\]\((\w+)\.md\)", pages))
        nav.append({title: [f"gallery/{name}.md" for name in names]})
    return nav


def on_config(config: Any) -> Any:
    """Put the pages of the gallery where `gallery/` stands."""
    for section in config.nav:
        for title, entries in section.items():
            if isinstance(entries, list) and "gallery/" in entries:
                at = entries.index("gallery/")
                pages = gallery_nav(GALLERY.read_text(encoding="utf-8"))
                section[title] = [*entries[:at], *pages, *entries[at + 1 :]]
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the notebooks with what they print and draw, as pages like all others."""
    from mkdocs.structure.files import File
    from nbconvert import MarkdownExporter

    exporter = MarkdownExporter()
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        name = {"unique_key": path.stem, "output_files_dir": path.stem}
        text, resources = exporter.from_filename(str(path), resources=name)
        # What notebooks say of pages is text where they run, and a link here.
        text = re.sub(r"`?\bdocs/(\w+)\.md`?", r"[\1](../\1.md)", text)
        text = text.replace("<details>", "<details markdown>")
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=text))
        for place, picture in resources["outputs"].items():
            where = f"notebooks/{Path(place).as_posix()}"
            files.append(File.generated(config, where, content=picture))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Lead links to notebooks in the repository to their pages."""
    return re.sub(
        r"\]\(((?:\.\./)*)\.\./notebooks/(\w+)\.ipynb\)", r"](\1notebooks/\2.md)", markdown
    )


def on_page_content(html: str, **_: Any) -> str:
    """Let a picture that stands by itself open in full size."""
    alone = re.compile(r'<p>(<img [^>]*src="([^"]+)"[^>]*>)</p>')
    return alone.sub(r'<p><a class="picture" href="\2" title="Full size">\1</a></p>', html)


def on_post_build(config: Any) -> None:
    """Search formulas as typed; refuse a site that asks another machine for anything it shows."""
    from mkdocs.exceptions import PluginError

    for entry in config.plugins["material/search"].search_index.entries:
        for part in ("title", "text"):
            entry[part] = searched(entry[part])
    wrong = []
    for path in sorted(Path(config.site_dir).rglob("*")):
        if path.suffix in {".html", ".css"}:
            for address in requests_elsewhere(path.read_text(encoding="utf-8"), path.suffix):
                wrong.append(f"{path.relative_to(config.site_dir)} asks for {address}")
    if wrong:
        raise PluginError("the site is to need nothing from elsewhere:\n" + "\n".join(wrong))


# Before the plugin that writes what is searched.
on_post_build.mkdocs_priority = 100  # type: ignore[attr-defined]
