"""The address of a page's notebook on Binder, where that of the repository is known: article-header-buttons.html
puts it beside the download.

Binder builds the repository's newest state on its own machines, from the files at its root, and opens JupyterLab.
"""

from urllib.parse import quote, urlsplit


def address(repository, notebook):
    """Where Binder opens book/`notebook` of the repository with the address `repository`."""
    repository = repository.strip().rstrip("/").removesuffix(".git")
    parts = urlsplit(repository)
    known = parts.hostname == "github.com"
    where = f"gh{parts.path}" if known else f"git/{quote(repository, safe='')}"
    return f"https://mybinder.org/v2/{where}/HEAD?urlpath=lab/tree/book/{quote(notebook)}"


def add_address(app, pagename, templatename, context, doctree):
    """Tell the template, on pages that are notebooks."""
    if app.config.launch_repository and context.get("page_source_suffix") == ".ipynb":
        context["binder"] = address(app.config.launch_repository, f"{pagename}.ipynb")


def setup(app):
    app.add_config_value("launch_repository", "", "html")
    app.connect("html-page-context", add_address)
    return {"version": "0.1", "parallel_read_safe": True, "parallel_write_safe": True}
