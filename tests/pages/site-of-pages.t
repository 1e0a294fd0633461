#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# `make html` makes a site of all pages and manuals whose links lead somewhere, and in a browser no page is wider than a phone or a
# screen (seconds: 300).
. "$(dirname "$0")/../lib.sh"
requires mandoc
/usr/bin/python3 -c 'import markdown_it' 2>/dev/null || skip_all "python3-markdown-it is not there"
site=$TMP/site
# look_at SITE: prints links to what is not there; the last line counts pages.
look_at() {
    python3 - "$1" <<'END'
import html.parser, os, sys
class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.ids, self.links = set(), []
        self.feed(open(path, encoding="utf-8").read())
    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id":
                self.ids.add(value)
            elif name in ("href", "src"):
                self.links.append(value)
pages = {os.path.join(folder, name): None for folder, _, names in os.walk(sys.argv[1]) for name in names if name.endswith(".html")}
pages = {path: Page(path) for path in pages}
for path, page in sorted(pages.items()):
    for link in page.links:
        if link.split(":")[0] in ("http", "https", "mailto"):
            continue
        file, _, anchor = link.partition("#")
        target = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
        if not os.path.exists(target) or (anchor and target in pages and anchor not in pages[target].ids):
            print(os.path.relpath(path, sys.argv[1]), link)
print("pages", len(pages))
END
}
ok "the site is made" /usr/bin/python3 -B "$TOP/docs/html/site.py" "$TOP" "$BUILD" "$site"
is "$(look_at "$site" | grep -v ^pages)" "" "every link leads to a file and a place in it"
count=$(cd "$TOP" && git ls-files 'docs/*.md' 'docs/man/*' README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md | wc -l)
ok "it has every page and manual" [ "$(look_at "$site" | sed -n 's/^pages //p')" -ge "$count" ]
like "$(cat "$site/docs/admin/pool.html")" '<a href="../../man/rgpud.8.html">rgpud\(8\)</a>' "a manual's name leads to it"
unlike "$(cat "$site"/*.html "$site"/*/*.html "$site"/*/*/*.html)" '<script|(src|href)="https?:[^"]*\.(css|js|png|svg)"' "nothing is fetched, and nothing runs"
mkdir "$TMP/bad"
cp "$site/style.css" "$TMP/bad"
echo '<a href="gone.html">x</a><a href="#no">y</a><p style="width: 2000px" id="wide">z</p>' >"$TMP/bad/page.html"
is "$(look_at "$TMP/bad" | xargs)" "page.html gone.html page.html #no pages 1" "what leads nowhere is found"

command -v chromium >/dev/null || { skip "chromium is not there"; done_testing; }
# fits SITE: opens each page at both widths; a step that does not come to pass names the page.
fits() {
    local steps=() page width
    while read -r page; do
        steps+=("go:file://$1/$page")
        for width in 360 1280; do
            steps+=("width:$width" "js:location.href.endsWith('/$page') && document.readyState == 'complete' && \
document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        done
    done < <(cd "$1" && find . -name '*.html' -printf '%P\n' | sort)
    python3 -B "$TOP/tests/broker/browse.py" "$TMP/profile$RANDOM" "file://$1/style.css" "${steps[@]}" >"$TMP/browse.out"
}
ok "each page fits a phone and a screen" fits "$site"
fails "one that does not is found" env BROWSE_SECONDS=5 bash -c "$(declare -f fits); TOP='$TOP' TMP='$TMP'; fits '$TMP/bad'"
done_testing
