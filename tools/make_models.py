"""Run three trained models on the course's own attention, and compare what comes out with book/data/real_heads.npz.

The models are fetched once into book/_build/models; the file made from them is written there too.
"""

import sys
from pathlib import Path

import numpy as np

from models import artefact, fetch

KEPT = Path(__file__).resolve().parents[1] / "book" / "data" / "real_heads.npz"
NEW = fetch.FOLDER / KEPT.name
ATOL = (
    1e-4  # another machine adds up in another order; weights in 8 bits may move by one unit, halves by their last bit
)


def agree(kept, new):
    """Whether two arrays say the same, as far as another machine can."""
    if kept.shape != new.shape or kept.dtype.kind != new.dtype.kind:
        return False
    if kept.dtype.kind in "Ui":  # texts, places, heads
        return bool((kept == new).all())
    apart, size = np.abs(kept.astype(float) - new), np.abs(kept.astype(float))
    allowed = {"u1": 1, "u2": ATOL * 65535, "f2": ATOL + size / 1024, "f4": ATOL * np.maximum(size, 1)}
    return bool((apart <= allowed[kept.dtype.str[1:]]).all())


def main():
    arrays = artefact.build()
    np.savez_compressed(NEW, **arrays)
    print(f"▸ {len(arrays)} arrays, {NEW.stat().st_size / 1000:.0f} kB, are in book/_build/models/{NEW.name}")
    kept = dict(np.load(KEPT)) if KEPT.exists() else {}
    wrong = [key for key in sorted(set(arrays) | set(kept)) if not (key in kept and key in arrays)]
    wrong += [key for key in arrays if key in kept and not agree(kept[key], arrays[key])]
    if wrong:
        sys.exit(f"✗ book/data/{KEPT.name} is not what the models give. These arrays differ: {', '.join(wrong)}.")
    exact = [key for key in arrays if arrays[key].dtype == np.uint16]
    apart = max(np.abs(kept[key].astype(int) - arrays[key]).max() for key in exact) / 65535
    print(f"▸ they are those of book/data/{KEPT.name}; shares and weights in 16 bits differ by at most {apart:.1e}")


if __name__ == "__main__":
    main()
