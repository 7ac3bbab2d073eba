"""Ask every address outside that a built site links to, and list those that lead nowhere.

    python tools/check_links.py FOLDER      ends with 1 if any link is dead; run weekly, not by the test command

Dead: an answer 404, 410 or the like, a name that nobody has, no answer twice, a place (#…) that the page does not have.
Not dead: a refusal to answer a program (401, 403, 429) or a fault of the moment (5xx); these are listed, for a person
to try.  An address that has moved for good is listed with the new one.
"""

import http.client
import re
import sys
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urldefrag

LINK = re.compile(r'<a\b[^>]*\bhref="(https?://[^"]+)"')
REFUSED = (401, 403, 429)
AGENT = "Mozilla/5.0 (compatible; link check of a course, once a week)"
TIMEOUT, TRIES, AT_ONCE, LARGEST = 30, 2, 4, 10_000_000  # seconds … bytes


class Moves(urllib.request.HTTPRedirectHandler):
    """Follows, and remembers whether the first move was for good."""

    first = None

    def redirect_request(self, request, file, code, words, headers, url):
        self.first = self.first or code
        return super().redirect_request(request, file, code, words, headers, url)


def links(site):
    """{address: the first page that links to it} of all pages."""
    found = {}
    for page in sorted(Path(site).rglob("*.html")):
        for address in LINK.findall(page.read_text("utf-8")):
            found.setdefault(unescape(address), page.relative_to(site).as_posix())
    return found


def has_place(html, place):
    """Whether a page has the place that an address names after #; GitHub puts a word before those of its texts."""
    ids = set(re.findall(r"""\b(?:id|name)=["']?([^"'\s>]+)""", html))
    return bool({place, unquote(place), f"user-content-{place}"} & ids)


def ask(address, timeout=TIMEOUT):
    """("good" | "moved" | "unsure" | "dead", why) of an address."""
    bare, place = urldefrag(address)
    request = urllib.request.Request(bare, headers={"User-Agent": AGENT, "Accept": "text/html,*/*"})
    for _ in range(TRIES):
        moves = Moves()
        try:
            with urllib.request.build_opener(moves).open(request, timeout=timeout) as answer:
                page = answer.headers.get_content_type() == "text/html" and place
                if page and not has_place(answer.read(LARGEST).decode("utf-8", "replace"), place):
                    return "dead", f"the page has no #{place}"
                return ("moved", answer.url) if moves.first in (301, 308) else ("good", "")
        except urllib.error.HTTPError as error:
            why = f"{error.code} {error.reason}"
            if error.code < 500:
                return "unsure" if error.code in REFUSED else "dead", why
            kind = "unsure"
        except (OSError, http.client.HTTPException) as error:
            kind, why = "dead", str(getattr(error, "reason", error))
    return kind, why


def main(site):
    found = links(site)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = dict(zip(found, pool.map(ask, found), strict=True))
    for kind in ("moved", "unsure", "dead"):
        listed = [f"  {a}  ({why}; on {found[a]})" for a, (k, why) in answers.items() if k == kind]
        print(f"{kind}: {len(listed)} of {len(found)}", *listed, sep="\n", flush=True)
    return any(kind == "dead" for kind, _ in answers.values())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
