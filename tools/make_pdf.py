"""Print the whole course as one PDF for each language, out of the built site: python3 make.py pdf.

make_pdf.js makes one document of a view's pages, in a browser that prints it, twice: the second time with the page
numbers that the first one gave.  print.css (which the site's own pages have too) and make_pdf.css say how it looks.
"""

import mimetypes
import os
import re
import shutil
import sys
import time
import tomllib
from datetime import date
from io import BytesIO
from pathlib import Path
from unicodedata import normalize

try:
    from playwright.sync_api import Error, sync_playwright
    from pypdf import PdfReader, PdfWriter
    from pypdf.generic import NameObject, TextStringObject
except ModuleNotFoundError as missing:
    sys.exit(f"{missing.name} is not installed: `python3 make.py pdf` installs it, then prints the course.")

ROOT = Path(__file__).resolve().parents[1]
BOOK, SITE, OUT = ROOT / "book", ROOT / "book" / "_build" / "site", ROOT / "book" / "_build" / "pdf"
BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "msedge",
    "microsoft-edge",
)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
NO_BROWSER = "No Chromium was found: install Chromium or Chrome, or put its path into the variable COURSE_BROWSER."
HOST = "http://course.invalid/"  # answered from the folder of the site; nothing else is
WIDTH = round((210 - 2 * 22) / 25.4 * 96)  # of the text, in CSS pixels: A4 less the margins of make_pdf.css
RADICALS = {f"{code:04X}": f"{ord(normalize('NFKC', chr(code))):04X}" for code in range(0x2F00, 0x2FD6)}
OF_RADICALS = zip(  # those that Unicode does not take for compatible
    "⺠⺟⻁⻄⻅⻆⻉⻋⻓⻔⻘⻙⻚⻛⻜⻝⻢⻣⻤⻥⻦⻧⻨⻩⻬⻮⻰⻳",
    "民母虎西见角贝车长门青韦页风飞食马骨鬼鱼鸟卤麦黄齐齿龙龟",
    strict=True,
)
RADICALS |= {f"{ord(radical):04X}": f"{ord(character):04X}" for radical, character in OF_RADICALS}
WORDS = {
    "zh": {
        "lang": "zh-Hans",
        "subtitle": "交互式课程的印刷版",
        "author": "课程作者",
        "creator": "注意力机制课程",
        "contents": "目录",
        "chapter": "第 {} 章",
        "page": "第 {} 页",
        "answers": "答案",
        "elsewhere": "答案在本章末尾",
        "interactive": "网站上的这幅图可以操作。",
        "version": "第 {version} 版 · {date}",
    },
    "en": {
        "lang": "en",
        "subtitle": "An interactive course, for paper",
        "author": "The course authors",
        "creator": "The attention course",
        "contents": "Contents",
        "chapter": "Chapter {}",
        "page": "p. {}",
        "answers": "Answers",
        "elsewhere": "Answer at the end of the chapter",
        "interactive": "On the site you can operate this figure.",
        "version": "Version {version} · {date}",
    },
}


class Unfit(Exception):
    """What keeps the document from paper, in a sentence."""


def launch(playwright):
    """Chromium; an Error where there is none."""
    path = os.environ.get("COURSE_BROWSER") or next(filter(None, map(shutil.which, BROWSERS)), None)
    return playwright.chromium.launch(executable_path=path, args=FLAGS)  # None: Playwright's own, if installed


def pages(view):
    """The pages in the order of _toc.yml: name, chapter's number, part in the view's language."""
    found, part = [], None
    for line in (BOOK / "_toc.yml").read_text("utf-8").splitlines():
        if caption := re.search(r"caption: (.+?) \| (.+)", line):
            part = caption[1 if view == "zh" else 2]
        if file := re.search(r"(?:root|file): (\S+)", line):
            number = re.match(r"(\d+)_", file[1])
            found.append({"name": file[1], "number": int(number[1]) if number else None, "part": part})
    return found


def answer(route):
    """A file of the site, or the empty page that the document is made in."""
    path = SITE / route.request.url.removeprefix(HOST).partition("?")[0]
    if path.name == "print.html":
        route.fulfill(body="<!doctype html><meta charset=utf-8>", content_type="text/html")
    elif not route.request.url.startswith(HOST):
        route.abort()
    elif path.is_file():
        route.fulfill(body=path.read_bytes(), content_type=mimetypes.guess_type(path)[0])
    else:
        route.fulfill(status=404)


def destinations(pdf):
    """{id: the number of its page} of what is linked to."""
    reader = PdfReader(BytesIO(pdf))
    numbers = {page.indirect_reference.idnum: i for i, page in enumerate(reader.pages, start=1)}
    found = reader.named_destinations.items()
    return {name.lstrip("/"): numbers[place.raw_get("/Page").idnum] for name, place in found}


def compose(page, view, wanted, base):
    """Make the document of the pages `wanted` in an empty page of the browser."""
    words = WORDS[view]
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    page.route("**/*", answer)
    page.goto(f"{HOST}{view}/print.html")
    page.emulate_media(media="print", color_scheme="light")
    for script in (BOOK / "_static" / "print.js", ROOT / "tools" / "make_pdf.js"):
        page.evaluate(script.read_text("utf-8"))
    page.evaluate(
        "given => makeDocument(given)",
        {
            "view": view,
            "pages": wanted,
            "words": words | {"version": words["version"].format(version=version, date=date.today())},
            "base": base,
            "styles": (ROOT / "tools" / "make_pdf.css").read_text("utf-8"),
        },
    )
    if wide := page.evaluate("fitToPaper()"):
        raise Unfit("Wider than the paper, so shorten it or break it into lines:\n  " + "\n  ".join(wide))


def print_pages(page):
    """The PDF of a document (bytes): printed again until the page numbers in it are its own."""
    found = {}
    for _ in range(5):
        pdf = page.pdf(prefer_css_page_size=True, print_background=True, tagged=True, outline=True)
        told, found = found, destinations(pdf)
        if told == found:
            return pdf
        page.evaluate("putPages", found)
    raise Unfit("The page numbers do not settle: a number that grows moves its own page.")


def bookmarks(items):
    """The items of an outline in the order of the pages."""
    for item in items:
        if isinstance(item, list):
            yield from bookmarks(item)
        else:
            yield item


def characters(cmap):
    """{code: text, both in hexadecimal} of a font's ToUnicode map."""
    found = {}
    for block in re.findall(r"beginbfchar(.*?)endbfchar", cmap, re.S):
        found |= dict(re.findall(r"<(\w+)>\s*<(\w+)>", block))
    for block in re.findall(r"beginbfrange(.*?)endbfrange", cmap, re.S):
        for first, last, text in re.findall(r"<(\w+)>\s*<(\w+)>\s*<(\w+)>", block):
            for i in range(int(last, 16) - int(first, 16) + 1):
                found[f"{int(first, 16) + i:0{len(first)}X}"] = f"{int(text, 16) + i:0{len(text)}X}"
    return found


def without_radicals(cmap):
    """The map with characters in place of radicals.  A font draws both by one glyph, Chromium names it by the radical,
    and nobody finds 注意力 where the file says 注意⼒."""
    found = {code: RADICALS.get(text.upper(), text) for code, text in characters(cmap).items()}
    lines = [f"<{code}> <{text}>" for code, text in found.items()]
    blocks = [lines[i : i + 100] for i in range(0, len(lines), 100)]  # the most that a block may have
    written = "\n".join(f"{len(block)} beginbfchar\n" + "\n".join(block) + "\nendbfchar" for block in blocks)
    start, end = re.search(r"\d+ beginbf", cmap).start(), cmap.index("endcmap")
    return cmap[:start] + written + "\n" + cmap[end:]


def mend_text(reader, writer):
    """Make the text of all fonts searchable."""
    maps = {}
    for page in reader.pages:
        for font in page["/Resources"].get("/Font", {}).values():
            if "/ToUnicode" in font.get_object():
                maps[font.get_object().raw_get("/ToUnicode").idnum] = font.get_object()["/ToUnicode"]
    for number, cmap in maps.items():
        old = cmap.get_data().decode("ascii")
        if RADICALS.keys() & {text.upper() for text in characters(old).values()}:
            writer.get_object(number).set_data(without_radicals(old).encode("ascii"))


def finish(pdf, titles, words):
    """The PDF with its author, and bookmarks with the headings' own words: Chromium's lose the spaces at line ends."""
    writer = PdfWriter(BytesIO(pdf), incremental=True)
    reader = PdfReader(BytesIO(pdf))
    items = list(bookmarks(reader.outline))
    if len(items) != len(titles):
        raise Unfit(f"There are {len(titles)} headings and {len(items)} bookmarks.")
    for item, title in zip(items, titles, strict=True):
        node = writer.get_object(item.node.indirect_reference.idnum)
        node[NameObject("/Title")] = TextStringObject(title)
    mend_text(reader, writer)
    writer.add_metadata({"/Author": words["author"], "/Creator": words["creator"]})
    writer.page_mode = "/UseOutlines"
    writer.write(out := BytesIO())
    return out.getvalue()


def make(browser, view, wanted, base):
    """The PDF (bytes) of the pages `wanted` of a view."""
    page = browser.new_page(viewport={"width": WIDTH, "height": 1000})
    compose(page, view, wanted, base)
    pdf = finish(print_pages(page), page.evaluate("headings()"), WORDS[view])
    page.close()
    return pdf


def write(path, content):
    """Write a file whole or not at all."""
    new = path.with_suffix(".new")
    try:
        new.write_bytes(content)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def main():
    if not (SITE / "index.html").exists():
        sys.exit("There is no site to print: build it with `python3 make.py build`.")
    with sync_playwright() as playwright:
        try:
            browser = launch(playwright)
        except Error:
            sys.exit(NO_BROWSER)
        for view in WORDS:
            start, path = time.monotonic(), OUT / f"attention-course-{view}.pdf"
            try:
                OUT.mkdir(exist_ok=True)
                pdf = make(browser, view, pages(view), os.environ.get("SITE_URL", ""))
                write(path, pdf)
            except (Unfit, Error, OSError) as error:
                sys.exit(f"{path.name} was not made. {error}".partition("\n    at ")[0])  # less where in make_pdf.js
            print(f"▸ {path.name}: {len(pdf) / 1e6:.1f} MB in {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
