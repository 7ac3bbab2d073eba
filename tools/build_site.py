"""Build book/_build/site: the views zh, en and both of one book, executed once.

Outputs of executed notebooks are kept in a folder named by everything a cell can see besides its own text (code/,
book/data/, requirements.txt, Python); jupyter-cache's own key is the text of the cells.  Everything else is rebuilt
from nothing, unless nothing at all has changed; so no page can be stale, and a failure leaves no site to serve.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BOOK = ROOT / "book"
BUILD = BOOK / "_build"
NEW, SITE = BUILD / "new", BUILD / "site"
ZH_WORDS = {
    "language": "zh_CN",
    "nb_code_prompt_show": "显示代码",
    "nb_code_prompt_hide": "隐藏代码",
}
VIEWS = {
    "zh": {"html_title": "注意力机制", "math_eqref_format": "式 ({number})", **ZH_WORDS},
    "en": {"html_title": "The Attention Mechanism", "language": "en"},
    "both": {"html_title": "注意力机制 · The Attention Mechanism", **ZH_WORDS},
}
SOURCES = ("book", "code", "tools", "requirements.txt")
SKIPPED = {"_build", "__pycache__", ".ipynb_checkpoints"}


def digest(*names):
    """Hash of the named files and folders under the root, and of the Python that runs."""
    h = hashlib.sha256(f"{sys.version} {os.environ.get('SITE_URL')} {os.environ.get('REPOSITORY')}".encode())
    for top in (ROOT / name for name in names):
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if path.is_file() and not SKIPPED & set(path.relative_to(ROOT).parts):
                h.update(f"{path.relative_to(ROOT).as_posix()}\0{path.stat().st_size}\0".encode())
                h.update(path.read_bytes())
    return h.hexdigest()[:16]


def named():
    """The pages of the site, as book/_toc.yml names them."""
    from sphinx_external_toc.parsing import parse_toc_yaml

    return list(parse_toc_yaml(BOOK / "_toc.yml"))


def left_out():
    """Notebooks in book/ that are no page: a learner's own."""
    pages = {f"{name}.ipynb" for name in named()}
    notebooks = (path.relative_to(BOOK) for path in sorted(BOOK.rglob("*.ipynb")))
    return [nb.as_posix() for nb in notebooks if not SKIPPED & set(nb.parts) and nb.as_posix() not in pages]


def toc(view):
    """The table of contents with captions "中文 | English" in the view's language(s)."""
    text = (BOOK / "_toc.yml").read_text("utf-8")
    pick = {"zh": r"\1\2", "en": r"\1\3", "both": r"\1\2 · \3"}[view]
    path = BUILD / f"toc.{view}.yml"
    path.write_text(re.sub(r"(caption: )(.+?) \| (.+)", pick, text), "utf-8")
    return path


def run_notebooks(cache):
    """Run the notebooks whose outputs are not in the cache, and put these where all views will find them."""
    import nbformat
    import yaml
    from jupyter_cache import get_cache
    from jupyter_cache.base import CacheBundleIn
    from jupyter_cache.executors.utils import single_nb_execution

    sys.path.insert(0, str(BOOK / "_ext"))
    from bilingual import load, select

    kept, wanted = get_cache(cache), {}
    known = {record.hashkey for record in kept.list_cache_records()}
    timeout = yaml.safe_load((BOOK / "_config.yml").read_text("utf-8"))["execute"]["timeout"]
    for path in (path for name in named() if (path := BOOK / f"{name}.ipynb").exists()):
        seen = select(load(path.stem, path.read_text("utf-8")), "both")  # with the code cells as each view has them
        notebook = nbformat.reads(json.dumps(seen), as_version=4)
        wanted.setdefault(kept.create_hashed_notebook(notebook)[1], (path, notebook))

    def run(one):
        path, notebook = one
        if any(cell.cell_type == "code" for cell in notebook.cells):  # else no kernel need start
            options = {"coalesce_streams": True}  # a busy kernel sends lines in pieces
            result = single_nb_execution(notebook, str(path.parent), timeout, allow_errors=False, **options)
            if result.err:
                sys.exit(f"{path}: a cell failed.\n{result.err}")
        return CacheBundleIn(notebook, str(path))

    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:  # a kernel takes some 100 MB
        for bundle in pool.map(run, (wanted[key] for key in wanted if key not in known)):
            kept.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)


def build_view(view, cache):
    """Build one view.  One process each, because Sphinx keeps its message catalogue in a global."""
    from jupyter_book.sphinx import build_sphinx

    out = BUILD / "views" / view / "html"  # a parent of its own: myst-nb writes ../jupyter_execute
    result = build_sphinx(
        str(BOOK),
        str(out),
        path_config=str(BOOK / "_config.yml"),
        noconfig=True,
        doctreedir=str(out.parent / "doctrees"),
        warningiserror=True,
        keep_going=True,
        quiet=True,
        confoverrides={
            "bilingual_mode": view,
            "shared_url": "../../shared",
            "nb_execution_mode": "cache",
            "nb_execution_cache_path": cache,
            "external_toc_path": str(toc(view)),
            "latex_individualpages": False,
            "launch_repository": os.environ.get("REPOSITORY", ""),  # known where the site is published
            **VIEWS[view],
        },
    )
    if result != 0:  # build_sphinx returns an exception instead of raising it
        sys.exit(f"{view}: {result}")
    missing = [name for name in named() if not (out / f"{name}.html").exists()]
    if missing:
        sys.exit(f"{view}: no page was written for {', '.join(missing)}, which book/_toc.yml names.")
    shutil.move(out, NEW / view)


def side_by_side(*jobs, cache):
    """Do jobs, each in a process of its own; one that fails says why and ends the others, which may say the same."""
    env = os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONUTF8": "1"}  # no .pyc that is older than its source
    command = [sys.executable, "-W", "ignore::UserWarning:zmq", __file__]
    children = [subprocess.Popen([*command, job, cache], cwd=ROOT, env=env, stderr=subprocess.PIPE) for job in jobs]
    try:
        for child in children:
            sys.stderr.buffer.write(child.communicate()[1])
            if child.returncode:
                sys.exit(1)
    finally:
        for child in children:
            child.kill()


def share():
    """What all views load, once, at the root of the site; then nothing more than is needed; then what a host wants."""
    sys.path.insert(0, str(BOOK / "_ext"))
    from offline_site import copy_shared
    from publish_site import publish
    from trim_site import trim

    copy_shared(NEW / "shared")
    shutil.copy(ROOT / "tools" / "chooser.html", NEW / "index.html")
    shutil.copy(ROOT / "tools" / "404.html", NEW)
    trim(NEW)
    publish(NEW, os.environ.get("SITE_URL", ""))  # known where the site is published


def main():
    wanted, stamp = digest(*SOURCES), SITE / "built-from.txt"
    if stamp.exists() and stamp.read_text() == wanted:
        return print("▸ the site is up to date", flush=True)
    start = time.monotonic()
    cache = BUILD / "executed" / digest("code", "book/data", "requirements.txt")
    for path in [SITE, NEW, BUILD / "views", *(p for p in BUILD.glob("executed/*") if p != cache)]:
        shutil.rmtree(path, ignore_errors=True)
    NEW.mkdir(parents=True)
    print("▸ running the notebooks", flush=True)
    side_by_side("notebooks", cache=str(cache))
    print("▸ building the views in Chinese, in English and in both languages", flush=True)
    side_by_side(*VIEWS, cache=str(cache))
    if digest(*SOURCES) != wanted:
        shutil.rmtree(cache)  # nobody knows which of the two it holds
        sys.exit("Files were changed while the site was being built: build it again.")
    share()
    for name in left_out():
        print(f"▸ not on the site, since book/_toc.yml does not name it: book/{name}", flush=True)
    (NEW / stamp.name).write_text(wanted)
    NEW.rename(SITE)
    print(f"▸ the site was built in {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    # to check addresses, of which nothing here has any, jsonschema would build 38 parsers at its import: 1.5 s
    sys.modules["rfc3987_syntax"] = None
    try:
        match sys.argv[1:]:
            case []:
                main()
            case ["notebooks", cache]:
                run_notebooks(cache)
            case [view, cache]:
                build_view(view, cache)
    except KeyboardInterrupt:
        sys.exit(130)
