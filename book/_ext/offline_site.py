"""Sphinx extension: whatever a page loads comes from the site itself, and each widget has a still picture.

`shared_url` says where all views find KaTeX's fonts and the widget host; empty, as in a plain `jupyter-book build`,
they are put into this view's own _static.
"""

import json
import os
import re
import shutil
from pathlib import Path

import attention_colours
from bilingual import trim_pair

HERE = Path(__file__).parent
STATE = "application/vnd.jupyter.widget-state+json"
VIEW = re.compile(r'<script type="application/vnd\.jupyter\.widget-view\+json">\s*(\{.*?\})\s*</script>', re.S)
# Thebe also names unpkg, and throws; the copy buttons are our own: these have no name, and hide from fingers and keys
UNUSED = re.compile("thebe|sphinx-design|design-tabs|toggle|copybutton|clipboard", re.I)
FIGURE = re.compile(r'(<div class="cell_output docutils container")(>\s*<(?:img|figure)\b)')
TITLE = re.compile(r'(?<=<title class="nohighlight">)[^<]*(?=</title>)')
NEEDS_JS = "交互图：需要 JavaScript。 | Interactive figure: needs JavaScript."


def copy_shared(out):
    """Write to `out` what every view loads: KaTeX's style and fonts, the roles' colours, the widget host, the icon."""
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(HERE / "katex", out / "katex", ignore=shutil.ignore_patterns("*.js"))
    (out / "colours.css").write_text(attention_colours.css(), "utf-8")
    shutil.copy(HERE / "widget_host.js", out)
    shutil.copy(HERE.parent / "_static" / "favicon.svg", out)


def configure(app, config):
    """Name the places of the shared files, relative to _static."""
    base = config.shared_url
    if not base:
        base, own = "shared", Path(app.doctreedir).parent / "own"
        copy_shared(own / base)
        config.html_static_path.append(str(own))
    for style in ("katex/katex.min.css", "colours.css"):
        app.add_css_file(f"{base}/{style}")
    # Jupyter Book lists the sheets of _static as the disk happens to; on paper print.css has the last word
    config.html_css_files.sort(key=lambda sheet: (sheet[0] == "print.css", sheet[0]))
    config.nb_ipywidgets_js = {f"{base}/widget_host.js": {"defer": "defer"}}


def page(app, pagename, templatename, context, doctree):
    """Let no script stop at denied storage; drop what no page uses; put each widget's still picture before it."""
    storage = (HERE / "storage.js").read_text("utf-8")
    context["metatags"] = f"<script>\n{storage}</script>\n{context.get('metatags', '')}"
    for key in ("script_files", "css_files"):
        context[key] = [f for f in context[key] if f.attributes.get("type") == STATE or not UNUSED.search(str(f))]
    if "body" in context:  # a figure that is wider than a phone can be scrolled by key
        context["body"] = FIGURE.sub(r'\1 tabindex="0"\2', context["body"])
    tag = next((f for f in context["script_files"] if f.attributes.get("type") == STATE), None)
    if tag is None:
        return
    widgets = json.loads(tag.attributes["body"])
    read = {key: model for key, model in widgets["state"].items() if model["model_name"] != "LayoutModel"}
    widgets["state"] = read  # the host has no use for the layouts
    states, styles = {key: model["state"] for key, model in widgets["state"].items()}, set()
    stills = {key: state.pop("still", None) for key, state in states.items()}
    for state in states.values():  # the style of a widget is that of the page: once is enough
        css = state.get("_css")
        if css in styles:
            del state["_css"]
        elif css:
            styles.add(css)
    modules = [state for state in states.values() if "_esm" in state]
    widgets["shared"] = os.path.commonprefix([state["_esm"] for state in modules])  # core.js, likewise once
    for state in modules:
        state["_esm"] = state["_esm"].removeprefix(widgets["shared"])
    tag.attributes["body"] = json.dumps(widgets, separators=(",", ":")).replace("</", "<\\/")

    def with_still(match):
        still = stills.get(json.loads(match[1])["model_id"]) or f"<p>{NEEDS_JS}</p>"
        still = TITLE.sub(lambda t: trim_pair(t[0], app.config.bilingual_mode), still)
        still = still.replace(NEEDS_JS, trim_pair(NEEDS_JS, app.config.bilingual_mode))
        return f'<div class="widget-still" tabindex="0">{still}</div>{match[0]}'

    context["body"] = VIEW.sub(with_still, context["body"])


def setup(app):
    app.add_config_value("shared_url", "", "env")
    app.connect("config-inited", configure, priority=900)
    app.connect("html-page-context", page, priority=999)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
