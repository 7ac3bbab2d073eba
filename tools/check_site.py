"""Say whether a built site is whole, before it replaces the one that readers have.

python tools/check_site.py FOLDER      lists what is wrong; SITE_URL says where the site will be, if that is known
"""

import math
import os
import posixpath
import re
import sys
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit

from publish_site import LANGS, policy

ROOT = Path(__file__).resolve().parents[1]
VIEWS = [*LANGS, "both"]
AT_THE_ROOT = ["index.html", "404.html", "robots.txt", "_headers", "shared/social-card.png"]
KNOWN = {  # what stands on a page whatever its language; the number is the first weight of the three-token example
    "02_derivation.html": {
        "the formula of attention": r'"application/x-tex">\boxed{\;\operatorname{Attention}(Q, K, V)',
        "the weight e^½ / (e^½ + 2)": f"{math.exp(0.5) / (math.exp(0.5) + 2):.4f}",
        "the state of its widgets": "application/vnd.jupyter.widget-state+json",
    },
    "search.html": {"the place for what is found": 'id="search-results"'},
}
FEWEST_LETTERS, LARGEST_PAGE, LARGEST_SITE = 300, 4e6, 80e6  # bytes; GitHub Pages takes 1e9
CODE = re.compile(r"<(script|style)\b[^>]*>.*?</\1>", re.S)
LOADED = re.compile(r'\b(?:href|src|action)="([^"]*)"')
FROM_A_STYLE = re.compile(r"""url\(['"]?(?!data:|#)([^)'"]+)""")
HANDLER = re.compile(r'<[^>]*\s(on[a-z]+="[^"]*")')


def wanted():
    """The names of the pages that each view must have."""
    named = re.findall(r"(?m)^\W*(?:root|file): (\S+)", (ROOT / "book" / "_toc.yml").read_text("utf-8"))
    return [*(f"{name}.html" for name in named), "search.html"]


def wrong_in_page(html, bare, known):
    """What is wrong with a page by itself; `bare` is it without what stands in its scripts and styles."""
    letters = len("".join(re.sub(r"<[^>]+>", " ", bare).split()))
    if not html.rstrip().endswith("</html>") or "<h1" not in html or letters < FEWEST_LETTERS:
        yield "it is cut off or empty"
    yield from (f"{what} is missing" for what, text in known.items() if text not in html)
    if len(html.encode()) > LARGEST_PAGE:
        yield f"it has {len(html.encode()):,} bytes, more than {LARGEST_PAGE:,.0f}"
    if policy(html) not in html:
        yield "its policy is not that of its scripts and styles: was it changed after publish_site.py?"
    yield from (f"the policy refuses {handler}: listen in book/_static/course.js" for handler in HANDLER.findall(bare))


def dead_links(name, text, pattern, there):
    """Addresses in the page or style `name` that lead to none of the files `there`."""
    addresses = [urlsplit(unescape(address)) for address in set(pattern.findall(text))]
    for path in sorted({unquote(a.path) for a in addresses if a.path and not a.scheme and not a.netloc}):
        target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
        if target not in there and f"{target}/index.html" not in there:
            yield f"it names {path}, which is not there"


def wrong_at_address(site, address):
    """What is missing where the site's address is known: each page says it, and the site map lists them."""
    listed = re.findall(r"<loc>(.*?)</loc>", read(site / "sitemap.xml"))
    for name in wanted():
        for view in VIEWS:
            told = f'<link rel="canonical" href="{address}{"zh" if view == "both" else view}/{name}" />'
            if name != "search.html" and told not in read(site / view / name):
                yield f"{view}/{name}: it does not tell its address {address}…"
            if name != "search.html" and view in LANGS and f"{address}{view}/{name}" not in listed:
                yield f"sitemap.xml: {view}/{name} is missing"
    if f'data-site="{address}"' not in read(site / "404.html"):
        yield f"404.html: it does not know the address {address}"


def read(path):
    return path.read_text("utf-8") if path.is_file() else ""


def check(site, address=""):
    """Every fault of a site, each as a sentence that begins with the file."""
    site = Path(site)
    sizes = {path.relative_to(site).as_posix(): path.stat().st_size for path in site.rglob("*") if path.is_file()}
    asked = [f"{view}/{name}" for view in VIEWS for name in [*wanted(), "sections.js"]]
    faults = [f"{name}: it is missing or empty" for name in [*asked, *AT_THE_ROOT] if not sizes.get(name)]
    machine = [str(place) for place in {ROOT, Path.home(), Path(sys.prefix)} if len(place.parts) > 2]
    for name in sorted(name for name, size in sizes.items() if size and name.endswith((".html", ".css"))):
        text, found = read(site / name), []
        if name.endswith(".css"):
            found += dead_links(name, text, FROM_A_STYLE, sizes)
        elif name != "404.html":  # whose links are relative to nowhere
            bare = CODE.sub(lambda m: m[0].partition(">")[0], text)
            found += dead_links(name, bare, LOADED, sizes)
            found += wrong_in_page(text, bare, KNOWN.get(name.partition("/")[2], {})) if "/" in name else []
        found += [f"it names a folder of this machine, {place}" for place in machine if place in text]
        faults += [f"{name}: {fault}" for fault in found]
    if sum(sizes.values()) > LARGEST_SITE:
        faults.append(f"the site has {sum(sizes.values()):,} bytes, more than {LARGEST_SITE:,.0f}")
    return faults + (list(wrong_at_address(site, address)) if address else [])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    faults = check(sys.argv[1], os.environ.get("SITE_URL", ""))
    sys.exit("\n".join(["✗ The site is not whole, so it should not be published:", *faults]) if faults else None)
