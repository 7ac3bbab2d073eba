"""Make a built site light: one style and one script for all pages, only the glyphs and files that are used.

The theme gives each page some twenty small files, most of them before the first paint.  Here the styles and the
scripts that every page has become one file each in shared/, named by their content, so that a browser may keep them.
"""

import hashlib
import os
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from io import BytesIO
from itertools import groupby
from pathlib import Path

import numpy as np
from fontTools import subset
from PIL import Image

from formula_glyphs import glyphs
from used_style import Vocabulary, used_style

STYLE = re.compile(r'<link\b[^>]*\brel="stylesheet"[^>]*>\n?')
SCRIPT = re.compile(r'<script\b[^>]*\bsrc="[^"]*"[^>]*></script>\n?')
PRELOAD = re.compile(r'<link\b[^>]*\brel="preload"[^>]*>\n?')
IMAGE = re.compile(r'<img\b[^>]*\bsrc="[^"]*"[^>]*>')
PICTURE = re.compile(r'(href|src)="([^":?#]*_images/[^"?#]+\.png)"')
ADDRESS = re.compile(r'\b(?:href|src)="([^"?#]+)')
URL = re.compile(r"""url\((['"]?)(?!data:|#|@)([^)'"?#]+)[^)]*?\1\)""")
STATIC = re.compile(r'"(?:\.\./)*_static/([^"?#]+)')
SHARED = re.compile(r'"[^":]*\b(?:shared|_static)/(widget_host\.js|favicon\.svg)(?:\?[^"]*)?"')
OUTSIDE = re.compile(r"""(?:@import\s+|url\()\s*['"]?((?:https?:)?//[^'")\s]+)""")
IMPORT = re.compile(r'@import "([^"]+)";')
OLD_FONT = re.compile(r',\s*url\([^)]*\)\s*format\("(?:woff|truetype)"\)')  # every browser with modules reads woff2
OPTIONS = re.compile(r'<script\b[^>]*\bsrc="([^"?]*documentation_options\.js)[^"]*"></script>')
SECTION = re.compile(r"<section\b|</section>")
UNSEEN = re.compile(r"(?s)<(script|style|math|pre|details|svg)\b.*?</\1>|<[^>]*>")
LETTERS = ("KaTeX_Main", "KaTeX_Math")  # the faces in which hints make small letters sharper
# of no use: 1.5 MB of icons that the theme's web font already has; menus, tooltips and tabs, of which no page has one
UNUSED = re.compile(r"/(?:fontawesome|bootstrap)\.js")
# the theme measures every code cell whenever anything in the text changes; course.js asks the browser to tell instead
MEASURING = re.compile(
    r'window\.addEventListener\("resize",(\w)\),new MutationObserver\(\1\)\.observe\('
    r'document\.getElementById\("main-content"\),\{subtree:!0,childList:!0\}\),\w\(\)'
)


def pages(site):
    """The pages of all views, also those that lie in a folder of a view."""
    return sorted(page for page in site.glob("*/**/*.html") if "_static" not in page.parts)


def view_of(page, site):
    return page.relative_to(site).parts[0]


@cache
def files(page, html, pattern):
    """{tag: the file of this site that it loads} in the order of the page."""
    found = {tag: (page.parent / ADDRESS.search(tag)[1]).resolve() for tag in pattern.findall(html)}
    return {tag: path for tag, path in found.items() if path.is_file()}


def write_named(folder, stem, suffix, data):
    """Write bytes to a file whose name ends in a hash of them, and return that name."""
    name = f"{stem}-{hashlib.sha256(data).hexdigest()[:10]}{suffix}"
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(data)
    return name


def used_icons(css):
    """Code points that the style shows: its rules are only those of icons that some page has."""
    return frozenset(map(ord, "".join(re.findall(r'(?:content|--[\w-]+):"([^"\\])"', css))))


@cache
def with_glyphs(font, points, hinting):
    """A woff2 font (bytes) cut down to these code points (a frozenset).

    All fonts are under the SIL Open Font License, and a changed font may not bear their reserved names: of the names,
    the copyright and the licence stay.
    """
    options = subset.Options(flavor="woff2", name_IDs=[0, 13, 14], hinting=hinting)
    loaded = subset.load_font(BytesIO(font), options)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=points)
    subsetter.subset(loaded)
    subset.save_font(loaded, out := BytesIO(), options)
    return out.getvalue()


def gather_style(paths):
    """The styles as one text with their imports in place, and the files that it points to as url(@number): a path may
    hold what ends a url()."""
    sources = []

    def numbered(path):
        sources.append(path.resolve())
        return f"url(@{len(sources) - 1})"

    def read(path):
        if outside := OUTSIDE.search(path.read_text("utf-8")):
            raise ValueError(f"{path.name} loads {outside[1]}: put the file into this site, which asks no other")
        text = IMPORT.sub(lambda m: read(path.parent / m[1]), path.read_text("utf-8"))
        return URL.sub(lambda m: numbered(path.parent / m[2]), OLD_FONT.sub("", text))

    return "\n".join(read(path) for path in paths), sources


def fit_style(text, sources, shared, known, faces):
    """The style less what the vocabulary `known` does not reach.  The files that it points to go to shared/files:
    KaTeX's fonts with the code points of `faces`, icon fonts with the icons of the style."""
    text = used_style(text, known)
    icons = used_icons(text)

    def with_used_font(match):
        source = sources[int(match[1])]
        return "" if source.suffix == ".woff2" and not faces.get(source.stem, icons) else match[0]

    def to_shared(match):
        source = sources[int(match[1])]
        if not source.is_file():
            return "none"  # named by the theme, not shipped by it
        data = source.read_bytes()
        if source.suffix == ".woff2":
            data = with_glyphs(data, faces.get(source.stem, icons), hinting=source.stem.startswith(LETTERS))
        return f"url(files/{write_named(shared / 'files', source.stem, source.suffix, data)})"

    text = re.sub(r"@font-face\s*\{[^{}]*url\(@(\d+)\)[^{}]*\}", with_used_font, text)
    return re.sub(r"url\(@(\d+)\)", to_shared, text)


def gather_scripts(paths):
    """The scripts as one text, in which one that fails (storage denied, a strict policy) does not stop the others.

    The names that a script declares for the others must outlive its block, so they become `var`.
    """
    texts = [re.sub(r"\n//# sourceMappingURL=.*", "", p.read_text("utf-8").strip()) for p in paths]
    texts = [re.sub(r"(?m)^(?:const|let)\s", "var ", text) for text in texts]
    return "\n".join(f"try {{\n{text}\n}} catch (error) {{ console.error(error); }}" for text in texts)


def prepare(page, shared):
    """A page's HTML, less what it loads twice; pictures are small and know their size, the tiny file of options moves
    into it."""
    html = PRELOAD.sub("", page.read_text("utf-8"))
    html = IMAGE.sub(lambda m: sized(m[0], page), html)
    html = PICTURE.sub(lambda m: with_small_picture(m, page, shared), html)
    html = OPTIONS.sub(lambda m: f"<script>{(page.parent / m[1]).read_text('utf-8').strip()}</script>", html)
    html = with_heights(html)
    return SCRIPT.sub(lambda m: "" if UNUSED.search(m[0]) else m[0], html)


def with_heights(html):
    """The page with a guess for each chapter section of how high it is: a browser lays out only the sections near the
    reader (course.css), and until then takes the guess."""
    depth, start, parts, done = 0, 0, [], 0
    for token in SECTION.finditer(html):
        depth += 1 if token[0] == "<section" else -1
        if depth == 2 and token[0] == "<section":
            start = token.end()
        elif depth == 1 and token[0] != "<section":
            parts += [html[done:start], f' style="--height: {height(html[start : token.start()])}px"']
            done = start
    return "".join([*parts, html[done:]])


def height(section):
    """How high a section is on a phone, on average less by a fifth: measured on the chapters at 412 px."""
    text = " ".join(UNSEEN.sub("", section).split())
    wide = sum("\u2e80" <= sign < "\uffef" for sign in text)
    lines = sum(code.count("\n") for code in re.findall(r"(?s)<pre\b.*?</pre>", section))
    pictures, widgets = section.count("<img"), section.count("widget-still")
    return round(150 + 1.3 * (len(text) + wide) + 23 * lines + 380 * pictures + 1700 * widgets)


def sized(tag, page):
    """An image's tag with its size (figures have 144 dots an inch), so that nothing moves when it arrives."""
    path = page.parent / ADDRESS.search(tag)[1]
    head = path.read_bytes()[:24] if path.suffix == ".png" and path.is_file() else b""
    if not head or " width=" in tag:
        return tag
    width, height = (round(int.from_bytes(head[i : i + 4], "big") * 96 / 144) for i in (16, 20))
    return tag.replace("<img ", f'<img width="{width}" height="{height}" loading="lazy" ', 1)


def with_small_picture(match, page, shared):
    """The name of a figure's file, which is written small to shared/files, once for all views."""
    name = write_named(shared / "files", "figure", ".webp", small_picture((page.parent / match[2]).read_bytes()))
    return f'{match[1]}="{os.path.relpath(shared / "files" / name, page.parent)}"'.replace(os.sep, "/")


def common(texts, pattern):
    """What every page loads, in the order of the first."""
    loads = [list(files(page, html, pattern).values()) for page, html in texts.items()]
    return [path for path in loads[0] if all(path in other for other in loads)]


def slim(page, html, bundled, shared, style, script):
    """The page with two tags, for files of `shared`, instead of the bundled ones.  Its own scripts wait for the
    bundle; the widgets don't."""
    own = []
    for tag, path in (files(page, html, STYLE) | files(page, html, SCRIPT)).items():
        if path in bundled or tag.startswith("<script"):
            html = html.replace(tag, "", 1)
        if path not in bundled and tag.startswith("<script"):
            own.append(re.sub(r'<script(?: defer(?:="defer")?)?', "<script defer", tag.strip()))
    own.sort(key=lambda tag: "widget_host" not in tag)  # a stable sort: the others stay in order
    first = [tag for tag in own if "widget_host" in tag]
    tags = [*first, f'<script defer src="{shared}/{script}"></script>', *own[len(first) :]]
    html = html.replace("<title>", f'<link rel="stylesheet" href="{shared}/{style}" />\n<title>', 1)
    return html.replace("</head>", "\n".join([*tags, "</head>"]), 1)


def bundle(site, texts, known, faces):
    """Replace what all pages of a view load by one style and one script."""
    styles, scripts = common(texts, STYLE), common(texts, SCRIPT)
    whole, sources = gather_style(styles)
    (site.parent / "whole-style.css").write_text(whole, "utf-8")  # for a test, which compares the two
    style = fit_style(whole, sources, site / "shared", known, faces)
    style = write_named(site / "shared", "course", ".css", style.encode())
    program, cut = MEASURING.subn("", gather_scripts(scripts))
    if cut != 1:
        raise ValueError("The theme's script has changed: find anew what in it measures every code cell (MEASURING).")
    script = write_named(site / "shared", "course", ".js", program.encode())
    for page, html in texts.items():
        shared = Path(os.path.relpath(site / "shared", page.parent)).as_posix()
        page.write_text(slim(page, html, {*styles, *scripts}, shared, style, script), "utf-8")


def seen(colours):
    """RGBA with the colour weighted by its opacity: what is transparent has none."""
    return np.hstack([colours[:, :3] * (colours[:, 3:] / 255), colours[:, 3:]])


def few_colours(picture):
    """A picture (RGBA) with a palette: its 256 commonest colours as they are, the others by the nearest of these.

    A figure has few flat colours and many that smooth the edges of its letters.  Pillow's own palettes keep
    transparency, but shift pale colours by more than a colour scale can bear.
    """
    pixels = np.array(picture.convert("RGBA"))
    packed, at, count = np.unique(pixels.view(np.uint32), return_inverse=True, return_counts=True)
    colours = packed.view(np.uint8).reshape(-1, 4)
    palette = colours[np.argsort(-count, kind="stable")[:256]]
    apart = ((seen(colours)[:, None] - seen(palette)) ** 2).sum(axis=-1)
    small = Image.fromarray(apart.argmin(axis=-1).astype(np.uint8)[at].reshape(pixels.shape[:2]), "P")
    small.putpalette(palette.tobytes(), "RGBA")
    return small


@cache
def small_picture(png):
    """A PNG file (bytes) as WebP without loss, beside its palette: a quarter smaller than the smallest PNG."""
    with Image.open(BytesIO(png)) as picture:
        small = few_colours(picture).convert("RGBA")
    small.save(out := BytesIO(), "WEBP", lossless=True, exact=True, quality=100, method=5)  # 6: six times as long
    return out.getvalue()


def drop_unnamed(site):
    """Remove what the bundles replace: KaTeX's folder, the colours, the figures, what of the theme no page names."""
    named = {name for p in pages(site) for name in STATIC.findall(p.read_text("utf-8"))}
    shutil.rmtree(site / "shared" / "katex")
    (site / "shared" / "colours.css").unlink()
    for view in site.glob("*/_static"):
        for path in [p for p in view.rglob("*") if p.is_file()]:
            if path.relative_to(view).as_posix() not in named:
                path.unlink()
    for path in site.glob("*/_images/*.png"):
        path.unlink()
    for folder, _, _ in os.walk(site, topdown=False):
        if not os.listdir(folder):
            os.rmdir(folder)


def name_by_content(site):
    """Give the files of shared/ that are neither bundle nor font a name that tells their content, on every page too."""
    names = {}
    for path in [site / "shared" / name for name in ("widget_host.js", "favicon.svg")]:
        names[path.name] = write_named(path.parent, path.stem, path.suffix, path.read_bytes())
        path.unlink()
    for page in site.glob("**/*.html"):
        base = Path(os.path.relpath(site / "shared", page.parent)).as_posix()
        html = SHARED.sub(lambda m, base=base: f'"{base}/{names[m[1]]}"', page.read_text("utf-8"))
        page.write_text(html, "utf-8")


def trim(site):
    """All of it."""
    site = Path(site).resolve()
    katex = site / "shared" / "katex"
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # the pages then find them made
        pool.map(small_picture, {path.read_bytes() for path in site.glob("*/_images/*.png")})
    texts = {page: prepare(page, site / "shared") for page in pages(site)}
    scripts = {path for page, html in texts.items() for path in files(page, html, SCRIPT).values()}
    known = Vocabulary(texts.values(), [path.read_text("utf-8") for path in sorted(scripts)])
    faces = [path.stem for path in katex.glob("fonts/*.woff2")]
    faces = glyphs(texts.values(), (katex / "katex.min.css").read_text("utf-8"), faces)
    for _, view in groupby(texts, lambda page: view_of(page, site)):
        bundle(site, {page: texts[page] for page in view}, known, faces)
    name_by_content(site)
    drop_unnamed(site)
