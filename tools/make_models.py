"""Run three trained models on the course's own attention, and compare what comes out with book/data/real_heads.npz.

The models are fetched once into book/_build/models; the file made from them is written there too.
"""

import sys
from pathlib import Path

import numpy as np

from models import artefact, fetch

KEPT = Path(__file__).resolve().parents[1] / "book" / "data" / "real_heads.npz"
NEW = fetch.FOLDER / KEPT.name
ATOL = 1e-4  # weights, shares and scores: other machines add up in another order
# Units of the stored numbers that may differ: whole numbers from 0 to 1 (8 bits: one), halves (their last bit)


def difference(kept, new):
    """How far two arrays lie apart, in the numbers that they stand for; inf if they cannot be compared."""
    if kept.shape != new.shape or kept.dtype.kind != new.dtype.kind:
        return np.inf
    if kept.dtype.kind in "Ui":  # texts, places, heads
        return 0.0 if (kept == new).all() else np.inf
    scale = np.iinfo(kept.dtype).max if kept.dtype.kind == "u" else 1
    return float(np.abs(kept.astype(float) - new.astype(float)).max() / scale)


def allowed(array):
    """What rounding may do on another machine."""
    if array.dtype == np.uint8:
        return 1 / 255
    return float(np.abs(array).max()) * 2**-10 if array.dtype == np.float16 else ATOL


def main():
    arrays = artefact.build()
    np.savez_compressed(NEW, **arrays)
    print(f"▸ {len(arrays)} arrays, {NEW.stat().st_size / 1000:.0f} kB, are in {NEW.relative_to(KEPT.parents[2])}")
    kept = np.load(KEPT) if KEPT.exists() else {}
    lost = sorted(set(arrays) ^ set(kept))
    apart = {key: difference(kept[key], arrays[key]) for key in arrays if key not in lost}
    wrong = [f"{key} ({apart[key]:.1e})" for key in apart if apart[key] > allowed(arrays[key])]
    if lost or wrong:
        sys.exit(f"✗ {KEPT.name} in book/data is not what the models give. Differing: {', '.join(lost + wrong)}")
    print(f"▸ it equals the one in book/data; the largest difference is {max(apart.values()):.1e}")


if __name__ == "__main__":
    main()
