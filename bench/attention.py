"""Time and memory of attention as n doubles: the course's functions, PyTorch's, and what the machine allows.

Run it with a Python that has NumPy and torch, on Linux.  It prints a row for each n and keeps the measurements in
book/data/cost.json, which chapter 8 reads.  At each n the calls take turns, so that other work hits all alike.
"""

import os

os.environ.update(
    dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(len(os.sched_getaffinity(0))))
)

import argparse
import json
import multiprocessing
import platform
import re
import resource
import sys
import time
import tracemalloc
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from math import inf, sqrt
from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import scaled_dot_product_attention as torch_attention

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "code"))  # torch's Python need not have the course

import attention_mechanism as am

KEPT = Path(__file__).resolve().parents[1] / "book" / "data" / "cost.json"
CORES = len(os.sched_getaffinity(0))  # as many threads, for NumPy as for torch
N_HEAD, D_K = 8, 64
D_MODEL = N_HEAD * D_K
LENGTHS = [2**p for p in range(5, 15)]
MOST_BYTES = 2**31  # what needs more for the scores of all heads, their exponentials and the weights is left out
SQUARE = 2048  # the matrices by which the products of NumPy and torch are compared
ROUNDS, TURN = 5, 0.1  # each call has so many turns, of so many seconds, or of one call if that takes longer


def fastest(calls):
    """The fastest run of each call, after one that does not count: other work can only add time.

    name -> its seconds, and the processor's seconds that the system took of it (most of all to hand out memory)
    """
    runs = dict.fromkeys(calls, (inf, 0))
    for call in calls.values():
        call()
    for _ in range(ROUNDS):
        for name, call in calls.items():
            turn = end = time.perf_counter()
            while end - turn < TURN:
                start, before = time.perf_counter(), system_seconds()
                call()
                end, after = time.perf_counter(), system_seconds()
                runs[name] = min(runs[name], (end - start, after - before))
    return runs


def system_seconds():
    return resource.getrusage(resource.RUSAGE_SELF).ru_stime


def draw(*shape):
    return np.random.default_rng(0).standard_normal(shape, dtype=np.float32)


def by_numpy(n, causal):
    """The course's functions at one n: name -> a call."""
    Q, K, V = draw(3, 1, N_HEAD, n, D_K)
    calls = {"by_rows": lambda: am.attention_by_rows(Q, K, V, causal=causal)}
    if 3 * 4 * N_HEAD * n**2 <= MOST_BYTES:
        mask = am.causal_mask(n, n) if causal else None
        calls["plain"] = lambda: am.scaled_dot_product_attention(Q, K, V, mask)
        if not causal:
            X, W = draw(n, D_MODEL), draw(4, D_MODEL, D_MODEL) / sqrt(D_MODEL)
            calls["layer"] = lambda: am.multi_head_attention(X, X, *W, N_HEAD)
    return calls


def by_torch(n, causal):
    Q, K, V = torch.from_numpy(draw(3, 1, N_HEAD, n, D_K))
    return lambda: torch_attention(Q, K, V, is_causal=causal)


def parts(n):
    """The two products of one block of rows, and its exponentials, which no way by rows can do without."""
    rows = min(n, am.ROWS_PER_BLOCK)
    Q, K_T, V = draw(rows, D_K), draw(D_K, n), draw(n, D_K)
    S = Q @ K_T
    E, Z = np.exp(S), np.empty_like(Q)
    return {
        "products": lambda: (np.matmul(Q, K_T, out=S), np.matmul(E, V, out=Z)),
        "exp": lambda: np.exp(S, out=E),
    }


def peak_bytes(call):
    """The most memory that NumPy held beyond the inputs during one run, its results included."""
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def torch_growth(n, causal):
    """By how much one run of torch makes this process grow, its results included; a short run before loads its code."""
    by_torch(16, causal)()
    call = by_torch(n, causal)
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before = resident("VmRSS")
    call()
    return resident("VmHWM") - before


def resident(field):
    return 1024 * int(re.search(rf"{field}:\s+(\d+)", Path("/proc/self/status").read_text())[1])


def in_new_process(f, *arguments):
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(f, *arguments).result()


def measure(n):
    """All measurements at one n -> records, one for each name, full and causal."""
    records, blocks = [], N_HEAD * max(1, n // am.ROWS_PER_BLOCK)
    for causal in (False, True):
        calls = by_numpy(n, causal)
        peaks = {name: peak_bytes(call) for name, call in calls.items()}
        peaks["torch"] = in_new_process(torch_growth, n, causal)
        runs = fastest(calls | {"torch": by_torch(n, causal)} | ({} if causal else parts(n)))
        for name, (seconds, system) in runs.items():
            record = {"name": name, "causal": causal, "n": n}
            if name in peaks:
                record |= {"seconds": seconds, "system": system, "bytes": peaks[name]}
            else:
                record |= {"seconds": seconds * blocks}
            records.append(record)
    return records


def square_rates():
    """Multiply–adds per second in a product of large squares."""
    A = draw(SQUARE, SQUARE)
    B, T = np.empty_like(A), torch.from_numpy(A)
    runs = fastest({"NumPy": lambda: np.matmul(A, A, out=B), "torch": lambda: torch.mm(T, T)})
    return {name: SQUARE**3 / seconds for name, (seconds, _) in runs.items()}


COLUMNS = {"plain": "plain", "by rows": "by_rows", "torch": "torch"}
HEADER = ["n", *COLUMNS, "products + exp", *(f"causal {c}" for c in COLUMNS), *(f"MiB {c}" for c in COLUMNS)]


def table_row(n, records):
    """Milliseconds and, without a mask, MiB; a dash where the function would need more than MOST_BYTES."""
    found = {(r["name"], r["causal"]): r for r in records}

    def cell(name, what, unit, causal=False):
        return f"{found[name, causal][what] / unit:,.3g}" if (name, causal) in found else "–"

    least = sum(found[part, False]["seconds"] for part in ("products", "exp"))
    times = [[cell(name, "seconds", 1e-3, causal) for name in COLUMNS.values()] for causal in (False, True)]
    space = [cell(name, "bytes", 2**20) for name in COLUMNS.values()]
    return f"| {n:,} | " + " | ".join([*times[0], f"{1e3 * least:,.3g}", *times[1], *space]) + " |"


def about():
    """Who was measured, and when."""
    info = Path("/proc/cpuinfo").read_text()
    model, family, number = (re.search(rf"{k}\s*:\s*(.*)", info)[1] for k in ("model name", "cpu family", "model"))
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    mkl = re.search(r"Math Kernel Library Version (\S+)", torch.__config__.show())
    return {
        "date": str(date.today()),
        "machine": f"{model} (family {family}, model {number}), {platform.system()}",
        "threads": CORES,
        "load": round(os.getloadavg()[0], 1),
        "versions": f"Python {platform.python_version()}, NumPy {np.__version__}, torch {torch.__version__}",
        "blas": {"NumPy": f"{blas['name']} {blas['version']}", "torch": f"MKL {mkl[1]}" if mkl else "not MKL"},
        "widths": {"d_k": D_K, "d_model": D_MODEL, "n_head": N_HEAD},
        "most_bytes": MOST_BYTES,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--longest", type=int, default=LENGTHS[-1], help="measure no n beyond this one")
    parser.add_argument("--to", type=Path, default=KEPT, help="the file to write")
    given = parser.parse_args()
    torch.set_num_threads(CORES)
    torch.set_grad_enabled(False)
    kept = about() | {"square": square_rates()}
    print(json.dumps(kept, indent=1), f"| {' | '.join(HEADER)} |", "|--:" * len(HEADER) + "|", sep="\n")
    records = []
    for n in LENGTHS:
        if n <= given.longest:
            records += (now := measure(n))
            print(table_row(n, now), flush=True)
    lines = ",\n  ".join(json.dumps(record) for record in records)
    given.to.write_text(json.dumps(kept)[:-1] + ', "rows": [\n  ' + lines + "\n]}\n")


if __name__ == "__main__":
    main()
