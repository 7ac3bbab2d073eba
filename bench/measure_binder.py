"""How long a learner waits on Binder: its steps, done here with the packages of its image, as a Markdown table.

    python bench/measure_binder.py FOLDER     outside this repository, a gigabyte; what is built there is used again

What is committed is copied, and built as repo2docker 2026.4.0 does (`repo2docker --no-build --debug .` prints its
steps): the packages it starts from, requirements.txt, the course itself, postBuild.  Then its server is started,
and in Chromium the first notebook is opened, run to its end, and its slider moved.  Playwright comes with the extra
`test`.  Not measured, since it happens on Binder's machines: pulling the image, and waiting for a place.
"""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from measure_site import conftest, machine
from test_jupyterlab import RUN_ALL

BASE = [  # what repo2docker's image for Python 3.11 holds already, from its environment.py-3.11-linux-64.lock
    "notebook==7.4.7",
    "jupyterlab==4.4.9",
    "jupyterhub==5.4.0",
    "jupyter-server==2.17.0",
    "jupyter-resource-usage==1.2.0",
    "jupyter-offlinenotebook==0.3.2",
    "ipywidgets==8.1.7",
    "ipykernel==7.0.1",
]
NOTEBOOK = "book/01_qkv_intuition.ipynb"
RAN = """() => {
  const cells = jupyterapp.shell.currentWidget.content.widgets.filter((cell) => cell.model.type === "code");
  return cells.every((cell) => cell.model.executionCount && cell.model.executionState === "idle");
}"""


class Steps:
    """Times what is done; the table's rows."""

    def __init__(self):
        self.last = time.monotonic()

    def done(self, name):
        now = time.monotonic()
        print(f"| {name} | {now - self.last:.1f} |", flush=True)
        self.last = now


def places(folder):
    """Where the course lies, which is the home folder there, and the environment of every command."""
    home, bin_ = folder / "home", folder / "env" / "bin"
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    return home, env | {"HOME": str(home), "PATH": f"{bin_}{os.pathsep}{env['PATH']}"}


def build(folder, steps):
    """The image, more or less."""
    home, env = places(folder)
    home.mkdir(parents=True)
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=conftest.ROOT, stdout=subprocess.PIPE, check=True).stdout
    subprocess.run(["tar", "x"], cwd=home, input=archive, check=True)
    version = (home / "runtime.txt").read_text().strip().replace("-", "")
    subprocess.run([version, "-m", "venv", folder / "env"], check=True)
    install = [folder / "env/bin/pip", "install", "--quiet", "--no-cache-dir"]
    steps.last = time.monotonic()
    for name, command in {
        "packages of the image": [*install, *BASE],
        "requirements.txt": [*install, "-r", "requirements.txt"],
        "the course": [*install, "."],
        "postBuild": ["./postBuild"],
    }.items():
        subprocess.run(command, cwd=home, env=env, check=True)
        steps.done(name)
    print(f"| (size of the environment, MiB) | {size(folder / 'env') / 2**20:.0f} |", flush=True)


def serve(home, env, steps):
    """The server that repo2docker starts, once it answers; and its address."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    command = ["jupyter", "notebook", "--ip=0.0.0.0", f"--port={port}", "--ServerApp.default_url=/lab"]
    command += ["--allow-root", "--no-browser", "--IdentityProvider.token="]  # ours, as is the next
    command += ["--LabApp.expose_app_in_browser=True"]
    with open(home / ".jupyter-server-log.txt", "w") as log:
        server = subprocess.Popen(command, cwd=home, env=env, stdout=log, stderr=log)
    while True:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/api/status").close()
            break
        except OSError:
            assert server.poll() is None, (home / ".jupyter-server-log.txt").read_text()
            time.sleep(0.05)
    steps.done("server answers")
    return server, f"http://127.0.0.1:{port}"


def learn(browser, url, steps):
    """Open the first notebook, run it, move its slider."""
    page = browser.new_page(viewport={"width": 1300, "height": 1000})
    page.set_default_timeout(300_000)
    page.goto(f"{url}/lab/tree/{NOTEBOOK}")
    page.locator(".jp-Notebook .jp-Cell").first.wait_for()
    steps.done("notebook on the screen")
    page.evaluate(RUN_ALL)
    page.wait_for_function(RAN)
    steps.done("all its cells run")
    slider = page.locator(".jp-OutputArea .attn-widget input[type=range]").first
    slider.scroll_into_view_if_needed()
    picture = page.locator(".jp-OutputArea .attn-widget svg").first
    before = picture.inner_html()
    slider.press("ArrowRight")
    page.wait_for_function("([svg, before]) => svg.innerHTML !== before", arg=[picture.element_handle(), before])
    steps.done("slider moved, picture answered")
    errors = page.locator("[data-mime-type='application/vnd.jupyter.stderr']").count()
    print(f"\nCells that wrote to stderr: {errors}")


def main(folder):
    steps = Steps()
    with conftest.chromium() as browser:
        print(f"{machine(browser)}\n\n| step | seconds |\n|---|--:|", flush=True)
        if not folder.exists():
            build(folder, steps)
        home, env = places(folder)
        steps.last = time.monotonic()
        server, url = serve(home, env, steps)
        try:
            learn(browser, url, steps)
        finally:
            server.terminate()
            server.wait()
    asked = [folder / "env/bin/python", "-c", "import attention_mechanism; print(attention_mechanism.__file__)"]
    print("The course is imported from", subprocess.check_output(asked, cwd=folder, env=env, text=True).strip())


def size(folder):
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]).resolve())
