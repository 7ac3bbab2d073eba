"""What SymPy can prove about the formulas of the course, in small functions that the chapters call step by step."""

import sympy as sp

# ------------------------------------------------------------------------------------------ variance of the score
# A law maps each random symbol s to its moments (1, E[s], E[s²], …).  The symbols of a law are independent of each
# other; whatever is dependent is written with them, as k = ρ q + √(1 − ρ²) w is.  A proof that asks for a moment which
# the law does not give fails, so what it never asks for (the shape of a distribution, say) it cannot have used.

STANDARD = (1, 0, 1, *sp.symbols("m3 m4"))  # any distribution with mean 0 and variance 1
NORMAL = (1, 0, 1, 0, 3)
UNIFORM = (1, 0, 1, 0, sp.Rational(9, 5))  # from −√3 to √3
SIGNS = (1, 0, 1, 0, 1)  # −1 or 1, heads or tails


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
