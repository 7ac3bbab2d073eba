"""The commands of this course. Python 3.11 or newer is all they need.

    python3 make.py book        build the site, serve it, print its address
    python3 make.py build       build the site into book/_build/site
    python3 make.py test        build the site, then run every test and every notebook
    python3 make.py tidy        run the notebooks again and store their text outputs
    python3 make.py notebooks   write the notebooks in Chinese alone and in English alone
    python3 make.py pdf         print the course, one file for each language, with Chromium or Chrome
    python3 make.py zip         pack the site into an archive that works from a disk
    python3 make.py peers       compare the course's attention with PyTorch's
    python3 make.py models      run the trained models of chapter 9 again (downloads 270 MB once)

Whatever they install goes into .venv, whatever they build into book/_build.
"""

import sys

# What follows is written in the syntax of Python 3.7, so that an older one gets as far as this sentence.
if sys.version_info < (3, 11):  # noqa: UP036
    this = ".".join(map(str, sys.version_info[:2]))
    sys.exit(f"This course needs Python 3.11 or newer, and this is {this}: start make.py with a newer one.")

import functools
import http.server
import importlib.util
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
SITE = ROOT / "book" / "_build" / "site"
PEERS = ROOT / "book" / "_build" / "peers"


def say(text):
    """Progress, at once even when the output is a file."""
    print(f"▸ {text}", flush=True)


def python(*args, failed):
    """Run the environment's Python from the root of the course; if it fails, end with the sentence `failed`."""
    if subprocess.run([PYTHON, *args], cwd=ROOT).returncode:
        sys.exit(f"\n✗ {failed}")


def project():
    """What pyproject.toml says of the course."""
    import tomllib

    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def install(*extras):
    """Make .venv hold requirements.txt and `extras`; anew when a pin, this folder's place or the Python changes."""
    if not (importlib.util.find_spec("venv") and importlib.util.find_spec("ensurepip")):
        sys.exit("Python's venv or ensurepip is missing: `sudo apt install python3-venv` on Debian; then try again.")
    import venv

    wanted = f"{ROOT}\n{sys.version}\n{project()}\n{(ROOT / 'requirements.txt').read_text('utf-8')}"
    stamp = VENV / "installed.txt"
    if not (PYTHON.exists() and stamp.exists() and stamp.read_text("utf-8") == wanted):
        say("installing the packages of requirements.txt into .venv (a few minutes, once)")
        venv.create(VENV, with_pip=True, clear=True, symlinks=os.name != "nt")  # as `python -m venv` does
        pip("--requirement", "requirements.txt")
        stamp.write_text(wanted, "utf-8")
    for extra in extras:
        done = VENV / f"installed-{extra}.txt"
        if not done.exists():
            say(f"installing what `{extra}` needs besides")
            pip("--editable", f".[{extra}]")
            done.touch()


def pip(*args, failed="The packages could not be installed. pip says why above (the network? the disk?)"):
    """Install, and show which package is being fetched where a terminal can show it; `failed` says what went wrong."""
    command = [PYTHON, "-m", "pip", "install", "--disable-pip-version-check", *args]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True, encoding="utf-8", errors="replace"
    ) as run:
        for line in map(str.strip, run.stdout):
            if sys.stdout.isatty() and line.startswith(("Collecting", "Downloading", "Installing")):
                print(f"\r  {line[:76]:<76}", end="", flush=True)
    if sys.stdout.isatty():
        print("\r" + " " * 78, end="\r")
    if run.returncode:
        sys.exit(f"\n✗ {failed}: then try again.")
    for path in VENV.glob("**/site-packages/_editable_impl_attention_course.pth"):
        # Python reads these files in the locale's encoding, so a relative path: this folder may have any name
        path.write_text("".join(os.path.relpath(ROOT / d, path.parent) + "\n" for d in ("code", "grading")), "ascii")


def build():
    """Build the three views of the book."""
    python(
        "tools/build_site.py",
        failed="The site was not built, and there is none until it is. Mend the first error above, then try again.",
    )


def serve():
    """Serve the site from the first free port at or after 8000 until Ctrl+C."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            """Say nothing of each request."""

    for port in range(8000, 8100):
        try:
            server = http.server.ThreadingHTTPServer(("127.0.0.1", port), functools.partial(Quiet, directory=SITE))
        except OSError:
            continue  # somebody else's port
        say(f"the course is at http://127.0.0.1:{port}/ (Ctrl+C stops it)")
        try:
            return server.serve_forever()
        except KeyboardInterrupt:
            return print()
    sys.exit("No port between 8000 and 8099 is free: stop another server, or open book/_build/site/index.html.")


def book():
    """Build the site and serve it."""
    install()
    build()
    serve()


def test():
    """Build the site and run every test; pytest's summary comes last."""
    install("test", "grading", "gradebook", "cluster")
    build()
    python("-m", "pytest", failed="Some tests failed: pytest names them above, with the place and the reason.")


def tidy():
    """Run the notebooks again and store their text outputs."""
    install()
    python(
        "tools/tidy_notebooks.py", failed="The notebooks were not all run: mend the cell named above, then try again."
    )


def notebooks():
    """Write the notebooks in one language each, for JupyterLab."""
    install()
    python("tools/single_language.py", failed="The notebooks were not written: see above why, then try again.")


def archive():
    """Build the site and pack it for readers without a network."""
    install()
    build()
    python("tools/zip_site.py", failed="The archive was not written: see above why, then try again.")


def pdf():
    """Print the site as one PDF for each language."""
    install("pdf")
    build()
    python("tools/make_pdf.py", failed="The course was not printed: see above why, then try again.")
    say("the course for paper is in book/_build/pdf")


def peers():
    """Compare with PyTorch, which lies in a folder of its own that is laid over .venv: NumPy is the course's."""
    install()
    import shutil

    pins = project()["optional-dependencies"]["peers"]
    if sys.platform == "linux":  # a bare torch is the build for NVIDIA's cards there, and wants gigabytes of theirs
        pins = [pin + "+cpu" if pin.startswith("torch==") else pin for pin in pins]
    stamp, wanted = PEERS / "installed.txt", f"{sys.version}\n{pins}"
    if not (stamp.exists() and stamp.read_text("utf-8") == wanted):
        say("installing PyTorch into book/_build/peers (once)")
        shutil.rmtree(PEERS, ignore_errors=True)
        pip(
            "--no-deps", "--target", PEERS, *pins,
            failed="PyTorch could not be installed; pip says why above. If it has no torch with +cpu, name the index "
            "of CPU builds that PyTorch's own page on installing gives, in the variable PIP_EXTRA_INDEX_URL",
        )  # fmt: skip
        stamp.write_text(wanted, "utf-8")
    python(
        "tools/peers.py",
        failed="PyTorch was not found to agree: see above. If all that changed is right, record it:\n"
        "  .venv/bin/python tools/peers.py --write",
    )


def models():
    """Run three trained models on the course's attention and compare with the numbers kept in book/data."""
    install()
    python("tools/make_models.py", failed="The models were not run, or gave other numbers: see above.")


def build_only():
    """Build the site."""
    install()
    build()
    say("the site is in book/_build/site")


COMMANDS = {
    "book": book, "build": build_only, "test": test, "tidy": tidy, "notebooks": notebooks, "pdf": pdf, "zip": archive,
    "peers": peers, "models": models,
}  # fmt: skip

if __name__ == "__main__":
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="replace")  # ▸ and 中文 whatever the terminal says it speaks
    words = sys.argv[1:]
    if len(words) != 1 or words[0] not in COMMANDS:
        sys.exit((f"`{' '.join(words)}` is no command.\n\n" if words else "") + __doc__)
    try:
        COMMANDS[words[0]]()
    except KeyboardInterrupt:
        sys.exit("\nStopped.")
    except OSError as error:  # a folder that cannot be written, a disk that is full
        sys.exit(f"\n✗ {error.strerror}: {error.filename}")
