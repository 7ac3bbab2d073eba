"""Weight, loading and slider latency of the built pages, as a Markdown table.

    python bench/measure_site.py               every page of every view
    python bench/measure_site.py "en/02*"      the pages that match

Build the site first (`python3 make.py build`); Playwright comes with the extra `test`.
"""

import datetime
import functools
import gzip
import os
import platform
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))  # where conftest has its browser from
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import conftest
from conftest import LOCAL, SITE, Below, served

PHONE = {"viewport": {"width": 412, "height": 823}, "device_scale_factor": 2.625, "is_mobile": True, "has_touch": True}
SLOW_4G = {"offline": False, "latency": 150, "downloadThroughput": 1.6e6 / 8, "uploadThroughput": 0.75e6 / 8}
LOADS, STEPS, SLOWDOWN, PATIENCE = 5, 60, 6, 120_000
COLUMNS = (
    "page | KiB | requests | to others | first paint s | widgets live s | load s | CLS | slider ms | slider, CPU ÷ 6 ms"
)
WATCH = """
  window.seen = { moved: 0 };
  const shifts = new PerformanceObserver((list) => list.getEntries().forEach((e) => (seen.moved += e.value)));
  shifts.observe({ type: "layout-shift", buffered: true });
  const WIDGETS = 'script[type="application/vnd.jupyter.widget-view+json"]';
  const FILLED = ".afm-view:has(> *), .widget-subarea:has(> * > *)"; // by our host, by Jupyter's own
  const count = (selector) => document.querySelectorAll(selector).length;
  const ready = new MutationObserver(() => {
    if (document.readyState === "loading" || !count(WIDGETS) || count(FILLED) < count(WIDGETS)) return;
    seen.live = performance.now();
    ready.disconnect();
  });
  ready.observe(document, { subtree: true, childList: true });
  seen.done = () => seen.live !== undefined || !count(WIDGETS);
"""
LOADED = """() => {
  const [visit] = performance.getEntriesByType("navigation");
  const [paint] = performance.getEntriesByName("first-contentful-paint");
  return { paint: paint.startTime, live: seen.live, load: visit.loadEventEnd, moved: seen.moved };
}"""
TIME_INPUTS = """(view) => {
  let start = null;
  window.delays = [];
  addEventListener("input", () => (start = performance.now()), true);
  const seen = new MutationObserver(() => {
    if (start !== null) delays.push(performance.now() - start);
    start = null;
  });
  const changes = { subtree: true, childList: true, characterData: true, attributes: true };
  for (const picture of view.querySelectorAll("svg")) seen.observe(picture, changes);
}"""


class Host(Below):
    """The tests' server, with what a web host adds: gzip, and connections that stay open."""

    protocol_version, disable_nagle_algorithm, coding = "HTTP/1.1", True, "gzip"
    packed = staticmethod(functools.cache(lambda path: gzip.compress(path.read_bytes(), 6)))

    def do_GET(self):
        path = Path(self.translate_path(self.path))
        if not path.is_file():
            return self.send_error(404)
        kind = self.guess_type(path)
        text = any(word in kind for word in ("text", "script", "json", "xml"))
        data = self.packed(path) if text else path.read_bytes()
        self.send_response(200)
        for name, value in {"Content-Type": kind, "Content-Length": len(data)}.items():
            self.send_header(name, str(value))
        if text:
            self.send_header("Content-Encoding", self.coding)
        self.end_headers()
        self.wfile.write(data)


def visit(page, url):
    """Open a page and wait for all that comes by itself."""
    page.add_init_script(WATCH)
    page.goto(url, wait_until="load", timeout=PATIENCE)
    page.wait_for_load_state("networkidle", timeout=PATIENCE)
    page.wait_for_function("() => seen.done()", timeout=PATIENCE)


def load_once(browser, url):
    """What a phone on slow 4G with an empty cache sees: milliseconds, and the sum of all layout shifts."""
    with browser.new_context(**PHONE) as context:
        page = context.new_page()
        context.new_cdp_session(page).send("Network.emulateNetworkConditions", SLOW_4G)
        visit(page, url)
        return page.evaluate(LOADED)


def weigh(browser, url):
    """(KiB, requests, those to other hosts) of a page that is read to its end: pictures load as they come near."""
    with browser.new_context(**PHONE) as context:
        page, sizes, names = context.new_page(), {}, {}
        session = context.new_cdp_session(page)
        session.on("Network.requestWillBeSent", lambda e: names.update({e["requestId"]: e["request"]["url"]}))
        session.on("Network.loadingFinished", lambda e: sizes.update({e["requestId"]: e["encodedDataLength"]}))
        session.send("Network.enable")
        visit(page, url)
        for picture in page.locator("article img").all():
            picture.scroll_into_view_if_needed()
            picture.evaluate("(e) => e.decode()")
        page.wait_for_load_state("networkidle")
        sent = {key: size for key, size in sizes.items() if names[key].startswith("http")}
        return sum(sent.values()) / 1024, len(sent), sum(not names[key].startswith(LOCAL) for key in sent)


def latency(browser, url, slowdown):
    """95th percentile over the events of each widget's first slider, the slowest widget's; None without widgets."""
    with browser.new_context(viewport={"width": 1300, "height": 1000}) as context:
        page = context.new_page()
        visit(page, url)
        context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": slowdown})
        worst = None
        for view in page.locator(".attn-widget:has(input[type=range]):has(svg)").all():
            view.evaluate(TIME_INPUTS)
            move(page, view.locator("input[type=range]").first)
            delays = page.evaluate("delays")
            assert len(delays) >= STEPS, f"only {len(delays)} of the movements were drawn at once"
            worst = max(worst or 0, statistics.quantiles(delays, n=20)[-1])
        return worst


def move(page, slider):
    """Key presses to and fro, then a drag to and fro."""
    slider.focus()
    for i in range(STEPS):
        page.keyboard.press("ArrowLeft" if i % 2 else "ArrowRight")  # some sliders have few steps
    box = slider.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    for share in (0.9, 0.1):
        page.mouse.move(box["x"] + box["width"] * share, box["y"], steps=STEPS)
    page.mouse.up()


def row(browser, url):
    kib, *requests = weigh(browser, url)
    loads = [load_once(browser, url) for _ in range(LOADS)]
    paint, live, load = (seconds([seen.get(key) for seen in loads]) for key in ("paint", "live", "load"))
    moved = max(seen["moved"] for seen in loads)
    drawn = ["–" if ms is None else f"{ms:.1f}" for ms in (latency(browser, url, s) for s in (1, SLOWDOWN))]
    return " | ".join([f"{kib:.0f}", *map(str, requests), paint, live, load, f"{moved:.3f}", *drawn])


def seconds(times):
    return "–" if None in times else f"{statistics.median(times) / 1000:.2f}"


def machine(browser):
    """One line that says what was measured on."""
    cpu = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        cpu = next((line.partition(": ")[2] for line in lines if line.startswith("model name")), cpu)
    busy = f", load average {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    system = f"{os.cpu_count()} cores, {cpu}, {platform.system()}, Chromium {browser.version}"
    return f"{datetime.date.today()}: {system}{busy}"


def named(patterns):
    """The pages that match, in the order of the patterns."""
    return [page.relative_to(SITE).as_posix() for pattern in patterns for page in sorted(SITE.glob(pattern))]


def main(patterns):
    with served(SITE, Host) as base, conftest.chromium() as browser:
        print(f"{machine(browser)}\n\n| {COLUMNS} |\n|---{'|--:' * 9}|")
        for name in named(patterns or ["*/*.html"]):
            print(f"| {name} | {row(browser, f'{base}/{name}')} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
