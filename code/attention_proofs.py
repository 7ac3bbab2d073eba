"""What the chapters claim for all numbers, checked by SymPy: each function returns differences that are 0 if the claim
holds.
"""

import sympy as sp

# ------------------------------------------------------------------------------------------------------- gradients


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
