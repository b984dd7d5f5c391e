// KaTeX 0.19.1 (docs/assets/katex, MIT; its fonts as WOFF2 alone) sets what arithmatex has marked as a
// formula, \(...\) in a line and \[...\] on its own.
document$.subscribe(() => {
  for (const element of document.querySelectorAll(".arithmatex")) {
    const text = element.textContent.trim();
    if (/^\\[([]/.test(text)) {
      const displayMode = text.startsWith("\\[");
      katex.render(text.slice(2, -2), element, { displayMode, throwOnError: false });
    }
  }
});
