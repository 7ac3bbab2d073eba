"""Beside the downloads of a notebook, a link that opens it on Binder: where the repository's address is known.

Binder builds the repository's newest state on its own machines, from the files at its root, and opens JupyterLab.
"""

from urllib.parse import quote, urlsplit

WORDS = {"zh": "在 Binder 上运行", "en": "Run on Binder", "both": "在 Binder 上运行 · Run on Binder"}


def address(repository, notebook):
    """Where Binder opens book/`notebook` of the repository with the address `repository`."""
    repository = repository.strip().rstrip("/").removesuffix(".git")
    parts = urlsplit(repository)
    known = parts.hostname == "github.com"
    where = f"gh{parts.path}" if known else f"git/{quote(repository, safe='')}"
    return f"https://mybinder.org/v2/{where}/HEAD?urlpath=lab/tree/book/{quote(notebook)}"


def add_link(app, pagename, templatename, context, doctree):
    """Add the link to the theme's download buttons."""
    if not app.config.launch_repository or context.get("page_source_suffix") != ".ipynb":
        return
    link = {
        "type": "link",
        "url": address(app.config.launch_repository, f"{pagename}.ipynb"),
        "text": WORDS[app.config.bilingual_mode],
        "icon": "fas fa-rocket",
        "label": "launch-binder-button",
    }
    for group in context["header_buttons"]:
        if group.get("label") == "download-buttons":
            group["buttons"].append(link)


def setup(app):
    app.add_config_value("launch_repository", "", "html")
    app.connect("html-page-context", add_link, priority=502)  # the theme's buttons come at 501
    return {"version": "0.1", "parallel_read_safe": True, "parallel_write_safe": True}
