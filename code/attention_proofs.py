"""Claims of the course, checked in small functions that the chapters call step by step: with SymPy, letter by letter,
and by drawing random numbers.
"""

import numpy as np
import sympy as sp

import attention_mechanism as am

# ---------------------------------------------------------------------------------- variance of the score: by symbols
# A law maps each random symbol s to its moments (1, E[s], E[s²], …).  The symbols of a law are independent of each
# other; whatever is dependent is written with them, as k = ρ q + √(1 − ρ²) w is.  A proof that asks for a moment which
# the law does not give fails, so what it never asks for (the shape of a distribution, say) it cannot have used.

STANDARD = (1, 0, 1, *sp.symbols("m3 m4"))  # any distribution with mean 0 and variance 1
NORMAL = (1, 0, 1, 0, 3)
UNIFORM = (1, 0, 1, 0, sp.Rational(9, 5))  # from −√3 to √3
SIGNS = (1, 0, 1, 0, 1)  # −1 or 1, heads or tails


def vectors(d, moments=(1, 0, 1)):
    """q and k of d components each, and a law in which all of them are independent with these moments."""
    q, k = sp.symbols(f"q0:{d}"), sp.symbols(f"k0:{d}")
    return q, k, dict.fromkeys(q + k, moments)


def score(q, k):
    """The dot product of two vectors of expressions: Σ_ℓ q_ℓ k_ℓ.  Raises ValueError if their lengths differ."""
    if len(q) != len(k):
        raise ValueError(f"a dot product needs vectors of one length, but they have {len(q)} and {len(k)} components")
    return sum(x * y for x, y in zip(q, k, strict=True))


def expectation(x, law):
    """E[x] of a polynomial x in the independent symbols of `law`; other symbols are constants, so a law for the keys
    alone gives the mean for a given query.

    Raises ValueError if x is no polynomial in them, or if a moment is needed that the law does not give.
    """
    x = sp.expand(x)
    symbols = sorted(x.free_symbols & law.keys(), key=str)
    if not symbols:
        return x
    if not x.is_polynomial(*symbols):
        raise ValueError(f"moments give the mean of a polynomial, and {x} is none in {symbols}")
    mean = 0
    for powers, term in sp.Poly(x, *symbols).terms():
        for s, n in zip(symbols, powers, strict=True):
            if n >= len(law[s]):
                raise ValueError(f"this needs E[{s}^{n}], and the law of {s} ends with E[{s}^{len(law[s]) - 1}]")
            term *= law[s][n]
        mean += term
    return sp.expand(mean)


def covariance(x, y, law):
    """Cov(x, y) = E[xy] − E[x] E[y], under the same terms as `expectation`."""
    return sp.expand(expectation(x * y, law) - expectation(x, law) * expectation(y, law))


def variance(x, law):
    """Var(x) = E[x²] − E[x]², under the same terms as `expectation`."""
    return covariance(x, x, law)


# -------------------------------------------------------------------------------------------- gradients: by symbols
# Each function returns differences between SymPy's derivatives and a formula: all 0 if the formula holds.


def row_softmax(x):
    """The weights of one row of scores, in symbols.   (1, n) -> (1, n)"""
    e = x.applyfunc(sp.exp)
    return e / sum(e)


def softmax_jacobian_gap(formula, n=3):
    """SymPy's derivatives ∂a_j / ∂x_j' of a = softmax(x), less formula(a): 0 everywhere if the formula holds.

    `formula` takes the row of weights a (1, n) and returns a matrix (n, n), row j and column j'.   -> (n, n)
    """
    x = sp.Matrix(1, n, sp.symbols(f"x0:{n}", real=True))
    a = row_softmax(x)
    return (a.jacobian(x) - formula(a)).applyfunc(sp.simplify)


def attention_backward(G, Q, K, V, A):
    """dQ, dK and dV by the formulas of the chapter, for one query: G (1, d_v), Q (1, d_k), A (1, n_k)."""
    dA = G * V.T
    D = A.multiply_elementwise(dA.applyfunc(lambda x: x - A.dot(dA)))
    return D * K / sp.sqrt(K.cols), D.T * Q / sp.sqrt(K.cols), A.T * G


def attention_gradient_gaps(formulas=attention_backward):
    """SymPy's derivatives of L = G Zᵀ with respect to Q, K and V, less those of the formulas: three matrices of 0.

    One query, two keys, d_k = 2, d_v = 1, all numbers symbols.   -> (1, 2), (2, 2), (2, 1)
    """
    shapes = ("g", 1, 1), ("q", 1, 2), ("k", 2, 2), ("v", 2, 1)
    G, Q, K, V = (sp.Matrix(r, c, sp.symbols(f"{name}0:{r * c}", real=True)) for name, r, c in shapes)
    A = row_softmax(Q * K.T / sp.sqrt(K.cols))
    L = G.dot(A * V)
    gradients = zip((Q, K, V), formulas(G, Q, K, V, A), strict=True)
    return [(X.applyfunc(lambda x: sp.diff(L, x)) - dX).applyfunc(sp.simplify) for X, dX in gradients]


# ------------------------------------------------------------------------------- variance of the score: by simulation
# Each function draws from a generator with a seed, so that a page shows the same numbers every time.


def estimate(x):
    """Mean of independent numbers x, and its standard error: the mean misses the truth by less about 2 times in 3.

    Raises ValueError for fewer than two numbers, whose scatter tells nothing.
    """
    x = np.asarray(x, dtype=float)
    if x.size < 2:
        raise ValueError(f"a standard error needs two numbers or more; {x.size} given")
    return x.mean(), x.std() / x.size**0.5


def spread(x):
    """Standard deviation of independent numbers x, and its standard error, from that of the variance."""
    x = np.asarray(x, dtype=float)
    variance, error = estimate((x - estimate(x)[0]) ** 2)
    return variance**0.5, error / (2 * variance**0.5)


def draw_scores(d_k, count=5000, seed=1):
    """Scores of `count` independent pairs q, k with standard normal components -> (count,)."""
    q, k = np.random.default_rng(seed).standard_normal((2, count, d_k))
    return (q * k).sum(axis=-1)


def draw_heads(d_k, n_k, n_q=25, n_head=40, seed=1):
    """Scores of independent heads, whose queries share their keys; standard normal -> (n_head, n_q, n_k).

    Rows of one head are not independent; for a standard error, average each head first.
    """
    rng = np.random.default_rng(seed)
    return am.dot_scores(rng.standard_normal((n_head, n_q, d_k)), rng.standard_normal((n_head, n_k, d_k)))
