"""Time and memory of the course's own attention as n doubles; prints a table and keeps it in book/data for chapter 8.

One thread, float32, the fastest of several runs (other work can only add time); memory is the peak that NumPy asks for
beyond the inputs, from a run of its own.
"""

import os

os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import json
import platform
import time
import tracemalloc
from datetime import date
from pathlib import Path

import numpy as np

from attention_mechanism import attention_by_rows, multi_head_attention, scaled_dot_product_attention

KEPT = Path(__file__).parents[1] / "book" / "data" / "cost.json"
D_K, D_MODEL, N_HEAD = 64, 512, 8
SECONDS, RUNS = 2, 5  # each cell: at least so many runs, and so much time in all


def one_head(n, rng):
    return [rng.standard_normal((n, D_K), dtype=np.float32) for _ in range(3)]


def one_layer(n, rng):
    X = rng.standard_normal((n, D_MODEL), dtype=np.float32)
    W = rng.standard_normal((4, D_MODEL, D_MODEL), dtype=np.float32) / np.float32(D_MODEL**0.5)
    return [X, X, *W, N_HEAD]


SWEEPS = {  # the function, what goes in, the lengths n
    "plain": (scaled_dot_product_attention, one_head, [2**p for p in range(6, 14)]),
    "by_rows": (attention_by_rows, one_head, [2**p for p in range(6, 14)]),
    "layer": (multi_head_attention, one_layer, [2**p for p in range(5, 13)]),
}


def seconds(f, inputs):
    """The time of the fastest run, after one that is not counted."""
    f(*inputs)
    times = []
    while len(times) < RUNS or sum(times) < SECONDS:
        start = time.perf_counter()
        f(*inputs)
        times.append(time.perf_counter() - start)
    return min(times)


def peak_bytes(f, inputs):
    """The most memory that NumPy held beyond the inputs during one run, its results included."""
    tracemalloc.start()
    f(*inputs)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def machine():
    """The processor as the system names it; platform.processor() is empty on Linux."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())


def main():
    rng = np.random.default_rng(0)
    rows = []
    for name, (f, make, lengths) in SWEEPS.items():
        for n in lengths:
            inputs = make(n, rng)
            row = {"name": name, "n": n, "seconds": seconds(f, inputs), "bytes": peak_bytes(f, inputs)}
            print("{name:8} {n:6} {seconds:12.6f} s {bytes:14,} bytes".format(**row), flush=True)
            rows.append(row)
    about = {
        "date": str(date.today()),
        "machine": f"{machine()}, one thread, {platform.system()}",
        "versions": f"Python {platform.python_version()}, NumPy {np.__version__}",
        "widths": {"d_k": D_K, "d_model": D_MODEL, "n_head": N_HEAD},
    }
    lines = ",\n  ".join(json.dumps(row) for row in rows)
    KEPT.write_text(json.dumps(about)[:-1] + ', "rows": [\n  ' + lines + "\n]}\n")


if __name__ == "__main__":
    main()
