"""Write book/_build/notebooks/zh and …/en: the notebooks in one language, for JupyterLab, with the data they read.

A notebook that its reader has changed since it was written is left alone.
"""

import hashlib
import json
import shutil
import sys
from pathlib import Path

BOOK = Path(__file__).resolve().parents[1] / "book"
OUT = BOOK / "_build" / "notebooks"
sys.path.insert(0, str(BOOK / "_ext"))


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else None


def write(lang):
    """Write the notebooks of one language; return the names of those left alone."""
    from bilingual import write_single

    folder, left = OUT / lang, []
    folder.mkdir(parents=True, exist_ok=True)
    stamp = folder / ".written.json"  # what each notebook was when it was written here
    known = json.loads(stamp.read_text("utf-8")) if stamp.exists() else {}
    for source in sorted(BOOK.glob("*.ipynb")):
        path = folder / source.name
        if path.exists() and digest(path) != known.get(path.name):
            left.append(path.name)
            continue
        write_single(source, path, lang)
        known[path.name] = digest(path)
    stamp.write_text(json.dumps(known), "utf-8")
    shutil.copytree(BOOK / "data", folder / "data", dirs_exist_ok=True)
    return left


def main():
    for lang in ("zh", "en"):
        left = write(lang)
        print(f"▸ the notebooks are in {(OUT / lang).relative_to(BOOK.parent)}", flush=True)
        if left:
            print(f"  left alone, since you have changed them: {', '.join(left)} (delete one to get it afresh)")


if __name__ == "__main__":
    main()
