#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes a site of the tree's pages and manuals, for reading offline: site.py TREE BUILD SITE

Each page X.md becomes X.html at the same place; README.md is index.html. Manuals, those that the build makes too, become man/NAME.N.html
by mandoc. Links between pages, and a manual's name with its section, lead to pages of the site; files of the tree that pages link to are
copied. It needs nothing but the browser: one style sheet, no script."""
import html
import os
import re
import shutil
import subprocess
import sys

from headings import heading_names
from markdown_it import MarkdownIt

HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="stylesheet" href="{up}style.css">
</head>
<body>
<nav><a href="{up}index.html">rgpu</a> <a href="{up}docs/index.html">All pages</a> <a href="{up}man/index.html">Manuals</a>
<a href="{up}CHANGELOG.html">Changes</a></nav>
<main>
"""
TAIL = "</main>\n</body>\n</html>\n"
TOP_PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
MANUAL = re.compile(r"\b(rgpu[a-z-]*|librgpu)\((\d)\)")


def below(folder, ending):
    for place, _, names in os.walk(folder):
        yield from (os.path.join(place, name) for name in names if name.endswith(ending))


def site_name(page):
    """The place in the site of a page of the tree."""
    folder, name = os.path.split(page)
    return os.path.join(folder, "index.html" if name == "README.md" else name[:-len(".md")] + ".html")


class Site:
    def __init__(self, tree, build, out):
        self.tree, self.out = tree, out
        self.pages = [name for name in TOP_PAGES if os.path.exists(os.path.join(tree, name))]
        self.pages += sorted(os.path.relpath(name, tree) for name in below(os.path.join(tree, "docs"), ".md"))
        found = [os.path.join(folder, name) for folder in (os.path.join(tree, "docs/man"), os.path.join(build, "docs"))
                 if os.path.isdir(folder) for name in os.listdir(folder) if re.search(r"\.[1-8]$", name)]
        self.manuals = {os.path.basename(name): name for name in sorted(found, key=os.path.basename)}
        self.reader = MarkdownIt("commonmark", {"html": True}).enable("table")

    def write(self, name, title, body):
        path = os.path.join(self.out, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        up = "../" * name.count("/")
        with open(path, "w", encoding="utf-8") as file:
            file.write(HEAD.format(title=html.escape(title), up=up) + body + TAIL)

    def target(self, page, link):
        """Where LINK of PAGE leads in the site; files that are no pages are copied there."""
        if re.match(r"[a-z]+:|#", link):
            return link
        path, mark, anchor = link.partition("#")
        file = os.path.normpath(os.path.join(os.path.dirname(page), path))
        if file in self.pages:
            return os.path.relpath(site_name(file), os.path.dirname(page) or ".") + mark + anchor
        if file == "docs/man":
            return os.path.relpath("man/index.html", os.path.dirname(page) or ".")
        source = os.path.join(self.tree, file)
        if os.path.isfile(source):
            copy = os.path.join(self.out, file)
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            shutil.copyfile(source, copy)
        return path

    def name_headings(self, tokens):
        openings = [(opening, inline) for opening, inline in zip(tokens, tokens[1:]) if opening.type == "heading_open"]
        texts = ["".join(part.content for part in inline.children if part.type in ("text", "code_inline")) for _, inline in openings]
        for (opening, _), name in zip(openings, heading_names(texts)):
            opening.attrSet("id", name)

    def turn_links(self, page, tokens):
        for token in tokens:
            for part in token.children or ():
                for attribute in ("href", "src"):
                    if part.attrGet(attribute):
                        part.attrSet(attribute, self.target(page, part.attrGet(attribute)))

    def link_manuals(self, up, text):
        """TEXT, which is HTML, with links around names of manuals that are no links yet."""
        def link(match):
            name = f"{match[1]}.{match[2]}"
            return f'<a href="{up}man/{name}.html">{match[0]}</a>' if name in self.manuals else match[0]
        parts = re.split(r"(<a .*?</a>|<pre.*?</pre>|<[^>]*>)", text, flags=re.S)
        return "".join(part if part.startswith("<") else MANUAL.sub(link, part) for part in parts)

    def make_page(self, page):
        with open(os.path.join(self.tree, page), encoding="utf-8") as file:
            tokens = self.reader.parse(file.read())
        self.name_headings(tokens)
        self.turn_links(page, tokens)
        title = next((token.content for before, token in zip(tokens, tokens[1:]) if before.type == "heading_open"), page)
        body = self.reader.renderer.render(tokens, self.reader.options, {})
        body = body.replace("<table>", '<div class="wide"><table>').replace("</table>", "</table></div>")
        name = site_name(page)
        self.write(name, title.replace("`", ""), self.link_manuals("../" * name.count("/"), body))

    def make_manual(self, name, path):
        body = subprocess.run(["mandoc", "-Thtml", "-Ofragment", path], check=True, capture_output=True, text=True).stdout
        self.write(f"man/{name}.html", re.sub(r"\.(\d)$", r"(\1)", name), '<div class="manual">' + self.link_manuals("../", body) + "</div>")

    def make(self):
        shutil.rmtree(self.out, ignore_errors=True)
        os.makedirs(self.out)
        shutil.copyfile(os.path.join(os.path.dirname(os.path.abspath(__file__)), "style.css"), os.path.join(self.out, "style.css"))
        for page in self.pages:
            self.make_page(page)
        rows = []
        for name, path in self.manuals.items():
            self.make_manual(name, path)
            with open(path, encoding="utf-8") as file:
                what = re.search(r"^\.Nd (.*)$", file.read(), flags=re.M)
            shown = re.sub(r"\.(\d)$", r"(\1)", name)
            rows.append(f'<tr><td><a href="{name}.html">{shown}</a></td><td>{html.escape(what[1] if what else "")}</td></tr>')
        self.write("man/index.html", "Manuals", f'<h1>Manuals</h1>\n<div class="wide"><table>{"".join(rows)}</table></div>\n')


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    Site(*sys.argv[1:]).make()
