"""What `python3 code/attention_mechanism.py` prints: attention on three tokens, one step after the other.

The steps that the printout shares with the course's source are printed character by character as there.
"""

import argparse
import contextlib
import sys
from pathlib import Path

import numpy as np

import attention_mechanism as am

TOKENS = ["I", "love", "NN"]
X = np.eye(3, 4)  # three embeddings that have nothing in common
W_Q = W_K = W_V = np.eye(4)  # projections that change nothing, so that every number can be followed
PICTURE = "attention_heatmap.png"


def main(argv=None):
    """Print the trace and save the picture.   -> exit status: 0, or 1 if a check or the picture failed"""
    parser = argparse.ArgumentParser(description="Scaled dot-product attention on three tokens, step by step.")
    parser.add_argument("--out", metavar="PATH", default=".", help="where the picture goes: a folder or a .png file")
    path = picture_path(parser.parse_args(argv).out, parser)
    if hasattr(sys.stdout, "reconfigure"):  # ✓ and Σ in any terminal; surrogateescape: a folder may have any name
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")
    good, *matrices = print_trace()
    return 0 if save_picture(path, *matrices) and good else 1


def print_trace():
    """Print every step.   -> (whether the rows of weights sum to 1, S, S_scaled, A)"""
    with np.printoptions(precision=4, suppress=True):
        Q, K, V = X @ W_Q, X @ W_K, X @ W_V
        S, S_scaled = am.dot_scores(Q, K), am.scaled_scores(Q, K)
        A = am.softmax(S_scaled)
        print_inputs(Q, K, V)
        print_scores(S, S_scaled, d_k=K.shape[-1])
        good = print_weights(A)
        print_query(0, A, V)
        heading("STEP 5: Output  Z = A V")
        print_matrix("Z", A @ V)
    return good, S, S_scaled, A


def heading(title, first=False):
    """The title between two rules of 65 signs, after an empty line."""
    print("" if first else "\n", "=" * 65, "\n", title, "\n", "=" * 65, sep="")


def print_matrix(name, M):
    print(f"{name} shape: {M.shape}")
    print(M)


def print_inputs(Q, K, V):
    heading("STEP 0: Input embeddings (3 tokens, d_model=4)", first=True)
    print(f"X shape: {X.shape}")
    for i, x in enumerate(X):
        print(f"  Token {i}: {x}")
    heading("STEP 1: Linear projections Q, K, V")
    for name, M in ("Q", Q), ("K", K), ("V", V):
        print(f"{name} shape: {M.shape}")
    for name, M in ("Q (Query)", Q), ("K (Key)", K), ("V (Value)", V):
        print(f"\n{name} matrix:\n{M}")


def print_scores(S, S_scaled, d_k):
    heading("STEP 2: Similarity matrix  S = Q K^T")
    print_matrix("S", S)
    heading("STEP 3: Scaled scores  S_scaled = S / sqrt(d_k)")
    print(f"sqrt(d_k) = sqrt({d_k}) = {d_k**0.5:.4f}")
    print(S_scaled)


def print_weights(A):
    """Print the weights and check them.   -> whether all rows sum to 1"""
    heading("STEP 4: Attention weights  A = softmax(S_scaled, axis=-1)")
    print(f"Attention weight matrix (row = query, col = key):\n{A}\n")
    sums = A.sum(axis=-1)
    print(f"Row sums (should all be 1.0):\n{sums}")
    good = np.allclose(sums, 1, rtol=0, atol=1e-12)
    if good:
        print("  ✓ All rows sum to 1 — each query distributes 100% attention across keys.")
    else:
        print("  ✗ Some row does not sum to 1: the softmax is wrong, and so is everything below.")
    return good


def print_query(i, A, V):
    """The row of one query: its weights, and its output as their weighted sum of the values."""
    heading(f"DETAILED TRACE: Query {i} ('{TOKENS[i]}')")
    print(f"  Attention weights for Query {i}:")
    for j, token in enumerate(TOKENS):
        print(f"    → Key {j} ({token}): weight = {A[i, j]:.4f} ({A[i, j]:.1%})")
    print(f"\n  Context vector Z[{i}] = Σ_j A[{i},j] * V[j]:")
    products = [f"{A[i, j]:.4f} × {V[j]}" for j in range(len(TOKENS))]
    print("    =", " +\n      ".join(products))
    print(f"    = {A[i] @ V}")


def picture_path(out, parser):
    """The file that --out means: a .png file, or attention_heatmap.png in a folder."""
    path = Path(out)
    if path.is_dir() or not path.suffix:
        return path.absolute() / PICTURE
    if path.suffix.lower() != ".png":
        parser.error(f"--out takes a folder or a .png file, and {out} is neither")
    return path.absolute()


def save_picture(path, S, S_scaled, A):
    """Draw scores, scaled scores and weights side by side, and save them.   -> whether nothing went wrong"""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        print("\nNo picture without matplotlib: run  pip install matplotlib  and start again to get it.")
        return True
    import matplotlib

    import attention_plots

    backend = matplotlib.get_backend(auto_select=False)
    plt.switch_backend("agg")  # draws to a file, and needs no screen
    figure = attention_plots.three_panels(S, S_scaled, A, TOKENS)[0].figure
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, facecolor="white")
    except OSError as error:
        sys.stdout.flush()
        print(f"cannot write {path}: {error.strerror or error}; choose another place with --out", file=sys.stderr)
        return False
    finally:
        plt.close(figure)
        with contextlib.suppress(ImportError):  # a notebook gets its backend back; one that cannot load is no loss
            plt.switch_backend(backend or "agg")
    print(f"\nsaved {path}")
    return True
