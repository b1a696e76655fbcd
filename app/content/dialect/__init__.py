"""The Markdown that content is written in: CommonMark with tables, and our few marks.

Added: math, computed numbers, citations, cloze marks, emphasis that works next to Chinese
punctuation, `|` inside math and code in tables. Taken away: raw HTML and reference definitions.
One file holds one rule; parser and renderer both use the `MarkdownIt` made here, so what counts
as math, code or a mark is decided in one place.
"""

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML

from app.content.dialect import citation, cloze, math, number, spacing, table_pipes
from app.content.dialect.inline_parser import InlineParser

__all__ = ["blocks_only", "make"]


def make(renderer: type[RendererHTML] = RendererHTML) -> MarkdownIt:
    """The full dialect, rendered by `renderer`."""
    markdown = MarkdownIt(renderer_cls=renderer)
    markdown.inline = parser = InlineParser()
    markdown.configure("commonmark", {"html": False, "xhtmlOut": False})
    markdown.enable("table").disable(["reference", "html_block", "html_inline"])
    for rule in (math, number, citation, cloze, table_pipes, spacing):
        rule.install(markdown)
    parser.prepare()
    return markdown


def blocks_only() -> MarkdownIt:
    """The dialect's block structure: inline text is left as it stands, to be read where needed."""
    markdown = make()
    markdown.core.ruler.enableOnly(["normalize", "block", "table_pipes"])
    return markdown
