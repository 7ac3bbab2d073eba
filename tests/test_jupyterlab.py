"""The chapter in a real JupyterLab: it runs whole, and slider and Python move each other."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

from conftest import ROOT

RUN_ALL = """async () => {
  const { sessionContext } = jupyterapp.shell.currentWidget;
  await sessionContext.ready;
  await sessionContext.session.kernel.info;
  await jupyterapp.commands.execute("notebook:run-all-cells");
}"""  # through the app, since a click on the menu is dropped silently while the kernel still connects


@pytest.fixture
def lab(tmp_path):
    """The address of a JupyterLab on a copy of the book, with settings of its own."""
    shutil.copytree(ROOT / "book", tmp_path / "book", ignore=shutil.ignore_patterns("_build"))
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    folders = [
        "JUPYTER_CONFIG_DIR",
        "JUPYTER_RUNTIME_DIR",
        "JUPYTERLAB_SETTINGS_DIR",
        "JUPYTERLAB_WORKSPACES_DIR",
        "IPYTHONDIR",
    ]
    options = ["--no-browser", "--expose-app-in-browser", "--allow-root", f"--port={port}", "--IdentityProvider.token="]
    with open(tmp_path / "lab.log", "w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *options, f"--ServerApp.root_dir={tmp_path}"],
            env=os.environ | {name: str(tmp_path / name) for name in folders},
            stdout=log,
            stderr=log,
        )
    url = f"http://127.0.0.1:{port}"
    for _ in range(240):
        try:
            urllib.request.urlopen(url + "/api/status").close()
            break
        except OSError:
            assert server.poll() is None, (tmp_path / "lab.log").read_text()
            time.sleep(0.25)
    yield url
    server.terminate()
    server.wait(30)


SHOW_DIAL = """async () => {
  const { content } = jupyterapp.shell.currentWidget;
  const index = content.widgets.findIndex((cell) => cell.model.sharedModel.getSource().includes("@interact"));
  await content.scrollToItem(index, "center");
}"""  # Lab keeps only what is near in the page


def run_in_new_cell(page, source):
    """Append a cell with `source` and run it."""
    page.locator(".jp-Notebook .jp-Cell").last.click()
    page.keyboard.press("Escape")
    page.keyboard.press("b")
    page.keyboard.press("Enter")
    page.keyboard.type(source)
    page.keyboard.press("Shift+Enter")


def test_notebook_runs_and_slider_and_trait_move_each_other(open_page, lab):
    page = open_page(viewport={"width": 1300, "height": 1400})
    page.goto(f"{lab}/lab/tree/book/02_derivation.ipynb")
    page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=60_000)
    page.evaluate(RUN_ALL)
    slider = page.locator(".jp-OutputArea .attn-widget input[type=range]").first
    slider.wait_for(timeout=60_000)
    assert page.locator(".jp-OutputArea [data-mime-type='application/vnd.jupyter.stderr']").count() == 0
    slider.scroll_into_view_if_needed()  # Lab has gone on to the last cell, and keeps only what is near in the page
    words = page.locator(".jp-OutputArea .attn-widget").first.text_content()
    assert "注意力权重" in words and "attention weight" in words  # in Jupyter a widget speaks both languages

    before = float(slider.input_value())
    slider.focus()
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    after = float(slider.input_value())
    assert after > before
    run_in_new_cell(page, "print('PYTHON', calculator.scores[0], calculator.weights[0].round(4))")
    seen = page.locator(".jp-OutputArea-output", has_text=f"PYTHON {after}").last
    seen.wait_for(timeout=20_000)
    weight = seen.inner_text().split()[-1]
    assert weight in page.locator(".attn-widget svg").first.text_content()

    run_in_new_cell(page, "calculator.scores = [-3.0] + calculator.scores[1:]")
    page.wait_for_function("document.querySelector('.attn-widget input[type=range]').value === '-3'", timeout=20_000)
    assert page.log.external == []


def test_a_slider_is_answered_by_the_readers_own_function(open_page, lab):
    page = open_page(viewport={"width": 1300, "height": 1400})
    page.goto(f"{lab}/lab/tree/book/03_scaling_variance.ipynb")
    page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=60_000)
    page.evaluate(RUN_ALL)
    page.evaluate(SHOW_DIAL)
    dial = page.locator(".widget-interact").first
    dial.wait_for(timeout=60_000)
    answer = dial.locator(".jp-OutputArea-output").first
    before = answer.inner_text()
    assert "std" in before and "scaled" in before
    handle = dial.locator("[role=slider]")
    for _ in range(8):
        handle.press("ArrowRight")
    changed = "([dial, before]) => !dial.querySelector('.jp-OutputArea-output').innerText.includes(before)"
    page.wait_for_function(changed, arg=[dial.element_handle(), before.strip()], timeout=20_000)
    assert int(float(handle.get_attribute("aria-valuenow"))) == 72
