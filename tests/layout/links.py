# SPDX-License-Identifier: BSD-3-Clause
"""Prints the links of a tree's pages that lead nowhere, and pages that the index (docs/README.md) has not once: links.py TREE"""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "html"))
from headings import heading_names  # noqa: E402


def pages(tree):
    done = subprocess.run(["git", "-C", tree, "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], capture_output=True, text=True)
    names = done.stdout.split() if done.returncode == 0 and done.stdout else [
        os.path.relpath(os.path.join(folder, name), tree) for folder, _, files in os.walk(tree) for name in files if name.endswith(".md")]
    return sorted(name for name in names if os.path.exists(os.path.join(tree, name)))


def prose(text):
    """The page without code."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    return re.sub(r"^(?:    |\t).*$", "", text, flags=re.M)


def anchors(text):
    """The names of its headings."""
    return heading_names(re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading) for heading in re.findall(r"^#+ (.*)$", prose(text), flags=re.M))


def main(tree):
    texts = {name: open(os.path.join(tree, name), encoding="utf-8").read() for name in pages(tree)}
    index = re.findall(r"^(?:\| )?\[[^]]*\]\(([^)#]+\.md)\)|\[[^]]*\]\(([^)#]+\.md)\)", prose(texts.get("docs/README.md", "")), flags=re.M)
    index = [one or other for one, other in index]
    for name in texts:
        if name.startswith("docs/") and name != "docs/README.md":
            times = index.count(name[len("docs/"):])
            if times != 1:
                print(f"docs/README.md: {name[len('docs/'):]} is {'in the index twice' if times else 'not in the index'}")
    for name, text in texts.items():
        plain = re.sub(r"`[^`\n]*`", "", prose(text))
        for target in re.findall(r"\]\(([^)\s]+)\)", plain):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            file = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
            if not os.path.exists(os.path.join(tree, file)) or (anchor and file in texts and anchor not in anchors(texts[file])):
                print(f"{name}: {target}")


main(sys.argv[1])
