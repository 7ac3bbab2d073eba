"""What a host and a disk get: the policy, addresses, the card, the page of lost readers, the archive, the two checks.
That every page of every view keeps to its policy is seen on the visits of test_site.py: a breach stands in the log."""

import http.server
import os
import re
import shutil
import threading
import time
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from PIL import Image

import check_links
import check_site
from conftest import READY, ROOT, SITE, Below, served
from publish_site import publish
from zip_site import FOLDER, pack, refuse_names

VIEWS = ["zh", "en", "both"]
ADDRESS = "https://someone.example/a/course/"
CHAPTER = "02_derivation.html"


# ---------------------------------------------------------------- what a page may load
PLANTED = """
<script>document.documentElement.dataset.inline = "ran";</script>
<script src="planted.js"></script>
<script src="https://other.example/a.js"></script>
<img src="https://other.example/a.png" alt="">
<iframe src="https://other.example/"></iframe>
<style>body { color: red }</style>
<button id="handler" onclick="document.documentElement.dataset.handler = 'ran'">x</button>
"""
PLANTED_FILE = """
const ran = document.documentElement.dataset;
ran.file = "ran";
try { eval("ran.eval = 'ran'"); } catch {}
try { new Function("document.documentElement.dataset.made = 'ran'")(); } catch {}
fetch("https://other.example/a").then(() => { ran.fetch = "ran"; }, () => {});
import("data:text/javascript,document.documentElement.dataset.data='ran'").catch(() => {});
"""
BREACHES = """window.breaches = [];
addEventListener("securitypolicyviolation", (e) => breaches.push(`${e.effectiveDirective} ${e.blockedURI}`));"""


@pytest.fixture
def copy(tmp_path):
    """A copy of the built site; its files are those of the site until one is written anew: use put()."""
    return Path(shutil.copytree(SITE, tmp_path / "site", copy_function=os.link))


def put(path, text):
    path.unlink(missing_ok=True)
    path.write_text(text, "utf-8")


def test_what_is_planted_in_a_page_is_refused_and_seen(open_page, copy):
    html = (SITE / "en" / CHAPTER).read_text("utf-8")
    put(copy / "en" / "planted.html", html.replace("</body>", PLANTED + "</body>"))
    put(copy / "en" / "planted.js", PLANTED_FILE)
    page = open_page()
    page.add_init_script(BREACHES)
    with served(copy) as url:
        page.goto(f"{url}/en/planted.html")
        page.wait_for_function(READY)  # the page's own scripts and modules run
        page.locator("#handler").dispatch_event("click")
        page.wait_for_function("() => breaches.length >= 10")
        ran = page.evaluate("({...document.documentElement.dataset})")
        assert sorted(page.evaluate("breaches")) == sorted([
            "script-src-elem inline",
            "script-src-elem https://other.example/a.js",
            "script-src-elem data",
            "script-src eval",
            "script-src eval",
            "script-src-attr inline",
            "style-src-elem inline",
            "img-src https://other.example/a.png",
            "frame-src https://other.example",
            "connect-src https://other.example/a",
        ])  # fmt: skip
    assert ran["file"] == "ran" and not {"inline", "handler", "eval", "made", "fetch", "data"} & set(ran)
    assert page.log.external == []
    assert len([line for line in page.log.console if "Content Security Policy" in line]) >= 8  # the visits would see it


# ---------------------------------------------------------------- addresses
def small_site(folder):
    """Three views of three pages, as they are before they are published."""
    for view in VIEWS:
        for name in ("index.html", "deep/one.html", "search.html"):
            path = folder / view / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(
                f'<html><head><meta charset="utf-8" />\n<meta name="description" content="About &quot;{view}&quot;" />'
                f"<title>{name} in {view} &#8212; Course</title>\n</head><body><h1>{name}</h1></body></html>"
            )
    (folder / "shared").mkdir()
    for template, name in (("chooser.html", "index.html"), ("404.html", "404.html")):
        shutil.copy(ROOT / "tools" / template, folder / name)
    return folder


def head(path):
    return BeautifulSoup(path.read_text("utf-8"), "html.parser").head


def twins(path):
    return {link["hreflang"]: link["href"] for link in head(path).find_all("link", rel="alternate")}


def test_pages_tell_their_addresses_and_twins_tell_of_each_other(tmp_path):
    site = small_site(tmp_path)
    publish(site, ADDRESS.rstrip("/"))
    for name in ("index.html", "deep/one.html"):
        default = ADDRESS if name == "index.html" else f"{ADDRESS}en/{name}"
        expected = {"zh-Hans": f"{ADDRESS}zh/{name}", "en": f"{ADDRESS}en/{name}", "x-default": default}
        for view in VIEWS:
            link = head(site / view / name).find("link", rel="canonical")
            assert link["href"] == f"{ADDRESS}{'zh' if view == 'both' else view}/{name}"
            assert twins(site / view / name) == ({} if view == "both" else expected)
    assert twins(site / "index.html") == twins(site / "en" / "index.html")
    assert head(site / "index.html").find("link", rel="canonical")["href"] == ADDRESS
    assert head(site / "en" / "search.html").find("meta", {"name": "robots"})["content"] == "noindex"
    mapped = ET.parse(site / "sitemap.xml").getroot()
    spaces = {"s": "http://www.sitemaps.org/schemas/sitemap/0.9", "x": "http://www.w3.org/1999/xhtml"}
    found = {
        url.find("s:loc", spaces).text: {a.get("hreflang"): a.get("href") for a in url.findall("x:link", spaces)}
        for url in mapped.findall("s:url", spaces)
    }
    names = ["index.html", *(f"{view}/{name}" for view in ("zh", "en") for name in ("index.html", "deep/one.html"))]
    assert found == {ADDRESS + ("" if name == "index.html" else name): twins(site / name) for name in names}
    assert f"Sitemap: {ADDRESS}sitemap.xml" in (site / "robots.txt").read_text("utf-8").split("\n")


def test_the_card_of_a_page_has_its_words_and_a_picture_of_the_wanted_size(tmp_path):
    site = small_site(tmp_path)
    publish(site, ADDRESS)
    metas = {tag["property"]: tag["content"] for tag in head(site / "both/deep/one.html").select("meta[property]")}
    assert metas["og:title"] == "deep/one.html in both" and metas["og:description"] == 'About "both"'
    assert metas["og:url"] == f"{ADDRESS}both/deep/one.html"
    picture = site / metas["og:image"].removeprefix(ADDRESS)
    with Image.open(picture) as card:
        assert card.size == (1200, 630) == (int(metas["og:image:width"]), int(metas["og:image:height"]))
    assert picture.stat().st_size < 100_000


def test_a_site_without_an_address_names_none(tmp_path):
    site = small_site(tmp_path)
    publish(site, "")
    assert not (site / "sitemap.xml").exists() and "Sitemap" not in (site / "robots.txt").read_text("utf-8")
    for page in site.rglob("*.html"):
        assert not head(page).find("link", rel=["canonical", "alternate"]) or page == site / "index.html"
        assert not head(page).select("meta[property]")


def test_what_hosts_keep_for_ever_is_named_after_its_content():
    paths = re.findall(r"(?m)^/(\S+)\n  Cache-Control: \S+ \S+ immutable$", (SITE / "_headers").read_text("utf-8"))
    kept = [path for name in paths for path in SITE.glob(name)]
    assert len(kept) > 20
    assert all(re.search(r"-[0-9a-f]{10}\.\w+$", path.name) for path in kept)


# ---------------------------------------------------------------- lost readers
class Host(Below):
    """Answers as GitHub Pages does: for what is missing, with 404.html."""

    def do_GET(self):
        path = Path(self.translate_path(self.path))
        if path.is_file() or (path / "index.html").is_file():
            return super().do_GET()
        self.send_response(404)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write((Path(self.directory) / "404.html").read_bytes())


def test_a_lost_reader_without_javascript_finds_back_from_any_depth(open_page, copy):
    with served(copy, Host) as url:
        html = (copy / "404.html").read_text("utf-8")
        put(copy / "404.html", re.sub(r'(href|action)="', rf'\1="{url}/', html))  # what publish() writes, but the port
        page = open_page(java_script_enabled=False)
        for asked, link, found in [
            ("/no/such/page.html", "English", "/en/index.html"),
            ("/zh/a/b/c/", "中文", "/zh/index.html"),
        ]:
            assert page.goto(url + asked).status == 404
            page.get_by_role("link", name=link).click()
            page.wait_for_url(url + found)


@pytest.mark.parametrize(
    "asked, offered, words, found",  # a word finds an assignment after the chapters
    [
        ("/en/2_derivation", CHAPTER, "derivation", CHAPTER),
        ("/zh/chapters/Derivation.htm?x=1#y", CHAPTER, "derivation", CHAPTER),
        ("/both/a2-scaled-attention/", "assignments/a2_scaled_attention.html", "scaled attention", "02_"),
    ],
)
def test_a_lost_reader_is_offered_the_page_and_the_search(open_page, asked, offered, words, found):
    with served(SITE, Host) as url:
        page = open_page()
        page.goto(url + asked)
        for view in VIEWS:
            page.locator(f'#near a[href="{url}/{view}/{offered}"]').wait_for()
        assert page.locator("[lang=en] input").input_value() == words
        page.get_by_role("button", name="Search").click()
        page.locator(f'#search-results a[href^="{found}"]').first.wait_for()
        assert page.url.startswith(f"{url}/en/search.html?q=") and page.log.external == []


# ---------------------------------------------------------------- whether a site is whole
def test_the_built_site_is_whole():
    assert check_site.check(SITE) == []


def test_each_damage_is_named(copy):
    site, damaged = copy, {}

    def damage(fault, name, old=None, new=None):
        damaged[name] = fault
        text = (site / name).read_text("utf-8")
        (site / name).unlink()
        if old is not None:
            assert old in text
            put(site / name, text.replace(old, new) if old else "")

    damage("it is missing or empty", "zh/05_masks.html")
    damage("it is missing or empty", "en/search.html")
    damage("it is missing or empty", "404.html")
    damage("it is missing or empty", "both/sections.js", "")
    damage("the weight e^½ / (e^½ + 2) is missing", "zh/02_derivation.html", "0.4519", "0.4520")
    damage("the formula of attention is missing", "en/02_derivation.html", r"\boxed{\;\operatorname{Attention}", "x")
    damage("it is cut off or empty", "en/glossary.html", "</html>", "")
    damage("it is cut off or empty", "en/errata.html", "<h1", "<p")
    damage(
        "it names nowhere.html, which is not there", "en/notation.html", "</h1>", '</h1><a href="nowhere.html">x</a>'
    )
    damage("its policy is not that", "zh/notation.html", "</body>", "<script>x</script></body>")
    damage("the policy refuses onclick", "both/notation.html", "</body>", '<i onclick="x()"></i></body>')
    damage("it names a folder of this machine", "zh/glossary.html", "</h1>", f"</h1>{check_site.ROOT}")
    style = next(site.glob("shared/course-*.css")).relative_to(site).as_posix()
    damage("it names files/lost.png, which is not there", style, ":root{", "a{background:url(files/lost.png)}:root{")
    damage("it is cut off or empty", "both/errata.html", "")
    put(site / "both/errata.html", f"<html>{check_site.policy('')}<h1>Errata</h1></html>")
    faults = check_site.check(site)
    told = {name: [fault for fault in faults if fault.startswith(f"{name}: {what}")] for name, what in damaged.items()}
    assert all(told.values()), told
    to_lost = [fault for fault in faults if re.search(r"names \S*(05_masks|search)\.html, which is not there", fault)]
    assert {*faults} == {*sum(told.values(), []), *to_lost} and to_lost


def test_a_site_that_does_not_know_its_address_is_not_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(check_site, "wanted", lambda: ["index.html", "deep/one.html", "search.html"])
    site = small_site(tmp_path)
    publish(site, ADDRESS)
    assert list(check_site.wrong_at_address(site, ADDRESS)) == []
    assert len(list(check_site.wrong_at_address(site, "https://elsewhere.example/"))) == 6 + 4 + 1


def test_a_site_that_grew_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(check_site, "LARGEST_SITE", 10)
    (tmp_path / "big.txt").write_bytes(b"x" * 11)
    assert check_site.check(tmp_path)[-1] == "the site has 11 bytes, more than 10"


# ---------------------------------------------------------------- the archive
def test_the_archive_works_from_a_disk(open_page, tmp_path):
    pack(SITE, tmp_path / "course.zip")
    home = tmp_path / "下载 (1)"
    with zipfile.ZipFile(tmp_path / "course.zip") as archive:
        archive.extractall(home)
    assert [path.name for path in home.iterdir()] == [FOLDER]
    root = home / FOLDER
    assert sorted(path.name for path in root.iterdir()) == ["READ-ME.txt", "both", "en", "index.html", "shared", "zh"]
    page = open_page(locale="zh-CN")
    page.add_init_script(BREACHES)
    page.goto((root / "index.html").as_uri())
    page.wait_for_url("**/zh/index.html")
    page.goto((root / "zh" / CHAPTER).as_uri())
    page.wait_for_function(READY)
    slider, picture = (page.locator(".afm-view").first.locator(part).first for part in ("input[type=range]", "svg"))
    before = picture.inner_html()
    slider.press("ArrowRight")
    assert picture.inner_html() != before
    page.evaluate("document.fonts.ready.then(() => true)")
    assert "KaTeX_Main" in page.evaluate(
        "[...document.fonts].filter((f) => f.status === 'loaded').map((f) => f.family)"
    )
    page.locator('.lang-switch a[data-lang="en"]').evaluate("link => link.click()")
    page.wait_for_url(f"**/en/{CHAPTER}*")
    page.goto((root / "en" / "search.html").as_uri())
    page.locator(".bd-search-container input[name=q]").fill("0.4519")
    page.locator(f'#search-results a[href^="{CHAPTER}"]').first.wait_for()
    assert page.evaluate("breaches") == []
    assert (page.log.external, page.log.failed, page.log.console) == ([], [], [])


def test_the_same_site_gives_the_same_archive(tmp_path):
    small_site(tmp_path / "a")
    shutil.copytree(tmp_path / "a", tmp_path / "b", copy_function=shutil.copyfile)
    for path in (tmp_path / "b").rglob("*.html"):
        os.utime(path, (10**9, 10**9))
        path.chmod(0o600)
    for name in "ab":
        pack(tmp_path / name, tmp_path / f"{name}.zip")
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


@pytest.mark.parametrize("name", ["a/图.png", "a/what?.html", "a/" + "x" * 99])
def test_names_that_windows_cannot_write_are_refused(name):
    with pytest.raises(ValueError, match="at most 100 letters"):
        refuse_names(["a/good.html", name])


# ---------------------------------------------------------------- links out
class Others(http.server.BaseHTTPRequestHandler):
    """Other people's sites: the address says how they answer."""

    asked = {}

    def do_GET(self):
        word = self.path.strip("/")
        self.asked[word] = self.asked.get(word, 0) + 1
        if word == "slow":
            return time.sleep(2)
        if word == "once":  # a fault of the moment
            word = "503" if self.asked[word] == 1 else "200"
        self.send_response(int(word[:3]))
        if word[0] == "3":
            self.send_header("Location", "/200")
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<h2 id='here'>x</h2><h2 id=user-content-there>x</h2>")

    def log_message(self, *args):
        """Quiet."""


def test_links_out_are_told_apart():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Others)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    answers = {word: check_links.ask(f"{url}/{word}", timeout=0.5) for word in (
        "200", "200#here", "200#there", "200#nowhere", "301", "302", "404", "410", "429", "403", "503", "once", "slow",
    )}  # fmt: skip
    server.shutdown()
    server.server_close()
    kinds = {word: kind for word, (kind, _) in answers.items()}
    assert kinds == {
        "200": "good", "200#here": "good", "200#there": "good", "302": "good", "once": "good",
        "301": "moved", "429": "unsure", "403": "unsure", "503": "unsure",
        "404": "dead", "410": "dead", "slow": "dead", "200#nowhere": "dead",
    }  # fmt: skip
    assert answers["301"][1] == f"{url}/200" and "404" in answers["404"][1] and "timed out" in answers["slow"][1]
    assert Others.asked["slow"] == Others.asked["503"] == 2 and Others.asked["404"] == 1
    assert check_links.ask(url)[0] == "dead"  # nobody listens any more


def test_links_out_are_taken_from_the_pages_and_a_dead_one_fails(tmp_path, monkeypatch, capsys):
    (tmp_path / "a.html").write_text('<a class="x" href="https://a.example/?a=1&amp;b=2">x</a><a href="b.html">y</a>')
    (tmp_path / "b.html").write_text('<link href="https://c.example/"><a href="https://b.example/#p">y</a>')
    monkeypatch.setattr(check_links, "ask", lambda address: ("good", ""))
    assert not check_links.main(tmp_path)
    monkeypatch.setattr(check_links, "ask", lambda address: ("dead" if "b.ex" in address else "good", "404 Not Found"))
    assert check_links.main(tmp_path)
    assert check_links.links(tmp_path) == {"https://a.example/?a=1&b=2": "a.html", "https://b.example/#p": "b.html"}
    assert "dead: 1 of 2\n  https://b.example/#p  (404 Not Found; on b.html)\n" in capsys.readouterr().out
