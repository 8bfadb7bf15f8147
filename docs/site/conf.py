# SPDX-License-Identifier: MIT
"""The manual: how Sphinx makes one site, and pages for man(1), of what the tree has.

Owns: the tables of contents, which follow docs/README.md; the page of reference, which is made of
the headers (reference.py); links to files that are no page.
The Markdown pages stay where they are, so that they read the same on any forge. The root of the
sources is the root of the tree, because pages link to each other by relative paths.

    make manual        # build/manual/html/index.html, and build/manual/man
"""
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import reference  # noqa: E402  pylint: disable=wrong-import-position

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
HEADERS = ("talus.h", "bounded.h", "profile.h")
OTHERS = ("docs/README", "CHANGELOG", "CONTRIBUTING", "SECURITY", "src/README", "bench/README",
          "bench/results", "tests/conformance/README", "tests/fuzz/README", "tests/misuse/README")


def text_of(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


project = "Talus"
author = "the authors of Talus"
release = version = re.search(r'TALUS_VERSION "([^"]+)"', text_of("include/talus/talus.h"))[1]
root_doc = "README"
extensions = ["myst_parser"]
include_patterns = ["README.md", "docs/**.md", *(f"{page}.md" for page in OTHERS)]
myst_heading_anchors = 3
html_theme = "furo"
html_title = f"Talus {version}"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
man_pages = [
    ("docs/site/reference", "libtalus", "functions of the Talus memory allocator", author, 3),
    ("docs/configuration", "talus.conf", "settings of the Talus memory allocator", author, 5)]


def contents():
    """(caption, pages): for each table of docs/README.md, and for what lies elsewhere."""
    for part in re.split(r"^## ", text_of("docs/README.md"), flags=re.M)[1:]:
        title, body = part.split("\n", 1)
        pages = [f"docs/{page}" for page in re.findall(r"^\| \[[^]]+\]\(([^)]+)\.md\)", body, re.M)]
        yield title, pages
    yield "The project", list(OTHERS)


def add_to_page(_app, name, source):
    """What two pages have on the site alone."""
    if name == root_doc:
        for title, pages in contents():
            source[0] += (f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n" +
                          "\n".join(pages) + "\n```\n")
    elif name == "docs/site/reference":
        for header in HEADERS:
            text = reference.page_of(text_of(f"include/talus/{header}"))
            source[0] += f"\n## {header}\n\n{text}"


def add_front_page(app, error):
    """A web server looks for index.html."""
    if error is None and app.builder.name == "html":
        shutil.copy(os.path.join(app.outdir, "README.html"), os.path.join(app.outdir, "index.html"))


def setup(app):
    app.connect("source-read", add_to_page)
    app.connect("build-finished", add_front_page)
