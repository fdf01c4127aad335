"""Test tables as Markdown: what a renderer makes of them is what was put in."""

from __future__ import annotations

from markdown_it import MarkdownIt

from speechiq.reducer.output.markup import as_markdown, escape_markdown
from speechiq.reducer.stats.grid import Column, Grid

HOSTILE = [
    "a|b",
    "<script>alert(1)</script>",
    "&lt;b&gt;",
    "**bold** _slanted_ `code` ~~gone~~",
    "[click](http://example.org) ![x](y) www.example.org me@example.org",
    r"\input{/etc/passwd} \\ & % $x^2$ #1 {_}~",
    "[4em] first of a row",
    "* starred --- \"quoted\" 'once'",
    "# heading",
    "-1.77 -a-b",
    r"ends in \\",
    "[red]no markup[/red]",
    "日本語 ä",
]


def table_of(names: list[str]) -> Grid:
    columns = [Column("system", "\nSystem\nname"), Column("siq", "SIQ", ".2f", style="bold")]
    rows = [{"system": name, "siq": number} for number, name in enumerate(names)]
    return Grid("Speech IQ", columns, rows, ["100 % of a_b | <b>"])


def test_markdown_renders_to_the_same_text():
    tokens = MarkdownIt("gfm-like", {"linkify": False, "html": True}).parse(as_markdown(table_of(HOSTILE)))
    inline = [token for token in tokens if token.type == "inline"]
    cells = ["".join(child.content for child in token.children) for token in inline]
    assert cells[:2] == ["System<br>name", "SIQ"] and cells[-1] == "100 % of a_b | <b>"
    assert cells[2:-1:2] == HOSTILE and cells[3:-1:2] == [f"{number}.00" for number in range(len(HOSTILE))]
    assert {child.type for token in inline[1:] for child in token.children} <= {"text", "text_special"}
    assert [token.type for token in tokens].count("table_open") == 1 and "html_block" not in {t.type for t in tokens}


def test_markdown_aligns_and_makes_no_links():
    text = as_markdown(table_of(HOSTILE))
    assert text.splitlines()[1] == "| :--- | ---: |"
    assert "http://" not in text and "www." not in text and "me@" not in text


def test_every_punctuation_mark_survives_markdown():
    marks = "".join(map(chr, range(33, 127)))
    (token,) = MarkdownIt("gfm-like", {"linkify": False}).parseInline(escape_markdown(marks))
    assert "".join(child.content for child in token.children) == marks
