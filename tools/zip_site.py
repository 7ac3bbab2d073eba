"""Write book/_build/attention-course.zip: the built site for readers without a network, opened by its index.html.

The same site gives the same bytes: names in order, one date for all.
"""

import sys
import zipfile
from pathlib import Path

BUILD = Path(__file__).resolve().parents[1] / "book" / "_build"
FOLDER = "attention-course"
FOR_A_HOST = {"404.html", "robots.txt", "sitemap.xml", "_headers", ".nojekyll", "built-from.txt"}
READ_ME = """注意力机制
先把这个压缩包全部解压，再用浏览器打开这个文件夹里的 index.html。不需要网络，也不需要安装。

The Attention Mechanism
Unpack the whole archive first, then open index.html in this folder with a browser.
No network is needed, and nothing is installed.
"""
DATE = (1980, 1, 1, 0, 0, 0)  # the first that the format knows
LONGEST = 100  # letters of a name: Windows allows some 260 with the folders above


def refuse_names(names):
    """Raise ValueError for names that Windows cannot write or that an old program would garble."""
    for name in names:
        if not name.isascii() or len(name) > LONGEST or set(name) & set('<>:"|?*\\'):
            raise ValueError(f'{name}: a name in the archive has at most {LONGEST} letters, ASCII, without <>:"|?*\\')


def pack(site, archive):
    """Write the site, less what only a web host reads, and a READ-ME.txt to the file `archive`."""
    files = {path.relative_to(site).as_posix(): path for path in site.rglob("*") if path.is_file()}
    content = {f"{FOLDER}/{name}": path.read_bytes() for name, path in files.items() if name not in FOR_A_HOST}
    content[f"{FOLDER}/READ-ME.txt"] = READ_ME.replace("\n", "\r\n").encode("utf-8-sig")  # for Windows' Notepad
    refuse_names(content)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
        for name, data in sorted(content.items()):
            entry = zipfile.ZipInfo(name, DATE)
            entry.compress_type, entry.create_system, entry.external_attr = zipfile.ZIP_DEFLATED, 3, 0o644 << 16
            out.writestr(entry, data)


if __name__ == "__main__":
    archive = BUILD / f"{FOLDER}.zip"
    try:
        pack(BUILD / "site", archive)
    except ValueError as error:
        sys.exit(str(error))
    print(
        f"▸ the archive is {archive.relative_to(BUILD.parents[1])}, {archive.stat().st_size / 1e6:.0f} MB", flush=True
    )
