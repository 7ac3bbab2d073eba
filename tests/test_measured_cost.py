"""What chapter 8 says in words of its kept measurements holds for them: `bench/attention.py` writes them anew.

No time is taken here.  The name of a test is that of the cells, -zh and -en, whose words no longer hold if it fails.
"""

import json
import math
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import attention_mechanism as am

KEPT = json.loads((Path(__file__).parents[1] / "book" / "data" / "cost.json").read_text("utf-8"))
LENGTHS = [2**p for p in range(5, 15)]


def column(name, what="seconds", causal=False):
    return {row["n"]: row[what] for row in KEPT["rows"] if (row["name"], row["causal"]) == (name, causal)}


PLAIN, BY_ROWS, TORCH, LAYER = (column(name) for name in ("plain", "by_rows", "torch", "layer"))
LEAST = {n: t + column("exp")[n] for n, t in column("products").items()}


def slope(times, a, b):
    return math.log(times[b] / times[a], b / a)


def layer_work(n):
    return 4 * n * 512**2 + 2 * n**2 * 512


def test_measured_plain():
    assert max(PLAIN) == max(column("plain", causal=True)) == max(LAYER) == 4096
    assert 3 * 4 * 8 * 4096**2 < 2**31 == KEPT["most_bytes"] < 3 * 4 * 8 * 8192**2
    for name in ("by_rows", "torch"):
        assert list(column(name)) == list(column(name, causal=True)) == LENGTHS
    assert list(LEAST) == LENGTHS and KEPT["widths"] == {"d_k": 64, "d_model": 512, "n_head": 8}


def test_read_fit():
    large = [slope(times, 1024, max(times)) for times in (BY_ROWS, PLAIN)]
    small = [slope(times, 32, 256) for times in (BY_ROWS, PLAIN)]
    assert all(abs(exponent - 2) < 0.15 for exponent in large), "both close to 2"
    assert max(small) < 1.5, "both much smaller for small n"
    causal = column("plain", causal=True)
    assert all(LAYER[n] > PLAIN[n] < causal[n] / 0.9 for n in PLAIN), "no point of plain was disturbed"


def test_read_layer():
    work = {n: layer_work(n) for n in LAYER}
    excess = {n: slope(LAYER, n, 2 * n) - slope(work, n, 2 * n) for n in LAYER if 2 * n in LAYER}
    assert all((e < 0) == (n < 256) for n, e in excess.items()), "below up to 256, then above in every doubling"


def test_read_rate():
    rates = {n: layer_work(n) / t for n, t in LAYER.items()}
    best = max(rates, key=rates.get)
    assert 32 < best < 1024 and rates[4096] < 0.7 * rates[best], "rises, then falls far below"
    system = column("layer", "system")
    assert system[4096] > 0.2 * LAYER[4096] and system[256] < 0.01 * LAYER[256], "new pages of memory take their time"


def test_read_rivals():
    assert BY_ROWS[32] > 2 * TORCH[32], "for small n torch is much faster"
    assert all(PLAIN[n] > BY_ROWS[n] for n in (1024, 2048, 4096)), "for large n by rows is faster than all at once"
    assert LEAST[32] < BY_ROWS[32] / 4, "a small part"
    assert KEPT["square"]["NumPy"] > KEPT["square"]["torch"] and all(TORCH[n] < BY_ROWS[n] for n in LENGTHS)
    assert all(LEAST[n] < BY_ROWS[n] for n in LENGTHS), "no squares below the dashed line"
    assert BY_ROWS[16384] - LEAST[16384] < BY_ROWS[16384] / 2, "most of the time goes into products and exponentials"


def test_measured_figure():
    assert 0.5e-4 < PLAIN[32] < 1.5e-4 < BY_ROWS[32] < 3e-4 and 1 < BY_ROWS[16384] < 10
    assert all(PLAIN[n] > BY_ROWS[n] for n in (1024, 2048, 4096))


def test_rows_least_figure():
    squares, circles, triangles = ({n: t / LEAST[n] for n, t in times.items()} for times in (BY_ROWS, PLAIN, TORCH))
    assert 3.8 < squares[32] < 4.5 and 1.8 < circles[32] < 2.2 and triangles[32] < 0.9
    assert max(squares, key=squares.get) == 32 and 1 < squares[16384] < 1.5
    assert min(circles.values()) < 2 and 2.3 < circles[4096] < 2.8
    assert {n: round(multiple, 2) > 1 for n, multiple in triangles.items()} == {n: n in (1024, 4096) for n in LENGTHS}
    assert max(triangles.values()) < 1.1


@pytest.mark.parametrize("n", [128, 512])
def test_the_kept_bytes_are_those_of_the_functions_as_they_are_now(n):
    Q, K, V = np.ones((3, 1, 8, n, 64), np.float32)
    for name, f in {"plain": am.scaled_dot_product_attention, "by_rows": am.attention_by_rows}.items():
        tracemalloc.start()
        try:
            f(Q, K, V)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak == pytest.approx(column(name, "bytes")[n], rel=0.05)
