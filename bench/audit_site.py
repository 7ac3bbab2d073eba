"""Lighthouse (mobile) and axe-core on the built site, as Markdown tables.

    python bench/audit_site.py FOLDER              axe on every page, Lighthouse on six pages
    python bench/audit_site.py FOLDER "zh/*"       both on the pages that match

npm installs both into FOLDER, which must lie outside this repository; node, npm and Chromium must be there.
"""

import json
import re
import statistics
import subprocess
import sys
from pathlib import Path

from measure_site import SITE, Host, conftest, machine, named, served

VERSIONS = ["lighthouse@12.2.3", "axe-core@4.14.1"]
RUNS = 3
AUDITED = ["en/02*.html", "en/04*.html", "zh/07*.html", "both/index.html", "en/index.html", "en/errata.html"]
BROKEN = """async () => {
  const { violations } = await axe.run();
  return violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(" ")}`));
}"""


def installed(folder, *packages):
    """The node_modules of a folder, with these packages of npm in it."""
    tools = Path(folder).resolve() / "node_modules"
    if tools.is_relative_to(SITE.parents[2]):
        sys.exit("Name a folder outside this repository: npm fills it with hundreds of packages.")
    tools.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["npm", "install", "--silent", "--no-fund", "--prefix", tools.parent, *packages], check=True)
    return tools


def lighthouse(tools, url):
    """{category: median score of RUNS}, 0 to 100, or a dash where Lighthouse gave none: the page was too slow."""
    command = ["node", tools / "lighthouse" / "cli" / "index.js", url, "--quiet", "--output=json"]
    quoted = (re.sub("(?<==).+", r'"\g<0>"', flag) for flag in ["--headless", *conftest.FLAGS])
    flags = "--chrome-flags=" + " ".join(quoted)
    runs = [json.loads(subprocess.check_output([*command, flags]))["categories"] for _ in range(RUNS)]
    found = {key: [run[key]["score"] for run in runs if run[key]["score"] is not None] for key in runs[0]}
    return {key: round(100 * statistics.median(scores)) if scores else "–" for key, scores in found.items()}


def violations(browser, tools, url):
    """["colour scheme, rule: selector", …] of a page in the light and in the dark."""
    found = []
    for scheme in ("light", "dark"):
        with browser.new_context(color_scheme=scheme, bypass_csp=True) as context:  # axe comes from outside
            page = context.new_page()
            page.goto(url, wait_until="networkidle")
            page.add_script_tag(path=tools / "axe-core" / "axe.min.js")
            found += [f"{scheme}, {line}" for line in page.evaluate(BROKEN)]
    return found


def main(folder, *patterns):
    tools = installed(folder, *VERSIONS)
    with served(SITE, Host) as base, conftest.chromium() as browser:
        print(f"{machine(browser)}; {', '.join(VERSIONS)}\n")
        for name in named(patterns or AUDITED):
            scores = lighthouse(tools, f"{base}/{name}")
            print(f"- {name}: {', '.join(f'{key} {score}' for key, score in scores.items())}", flush=True)
        for name in named(patterns or ["*/*.html"]):
            found = violations(browser, tools, f"{base}/{name}")
            print(f"- {name}: {len(found)} axe violations", *found, sep="\n  - ", flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
