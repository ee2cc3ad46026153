"""Pages run our scripts alone: what came from data has no nonce, even if escaping failed."""

import re

import pytest
from jinja2 import DictLoader, Environment
from markupsafe import Markup

from eyechart.data.store import Store
from eyechart.reporting.contents import Page
from eyechart.reporting.page import render, render_standings
from eyechart.reporting.policy import POLICY, mark_templates, secure
from eyechart.reporting.standings import collect_standings

PAGE = """<!doctype html>
<html><head>
<style>p { color: red }</style></head>
<body>{{ text }}<script type="module">1</script><script type="application/json">{}</script></body></html>"""


def filled(text: str) -> str:
    templates = Environment(loader=DictLoader({"it.html": PAGE}), autoescape=True)
    mark = mark_templates(templates)
    return secure(templates.get_template("it.html").render(text=Markup(text)), mark)  # noqa: S704 - as if escaping failed


def nonce_of(page: str) -> str:
    (nonce,) = set(re.findall(r"'nonce-(\w+)'", page))
    return str(nonce)


def test_only_scripts_and_styles_of_the_template_get_the_nonce() -> None:
    page = filled("<script>alert(1)</script><style>p { color: blue }</style>")
    nonce = nonce_of(page)

    assert page.count(f'nonce="{nonce}"') == 2
    assert f'<style nonce="{nonce}">p {{ color: red }}' in page
    assert f'<script nonce="{nonce}" type="module">' in page
    assert "<script>alert(1)</script><style>p { color: blue }" in page
    assert page.index("Content-Security-Policy") < page.index("<style")


def test_the_same_page_has_the_same_bytes_and_another_one_another_nonce() -> None:
    assert filled("a") == filled("a")
    assert nonce_of(filled("a")) != nonce_of(filled("b"))


def test_the_policy_loads_nothing_and_lets_no_inline_script_run() -> None:
    allowed = dict(part.strip().split(" ", 1) for part in POLICY.split(";"))

    assert allowed["default-src"] == "'none'"
    assert allowed["script-src"] == "'nonce-{nonce}'"
    assert allowed["img-src"] == "data: blob:"
    assert not any("http" in values or "*" in values or "eval" in values for values in allowed.values())


@pytest.mark.parametrize("which", ["report", "compare"])
def test_every_page_has_the_policy_and_nothing_inline_that_it_would_stop(page: Page, which: str, run: Store) -> None:
    html = render(page) if which == "report" else render_standings(collect_standings([run]))
    tags = re.findall(r"<(?:script|style)\b[^>]*>", html)
    data = [tag for tag in tags if "application/json" in tag or "text/plain" in tag]

    assert POLICY.format(nonce=nonce_of(html)) in html
    assert html.index("Content-Security-Policy") < 500
    assert {f'nonce="{nonce_of(html)}"' in tag for tag in tags if tag not in data} == {True}
    assert not any("nonce" in tag for tag in data)
    assert not re.search(r"<[a-z][^>]*\son\w+=", re.sub(r"(?s)<script.*?</script>", "", html))
