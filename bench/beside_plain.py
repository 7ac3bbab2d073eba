"""The tables of this folder's README for the site: its pages, some beside the same notebooks in plain Jupyter Book.

    python bench/beside_plain.py FOLDER

Plain is what `jupyter-book build` makes of the notebooks, the table of contents and a title.  What such pages take from
other hosts npm installs into FOLDER, which must lie outside this repository, and a server of ours gives it to the
browser in their name.  node, npm, openssl and Chromium must be there, and the site must be built.
"""

import functools
import http.server
import importlib.metadata
import re
import shutil
import ssl
import subprocess
import sys
import threading
from pathlib import Path

import brotli

from audit_site import VERSIONS, installed, lighthouse
from measure_site import COLUMNS, SITE, Host, conftest, machine, named, row, served
from test_weight import CHAPTERS, loads, packed

BOOK, README = SITE.parents[1], Path(__file__).with_name("README.md")
OURS = {"_build", "_config.yml", "_ext", "_static", "_templates"}
CONFIG = "title: The Attention Mechanism\nexecute:\n  execute_notebooks: force\n"  # as Jupyter Book's template has it
HOSTS = ["cdn.jsdelivr.net", "cdnjs.cloudflare.com"]
PACKAGE = re.compile(r"https://cdn\.jsdelivr\.net/npm/((?:@[\w-]+/)?[\w-]+@[\d.]+)/")
LOADER = "ajax/libs/require.js/2.3.4/require.min.js"  # npm has its source, but not this file
COMPARED = ["en/02*", "both/02*", "en/04*", "both/04*", "zh/07*", "both/07*", "en/index*", "both/index*"]
KEPT = re.compile(r"(?s)(?<=<!-- beside_plain\.py writes from here -->\n).*(?=<!-- to here -->)")
LIGHTHOUSE = "performance | accessibility | best practices | SEO"
OTHERS = "Other pages of the site:"
WEIGHTS = (
    "What a chapter and all that it can load weigh, in KiB, computed from the files as `tests/test_weight.py` does:"
)
REST = ["en/[01]*", "zh/02*", "zh/index*", "*/search*"]


class Elsewhere(Host):
    """Other hosts: whatever version is asked for, npm chose it; packed as small as can be, which is kind to plain."""

    coding, missing = "br", []
    packed = staticmethod(functools.cache(lambda path: brotli.compress(path.read_bytes())))

    def translate_path(self, path):
        return http.server.SimpleHTTPRequestHandler.translate_path(self, re.sub(r"^/npm|(?<=\w)@[^/]+", "", path))

    def send_error(self, *given):
        if not self.path.endswith(".map"):  # Lighthouse looks for sources too, which no reader loads
            self.missing.append(self.path)
        super().send_error(*given)

    def end_headers(self):
        self.send_header("Access-Control-Allow-Origin", "*")
        super().end_headers()


def build_plain(folder):
    """Build the plain book from nothing; returns the folder of its pages."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(BOOK, folder, ignore=lambda at, names: OURS.intersection(names) if Path(at) == BOOK else [])
    (folder / "_config.yml").write_text(CONFIG)
    subprocess.run([Path(sys.executable).with_name("jupyter-book"), "build", "-qq", folder], check=True)
    pages = folder / "_build" / "html"
    for page in pages.glob("*.html"):  # a loader that we packed ourselves has another hash
        page.write_text(re.sub(r' integrity="[^"]*"', "", page.read_text("utf-8")), "utf-8")
    return pages


def fetch(folder, pages):
    """Install what the pages take from other hosts; returns the folder that holds it."""
    packages = {name for page in pages.glob("*.html") for name in PACKAGE.findall(page.read_text("utf-8"))}
    anywidget = f"anywidget@{importlib.metadata.version('anywidget')}"
    modules = installed(folder, *packages, anywidget, "requirejs@2.3.4")
    shutil.copy(modules / "requirejs" / "require.js", modules / "loader.js")
    pack = ["node", "requirejs/bin/r.js", "-o", "baseUrl=.", "name=loader", "skipModuleInsertion=true", f"out={LOADER}"]
    subprocess.run(pack, cwd=modules, check=True, stdout=subprocess.DEVNULL)
    return modules


def stand_in(modules):
    """Serve what other hosts have, and tell every browser to ask here for it."""
    key, certificate = modules / "key.pem", modules / "certificate.pem"
    new = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost"]
    subprocess.run([*new, "-keyout", key, "-out", certificate], check=True, stderr=subprocess.DEVNULL)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Elsewhere, directory=modules))
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    rules = ", ".join(f"MAP {host} 127.0.0.1:{server.server_port}" for host in HOSTS)
    conftest.FLAGS.extend(["--ignore-certificate-errors", f"--host-resolver-rules={rules}"])


def addresses(course, plain):
    """(name, address) of what is compared: each page of both languages is followed by its plain one."""
    for name in named(COMPARED):
        yield name, f"{course}/{name}"
        if name.startswith("both/"):
            yield name.replace("both", "plain"), f"{plain}/{name.removeprefix('both/')}"


def scored(browser, modules, course, plain):
    """The rows of the pages that are compared."""
    for name, url in addresses(course, plain):
        measured = row(browser, url)
        scores = " | ".join(map(str, lighthouse(modules, url).values()))
        if Elsewhere.missing:
            sys.exit(f"{name} took from other hosts what was not installed: {Elsewhere.missing}")
        yield f"{name} | {measured} | {scores}"


def weights():
    """The rows of the chapters: what a page and all that it can load weighs in each view, computed as the tests do."""
    for chapter in sorted({name.partition("/")[2] for name in CHAPTERS}):
        views = (sum(map(packed, loads(SITE / view / chapter))) / 1024 for view in ("zh", "en", "both"))
        yield " | ".join([chapter[:2], *(f"{kib:.0f}" for kib in views)])


def table(head, rows):
    """A table in Markdown; each row is shown as soon as it is there."""
    lines = [f"| {head} |", f"|---{'|--:' * head.count('|')}|"]
    for cells in rows:
        lines.append(f"| {cells} |")
        print(lines[-1], flush=True)
    return "\n".join(lines)


def main(folder):
    folder = Path(folder).resolve()
    installed(folder, *VERSIONS)
    pages = build_plain(folder / "plain")
    modules = fetch(folder, pages)
    stand_in(modules)
    with served(SITE, Host) as course, served(pages, Host) as plain, conftest.chromium() as browser:
        versions = f"Jupyter Book {importlib.metadata.version('jupyter-book')}, {VERSIONS[0]}"
        written = [f"{machine(browser)}; {versions}."]
        print(written[0], flush=True)
        written.append(table(f"{COLUMNS} | {LIGHTHOUSE}", scored(browser, modules, course, plain)))
        rest = [name for name in named(REST) if name not in named(COMPARED)]
        written += [OTHERS, table(COLUMNS, (f"{name} | {row(browser, f'{course}/{name}')}" for name in rest))]
    keep([*written, WEIGHTS, table("chapter | zh | en | both", weights())])


def keep(written):
    """Put the paragraphs and tables into the README in place of those that it has."""
    text = README.read_text("utf-8")
    README.write_text(KEPT.sub(lambda _: "\n\n".join([*written, ""]), text), "utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
