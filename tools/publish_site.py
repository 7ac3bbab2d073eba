"""What a site has besides its pages, written when these are finished: the policy in each page that says what it may
load, addresses for search engines where SITE_URL is known, and the files at the root.

Policy.  `default-src 'none'` forbids what no line allows: other origins, eval, frames, plug-ins.  No page connects to
anything, but what examines a site (Lighthouse) asks for its robots.txt from within the page.  Scripts: the site's own
files, the inline scripts of this page by their hash, and `blob:`, because a widget's module stands in the page and is
imported from there (a file could not be: browsers import no module from a disk).  `file:` is for a site on a disk,
where by the standard nothing need be 'self'; no page from the web may load a file of the reader's.  Styles: files and
hashes likewise; only style attributes are free, because KaTeX places each sign of a formula by one, more than a hundred
thousand on this site.  The line `style-src` is for older browsers, which do not know the two below it.

Languages.  A page of /zh/ or /en/ is canonical and names the other by hreflang; the page of /both/ says nothing that is
not in these two, so it names the Chinese one, with which it begins, as canonical, and stays out of the site map.
"""

import base64
import hashlib
import json
import re
import shutil
from html import escape, unescape
from pathlib import Path

from trim_site import pages

HERE = Path(__file__).parent
LANGS = {"zh": "zh-Hans", "en": "en"}
LOCALES = {"zh": "zh_CN", "en": "en_US", "both": "zh_CN"}
NAME = "注意力机制 · The Attention Mechanism"
CARD = "shared/social-card.png"
CARD_ALT = {
    "zh": "课程的标题，注意力的公式，三个词元的权重热图",
    "en": "The title of the course, the formula of attention, and a heat map of the weights of three tokens",
}
CHARSET = re.compile(r'<meta charset="utf-8"\s*/?>')
INLINE_SCRIPT = re.compile(r"<script\b(?![^>]*\bsrc=)([^>]*)>(.*?)</script>", re.S)
INLINE_STYLE = re.compile(r"<style\b[^>]*>(.*?)</style>", re.S)
WIDGETS = "application/vnd.jupyter.widget-state+json"
TITLE = re.compile(r"<title>(.*?)</title>", re.S)
REPEATED = re.compile(r"<title>([^<]*?) &#8212; \1</title>", re.I)  # the first page is called as the course is
HASHED = re.compile(r"-[0-9a-f]{10}\.\w+$")  # named by trim_site.py after its content


# ---------------------------------------------------------------- the policy
def sources(texts):
    """Texts as hashes for a policy, each once."""
    hashes = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts)
    return "".join(f" 'sha256-{value}'" for value in dict.fromkeys(hashes))


def policy(html):
    """What a page may load, as a meta element."""
    scripts, styles = [], INLINE_STYLE.findall(html)
    for attributes, text in INLINE_SCRIPT.findall(html):
        kind = re.search(r'\btype="([^"]*)"', attributes)
        if not kind or kind[1] in ("module", "text/javascript"):
            scripts.append(text)
        elif kind[1] == WIDGETS:  # widget_host.js puts their styles into the page
            states = json.loads(text)["state"].values()
            styles += [model["state"]["_css"] for model in states if model["state"].get("_css")]
    lines = [
        "default-src 'none'",
        f"script-src 'self' file: blob:{sources(scripts)}",
        "style-src 'self' file: 'unsafe-inline'",
        f"style-src-elem 'self' file:{sources(styles)}",
        "style-src-attr 'unsafe-inline'",
        "img-src 'self' file: data:",
        "font-src 'self' file:",
        "connect-src 'self'",
        "form-action 'self' file:",
        "base-uri 'none'",
    ]
    return f'<meta http-equiv="Content-Security-Policy" content="{"; ".join(lines)}" />'


# ---------------------------------------------------------------- addresses
def alternates(name, address):
    """{language: address} of a page such as 02_derivation.html; of the first page, the root is for whoever speaks
    neither language, as it asks the browser."""
    found = {tag: f"{address}{view}/{name}" for view, tag in LANGS.items()}
    return found | {"x-default": address if name == "index.html" else found["en"]}


def title(html):
    """The title of a page without that of the course."""
    page, _, course = unescape(TITLE.search(html)[1]).rpartition(" — ")
    return page or course


def addresses(name, html, address):
    """The elements that tell a page's address, its twins and its card; `name` is relative to the site."""
    view, _, page = name.partition("/")
    if page == "search.html" or name == "404.html":
        return ['<meta name="robots" content="noindex" />']
    if not address:
        return []
    own = address + ("" if name == "index.html" else name)
    others = {} if view == "both" else alternates(page or name, address)
    told = re.search(r'<meta name="description" content="([^"]*)"', html)
    card = {
        "og:type": "website" if name.endswith("index.html") else "article",
        "og:site_name": NAME,
        "og:title": title(html),
        "og:description": unescape(told[1]) if told else "",
        "og:url": own,
        "og:locale": LOCALES.get(view, "zh_CN"),
        "og:image": address + CARD,
        "og:image:width": "1200",
        "og:image:height": "630",
        "og:image:alt": CARD_ALT["en" if view == "en" else "zh"],
    }
    return [
        f'<link rel="canonical" href="{own if others else alternates(page, address)[LANGS["zh"]]}" />',
        *(f'<link rel="alternate" hreflang="{tag}" href="{other}" />' for tag, other in others.items()),
        *(f'<meta property="{key}" content="{escape(value)}" />' for key, value in card.items()),
        '<meta name="twitter:card" content="summary_large_image" />',
    ]


def finish(path, site, address):
    """Write the policy and the addresses into a finished page."""
    html = REPEATED.sub(r"<title>\1</title>", path.read_text("utf-8"))
    name = path.relative_to(site).as_posix()
    tags = addresses(name, html, address)
    tags.append(f'<link rel="apple-touch-icon" href="{"../" * name.count("/")}shared/icon.png" />')
    html = html.replace("</head>", "".join(f"{tag}\n" for tag in tags) + "</head>", 1)
    path.write_text(CHARSET.sub(lambda m: f"{m[0]}\n{policy(html)}", html, count=1), "utf-8")


# ---------------------------------------------------------------- the files at the root
def titles(site):
    """{page: {view: title}} of the pages in one language, for the page of lost readers."""
    found = {}
    for view in LANGS:
        for page in pages(site):
            name = page.relative_to(site).as_posix()
            if name.startswith(f"{view}/") and not name.endswith("/search.html"):
                found.setdefault(name.partition("/")[2], {})[view] = title(page.read_text("utf-8"))
    return found


def not_found(site, address):
    """The page for addresses that lead nowhere, with links that hold at any depth where the site's address is known."""
    html = (site / "404.html").read_text("utf-8").replace('data-site=""', f'data-site="{address}"')
    html = re.sub(r'(href|action)="', rf'\1="{address}', html)
    known = json.dumps(titles(site), ensure_ascii=False).replace("</", "<\\/")
    (site / "404.html").write_text(html.replace("{}", known, 1), "utf-8")


def site_map(site, address):
    """The addresses that search engines should know, each with its twin's."""
    names = sorted(titles(site))
    entries = [(address, "index.html")] + [(f"{address}{view}/{name}", name) for view in LANGS for name in names]
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    lines.append(
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:xhtml="http://www.w3.org/1999/xhtml">'
    )
    for own, name in entries:
        twins = alternates(name, address).items()
        links = "".join(f'<xhtml:link rel="alternate" hreflang="{tag}" href="{other}"/>' for tag, other in twins)
        lines.append(f"<url><loc>{own}</loc>{links}</url>")
    (site / "sitemap.xml").write_text("\n".join([*lines, "</urlset>\n"]), "utf-8")


def robots(site, address):
    lines = [
        "# Crawlers read this at the root of a host only: of a site in a folder (user.github.io/course/) they read"
    ]
    lines += [
        "# the meta elements of its pages, and its site map if somebody hands it in.",
        "User-agent: *",
        "Allow: /",
    ]
    lines += [f"Sitemap: {address}sitemap.xml"] if address else []
    (site / "robots.txt").write_text("\n".join(lines) + "\n", "utf-8")


def headers(site):
    """For Netlify and Cloudflare Pages, which read this file: what is named after its content may be kept for ever.
    (Pages they have looked up each time by themselves.)"""
    kept = sorted(p.relative_to(site).as_posix() for p in site.glob("shared/*") if HASHED.search(p.name))
    rules = [f"/{name}\n  Cache-Control: public, max-age=31536000, immutable" for name in [*kept, "shared/files/*"]]
    (site / "_headers").write_text("\n".join([*rules, "/*\n  X-Content-Type-Options: nosniff", ""]), "utf-8")


def publish(site, address):
    """All of it.  `address` is that of the site's root, empty where nobody knows it."""
    address = address and address.rstrip("/") + "/"
    for name in ("social-card.png", "icon.png"):
        shutil.copy(HERE / name, site / "shared")
    not_found(site, address)
    for path in [site / "index.html", site / "404.html", *pages(site)]:
        finish(path, site, address)
    robots(site, address)
    headers(site)
    if address:
        site_map(site, address)
    (site / ".nojekyll").touch()  # GitHub Pages would drop _static
