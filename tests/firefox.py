"""A small client of WebDriver BiDi (https://w3c.github.io/webdriver-bidi/), the protocol that Firefox itself speaks.

Playwright's own client needs commands that the long-term release of Firefox does not have; Selenium needs a driver
program besides, and Puppeteer two dozen packages from npm and tests in JavaScript.  What the tests ask fits here.
"""

import json
import re
import subprocess
import threading
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import websocket

from conftest import LOCAL

# Firefox itself stays at home: whatever is not on this machine is sent to a proxy that does not exist.
PREFERENCES = {
    "network.proxy.type": 1,
    "network.proxy.http": "127.0.0.1",
    "network.proxy.http_port": 9,
    "network.proxy.ssl": "127.0.0.1",
    "network.proxy.ssl_port": 9,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.page": 0,
    "datareporting.policy.dataSubmissionEnabled": False,
    "app.normandy.enabled": False,
}
EVENTS = ["browsingContext.load", "log.entryAdded", "network.beforeRequestSent", "network.responseCompleted"]
KEYS = {"ArrowRight": "\ue014", "ArrowLeft": "\ue012", "Enter": "\ue007", "Escape": "\ue00c", "Control": "\ue009"}
WAIT = 120  # seconds for an answer, on a machine however busy
# What Firefox says of a page that it has not all of: a formula was laid out before the rest of it arrived (the tests
# count the parts of each formula once it has); it left for another page while a font was on its way, which has this
# status (NS_BINDING_ABORTED): a font that is not there has another.
ABORTED = "downloadable font: download failed.*status=2152398850"
UNFINISHED = re.compile(rf"Invalid markup: Incorrect number of children|{ABORTED}\b")


class Firefox:
    """Firefox with a new profile, and the connection to it; used in a `with`, after which nothing of both is left."""

    def __init__(self, program):
        self.address = Future()
        self.asked, self.heard = 0, []
        with ExitStack() as left:  # what is to be ended and put away, the newest first
            self.start(program, Path(left.enter_context(TemporaryDirectory(ignore_cleanup_errors=True))), left)
            address = f"{self.address.result(WAIT)}/session"
            self.socket = websocket.create_connection(address, timeout=WAIT, suppress_origin=True)
            left.callback(self.socket.close)
            self.version = self.ask("session.new", capabilities={})["capabilities"]["browserVersion"]
            left.callback(self.end)
            self.ask("session.subscribe", events=EVENTS)
            self.left = left.pop_all()  # all went well: these wait for the end of the `with`

    def start(self, program, profile, left):
        words = [f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in PREFERENCES.items()]
        (profile / "user.js").write_text("".join(words))
        command = [program, "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        reader = threading.Thread(target=self.read)
        reader.start()
        for put_away in (self.process.stderr.close, reader.join, self.process.wait, self.process.kill):
            left.callback(put_away)  # to kill what has ended by itself does nothing

    def read(self):
        """Read what Firefox writes, or a full pipe would stop it.  One line ends with the address where it listens."""
        said = []
        for line in self.process.stderr:
            said.append(line)
            if "WebDriver BiDi listening on" in line:
                self.address.set_result(line.split()[-1])
        if not self.address.done():
            self.address.set_exception(OSError(f"Firefox ended before it listened: {''.join(said)}"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.left.close()

    def end(self):
        """Let Firefox end by itself; if it does not, it is killed next."""
        with suppress(AssertionError, OSError, websocket.WebSocketException, subprocess.TimeoutExpired):
            self.ask("browser.close")
            self.process.wait(WAIT)

    def ask(self, method, **params):
        """The answer to one command; events that come before it are kept in `heard`."""
        self.asked += 1
        self.socket.send(json.dumps({"id": self.asked, "method": method, "params": params}))
        while True:
            message = self.receive()
            if message.get("id") == self.asked:
                assert message["type"] == "success", f"{method}: {message['message']}"
                return message["result"]

    def receive(self):
        """The next message; an event is kept."""
        message = json.loads(self.socket.recv())
        if message["type"] == "event":
            self.heard.append((message["method"], message["params"]))
        return message

    @contextmanager
    def page(self, locale="en-US", width=1300, height=1000, before=None):
        """A tab without a past; `before` is a script that runs before those of each page."""
        user = self.ask("browser.createUserContext")["userContext"]
        self.heard.clear()
        self.ask("emulation.setLocaleOverride", locale=locale, userContexts=[user])
        tab = self.ask("browsingContext.create", type="tab", userContext=user)["context"]
        self.ask("browsingContext.setViewport", context=tab, viewport={"width": width, "height": height})
        if before:
            self.ask("script.addPreloadScript", functionDeclaration=f"() => {{ {before} }}", userContexts=[user])
        try:
            yield Page(self, tab)
        finally:
            self.ask("browser.removeUserContext", userContext=user)


class Page:
    """One tab."""

    def __init__(self, firefox, tab):
        self.firefox, self.tab = firefox, tab

    def ask(self, method, **params):
        return self.firefox.ask(method, context=self.tab, **params)

    def goto(self, url, arrives=None):
        """Load a page; one that goes on to another by itself says where it `arrives`."""
        self.firefox.heard.clear()
        self.ask("browsingContext.navigate", url=url, wait="none" if arrives else "complete")
        if arrives:
            self.arrives(arrives)

    def arrives(self, end):
        """Wait until an address that ends so has been loaded."""
        while not any(name == "browsingContext.load" and p["url"].endswith(end) for name, p in self.firefox.heard):
            self.firefox.receive()

    def run(self, function, *args):
        """What a JavaScript function returns for `args`; it may be async."""
        call = f"async () => JSON.stringify(await ({function})(...{json.dumps(args)}) ?? null)"
        target = {"context": self.tab}
        options = {"awaitPromise": True, "userActivation": True}
        answer = self.firefox.ask("script.callFunction", functionDeclaration=call, target=target, **options)
        assert answer["type"] == "success", f"{answer['exceptionDetails']['text']}: {function}"
        return json.loads(answer["result"]["value"])

    def until(self, condition, *args):
        """Wait until a JavaScript expression is true; `args` are its `args`."""
        self.run(
            f"""(...args) => new Promise((done, fail) => {{
              const end = Date.now() + {WAIT * 500};
              const look = () => ({condition}) ? done() : Date.now() < end ? setTimeout(look, 20) : fail("not in time");
              look();
            }})""",
            *args,
        )

    def press(self, keys):
        """Press keys together: "ArrowRight", "Control+c"."""
        held = [KEYS.get(key, key) for key in keys.split("+")]
        strokes = [{"type": "keyDown", "value": key} for key in held]
        strokes += [{"type": "keyUp", "value": key} for key in reversed(held)]
        self.ask("input.performActions", actions=[{"type": "key", "id": "keyboard", "actions": strokes}])

    def point(self, *places):
        """Press the mouse at the first place, go through the others, let go at the last: (x, y) in the window."""
        moves = [{"type": "pointerMove", "x": round(x), "y": round(y)} for x, y in places]
        actions = [moves[0], {"type": "pointerDown", "button": 0}, *moves[1:], {"type": "pointerUp", "button": 0}]
        self.ask("input.performActions", actions=[{"type": "pointer", "id": "mouse", "actions": actions}])

    def box(self, selector):
        """x, y, width, height of an element; scrolled to the middle of the window unless it can be hit where it is, and
        seen there until it stands still: what is above it may just be laid out."""
        return self.run(
            """async (selector) => {
              const element = document.querySelector(selector);
              const box = () => element.getClientRects()[0];
              const hit = ({ x, y, width, height }) => document.elementFromPoint(x + width / 2, y + height / 2);
              if (!element.contains(hit(box()))) element.scrollIntoView({ block: "center", behavior: "instant" });
              const frame = () => new Promise(requestAnimationFrame);
              for (let before = box(), still = 0; still < 10; ) {
                await frame();
                const now = box();
                still = now.y === before.y ? still + 1 : 0;
                before = now;
              }
              const { x, y, width, height } = box();
              return [x, y, width, height];
            }""",
            selector,
        )

    def click(self, selector):
        x, y, width, height = self.box(selector)
        self.point((x + width / 2, y + height / 2))

    @property
    def complaints(self):
        """Warnings and errors of the console, requests to others, and answers that are errors."""
        found = []
        for name, p in self.firefox.heard:
            if name == "log.entryAdded" and p["level"] in ("warn", "error") and not UNFINISHED.match(p["text"]):
                found.append(f"{p['level']}: {p['text']}")
            if name == "network.beforeRequestSent" and not p["request"]["url"].startswith(LOCAL):
                found.append(f"asked {p['request']['url']}")
            if name == "network.responseCompleted" and p["response"]["status"] >= 400:
                found.append(f"{p['response']['status']} {p['response']['url']}")
        return found
