"""Symbolic means and variances agree with SymPy's own probability, with enumeration and with simulation; what is drawn
agrees with the theory, and its standard errors say how far off one must expect to be.  Formulas of gradients leave no
difference, and each wrong one leaves some.
"""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import sympy as sp
from sympy import stats

import attention_mechanism as am
import attention_proofs as proofs

# ---------------------------------------------------------------------------------- variance of the score: by symbols
NAMED = {"normal": proofs.NORMAL, "uniform": proofs.UNIFORM, "signs": proofs.SIGNS}


def mean_and_variance(x, law):
    return proofs.expectation(x, law), proofs.variance(x, law)


def outcomes(d, entries):
    """Every pair of vectors of d entries, each as likely as any other."""
    return [(draw[:d], draw[d:]) for draw in product(entries, repeat=2 * d)]


def counted(values):
    """Mean and variance of equally likely values, exactly."""
    mean = Fraction(sum(values), len(values))
    return mean, sum((v - mean) ** 2 for v in values) / len(values)


@pytest.mark.parametrize("name, variable", [
    ("normal", stats.Normal("x", 0, 1)),
    ("uniform", stats.Uniform("x", -sp.sqrt(3), sp.sqrt(3))),
    ("signs", stats.FiniteRV("x", {-1: sp.Rational(1, 2), 1: sp.Rational(1, 2)})),
])  # fmt: skip
def test_moments_of_the_named_laws_are_those_of_sympy(name, variable):
    assert [sp.simplify(stats.E(variable**n)) for n in range(5)] == list(NAMED[name])


@pytest.mark.parametrize("d", [1, 2, 3, 8, 16])
def test_under_the_assumptions_the_variance_is_the_width(d):
    for moments in (1, 0, 1), proofs.STANDARD:
        q, k, law = proofs.vectors(d, moments)
        assert mean_and_variance(proofs.score(q, k), law) == (0, d)
        assert proofs.variance(proofs.score(q, k) / sp.sqrt(d), law) == 1


@pytest.mark.parametrize("d", [1, 2, 3])
def test_signs_agree_with_enumeration(d):
    q, k, law = proofs.vectors(d, proofs.SIGNS)
    pairs = outcomes(d, (-1, 1))
    assert mean_and_variance(proofs.score(q, k), law) == counted([np.dot(a, b) for a, b in pairs])
    assert mean_and_variance(proofs.score(q, q), law) == counted([np.dot(a, a) for a, _ in pairs]) == (d, 0)


def test_a_lopsided_law_agrees_with_enumeration():
    entries = [2] + [Fraction(-1, 2)] * 4  # mean 0, variance 1, third moment 3/2
    moments = [sum(Fraction(e) ** n for e in entries) / 5 for n in range(5)]
    assert moments[:4] == [1, 0, 1, Fraction(3, 2)]
    q, k, law = proofs.vectors(2, [sp.Rational(m.numerator, m.denominator) for m in moments])
    pairs = outcomes(2, entries)
    for x, values in [
        (proofs.score(q, k), [sum(x * y for x, y in zip(a, b, strict=True)) for a, b in pairs]),
        (proofs.score(q, q), [sum(x * x for x in a) for a, _ in pairs]),
    ]:
        mean, var = mean_and_variance(x, law)
        assert (Fraction(int(mean.p), int(mean.q)), Fraction(int(var.p), int(var.q))) == counted(values)


def test_normal_variables_agree_with_sympy():
    q1, q2, k1, k2 = (stats.Normal(name, 0, 1) for name in ("q1", "q2", "k1", "k2"))
    assert (stats.E(q1 * k1), stats.variance(q1 * k1)) == (0, 1)
    assert stats.covariance(q1 * k1, q2 * k2) == 0
    assert sp.simplify(stats.variance((q1 * k1 + q2 * k2) / sp.sqrt(2))) == 1
    q, k, law = proofs.vectors(2, proofs.NORMAL)
    assert mean_and_variance(q[0] * k[0], law) == (0, 1)
    assert proofs.covariance(q[0] * k[0], q[1] * k[1], law) == 0
    assert mean_and_variance(q[0] ** 2, law) == (stats.E(q1**2), stats.variance(q1**2)) == (1, 2)


def test_a_product_of_shifted_variables_agrees_with_sympy():
    a, b, s, t = sp.symbols("a b s t", positive=True)
    x, y = stats.Normal("x", a, s), stats.Normal("y", b, t)
    q, k, law = proofs.vectors(1)
    shifted = (a + s * q[0]) * (b + t * k[0])
    assert sp.expand(sp.simplify(stats.variance(x * y))) == proofs.variance(shifted, law)
    assert proofs.expectation(shifted, law) == a * b


def test_where_the_theorem_fails():
    m4, rho, a, b = sp.symbols("m4 rho a b", real=True)
    for d in (1, 2, 3):
        q, k, _ = proofs.vectors(d)
        same = dict.fromkeys(q, (1, 0, 1, sp.Symbol("m3"), m4))
        assert mean_and_variance(proofs.score(q, q), same) == (d, d * m4 - d)
        law = dict.fromkeys(q + k, proofs.NORMAL)
        tilted = [rho * x + sp.sqrt(1 - rho**2) * y for x, y in zip(q, k, strict=True)]
        assert mean_and_variance(proofs.score(q, tilted), law) == (d * rho, sp.expand(d * (1 + rho**2)))
        shifted = proofs.score([x + a for x in q], [y + b for y in k])
        assert mean_and_variance(shifted, law) == (d * a * b, sp.expand(d * (1 + a**2 + b**2)))
        assert mean_and_variance(proofs.score([q[0]] * d, [k[0]] * d), law) == (0, d**2)
        assert mean_and_variance(proofs.score([q[0]] * d, k), law) == (0, d)
        flips = [x * y for x, y in zip(q, k, strict=True)]  # uncorrelated with q, and of its size
        law |= dict.fromkeys(k, proofs.SIGNS)
        assert [proofs.covariance(x, y, law) for x, y in zip(q, flips, strict=True)] == [0] * d
        assert mean_and_variance(proofs.score(q, flips), law) == (0, 3 * d)


def test_any_covariance_within_the_vectors_agrees_with_simulation():
    L, R = np.array([[1.0, 0.5], [0.0, 2.0]]), np.array([[1.0, -1.0], [0.5, 1.0]])
    u, w, law = proofs.vectors(2)
    exact = proofs.variance(proofs.score(sp.Matrix([u]) * sp.Matrix(L), sp.Matrix([w]) * sp.Matrix(R)), law)
    np.testing.assert_allclose(float(exact), np.trace(L.T @ L @ R.T @ R))
    rng = np.random.default_rng(0)
    drawn = ((rng.standard_normal((40_000, 2)) @ L) * (rng.standard_normal((40_000, 2)) @ R)).sum(axis=1)
    squares = (drawn - drawn.mean()) ** 2
    assert abs(squares.mean() - float(exact)) < 6 * squares.std() / 200


def test_a_law_for_the_keys_alone_keeps_the_query_fixed():
    q, k, law = proofs.vectors(3)
    keys = {s: law[s] for s in k}
    assert mean_and_variance(proofs.score(q, k), keys) == (0, sum(x**2 for x in q))


def test_a_covariance_is_free_of_both_means():
    q, k, law = proofs.vectors(1)
    assert proofs.covariance(q[0] + 2, q[0] + 5 * k[0] + 7, law) == 1
    assert proofs.covariance(q[0] + 2, k[0] + 7, law) == 0


def test_what_is_not_a_sum_of_random_symbols_is_constant():
    c = sp.Symbol("c")
    assert mean_and_variance(c, {}) == (c, 0) and proofs.expectation(3, {}) == 3


# the theorem can fail, and so can these functions
def test_other_assumptions_give_other_variances():
    q, k, law = proofs.vectors(4)
    assert proofs.variance(proofs.score(q, k) / 4, law) == sp.Rational(1, 4)  # divided by d_k instead of its root
    assert proofs.variance(proofs.score(q, k), law | dict.fromkeys(q, (1, 0, 2))) == 8
    assert proofs.variance(proofs.score(q, k), dict.fromkeys(q + k, (1, 0, 2))) == 16


def test_a_moment_that_was_not_given_is_asked_for_by_name():
    q, _, law = proofs.vectors(2)
    with pytest.raises(ValueError, match=r"needs E\[q0\^4\], and the law of q0 ends with E\[q0\^2\]"):
        proofs.variance(proofs.score(q, q), law)
    with pytest.raises(ValueError, match=r"needs E\[q0\^3\]"):
        proofs.expectation(q[0] ** 3, law)


def test_what_has_no_moments_is_refused():
    q, _, law = proofs.vectors(1)
    with pytest.raises(ValueError, match="none in"):
        proofs.expectation(sp.exp(q[0]), law)


def test_vectors_of_two_lengths_are_refused():
    q, k, _ = proofs.vectors(3)
    with pytest.raises(ValueError, match="3 and 2 components"):
        proofs.score(q, k[:2])


# ------------------------------------------------------------------------------- variance of the score: by simulation
def test_the_standard_error_is_the_scatter_of_repeated_estimates():
    draws = np.random.default_rng(0).normal(3, 2, (400, 500))
    means, errors = np.transpose([proofs.estimate(x) for x in draws])
    assert abs(means.mean() - 3) < 6 * 2 / (400 * 500) ** 0.5
    assert 0.85 < means.std() / errors.mean() < 1.15  # 400 scatters are known to 4 %
    stds, errors = np.transpose([proofs.spread(x) for x in draws])
    assert abs(stds.mean() - 2) < 0.02
    assert 0.85 < stds.std() / errors.mean() < 1.15


@pytest.mark.parametrize("numbers", [[], [3.0]])
def test_one_number_has_no_standard_error(numbers):
    for measure in (proofs.estimate, proofs.spread):
        with pytest.raises(ValueError, match=f"needs two numbers or more; {len(numbers)} given"):
            measure(numbers)


def test_by_hand():
    assert proofs.estimate([1, 1, 3, 3]) == (2, 0.5)
    assert proofs.spread([1, 1, 3, 3]) == (1, 0)  # each square is 1: no scatter


@pytest.mark.parametrize("d_k", [1, 4, 64, 1280])
def test_scores_have_the_variance_of_the_theorem(d_k):
    drawn = proofs.draw_scores(d_k)
    assert drawn.shape == (5000,)
    mean, error = proofs.estimate(drawn)
    assert abs(mean) < 5 * error
    variance, error = proofs.estimate((drawn - drawn.mean()) ** 2)
    assert abs(variance - d_k) < 5 * error
    assert abs(variance - d_k**0.5) > 5 * error or d_k == 1  # it is not the root


def test_scores_of_heads_share_their_keys_and_their_queries():
    S = proofs.draw_heads(3, n_k=7, n_q=5, n_head=2)
    assert S.shape == (2, 5, 7)
    for head in S:
        assert np.linalg.matrix_rank(head) == 3  # five queries and seven keys of width 3, not 35 loose numbers
    mean, error = proofs.estimate((proofs.draw_heads(16, 10) ** 2).mean(axis=(-2, -1)))
    assert abs(mean - 16) < 5 * error


def test_a_seed_repeats_and_another_does_not():
    np.testing.assert_array_equal(proofs.draw_scores(4, seed=2), proofs.draw_scores(4, seed=2))
    np.testing.assert_array_equal(proofs.draw_heads(4, 3, seed=2), proofs.draw_heads(4, 3, seed=2))
    assert not np.array_equal(proofs.draw_scores(4), proofs.draw_scores(4, seed=2))
    assert not np.array_equal(proofs.draw_heads(4, 3), proofs.draw_heads(4, 3, seed=2))


# ------------------------------------------------------------------------------------------------------- gradients


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("formula", [
    lambda a: sp.diag(*a) - a.T * a,
    lambda a: sp.Matrix(len(a), len(a), lambda j, m: a[j] * ((1 if j == m else 0) - a[m])),
])  # fmt: skip
def test_the_softmax_jacobian_is_proved_however_it_is_written(n, formula):
    assert proofs.softmax_jacobian_gap(formula, n) == sp.zeros(n, n)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda a: sp.diag(*a) - 2 * a.T * a,
        lambda a: sp.diag(*(w * (1 - w) for w in a)),  # the diagonal alone
        lambda a: sp.diag(*a),
        lambda a: a.T * a - sp.diag(*a),
    ],
)
def test_a_wrong_softmax_jacobian_is_found(wrong):
    assert proofs.softmax_jacobian_gap(wrong, 2) != sp.zeros(2, 2)


def test_a_row_times_its_column_does_not_even_fit():
    with pytest.raises(sp.ShapeError):
        proofs.softmax_jacobian_gap(lambda a: sp.diag(*a) - a * a.T, 2)


def test_the_three_paths_are_proved():
    assert proofs.attention_gradient_gaps() == [sp.zeros(1, 2), sp.zeros(2, 2), sp.zeros(2, 1)]


def unscaled(G, Q, K, V, A):
    dQ, dK, dV = proofs.attention_backward(G, Q, K, V, A)
    return dQ * sp.sqrt(2), dK, dV


def diagonal_only(G, Q, K, V, A):
    D = A.multiply_elementwise(A.applyfunc(lambda w: 1 - w)).multiply_elementwise(G * V.T)
    return D * K / sp.sqrt(2), D.T * Q / sp.sqrt(2), A.T * G


def value_less_by_half(G, Q, K, V, A):
    dQ, dK, dV = proofs.attention_backward(G, Q, K, V, A)
    return dQ, dK, dV / 2


@pytest.mark.parametrize(
    "wrong, where",
    [(unscaled, [0]), (diagonal_only, [0, 1]), (value_less_by_half, [2])],
    ids=lambda x: getattr(x, "__name__", str(x)),
)
def test_a_wrong_path_is_found_where_it_is_wrong(wrong, where):
    gaps = proofs.attention_gradient_gaps(wrong)
    assert [i for i, gap in enumerate(gaps) if any(gap)] == where


def test_the_proved_formulas_are_the_ones_of_the_code():
    rng = np.random.default_rng(3)
    G, Q, K, V = (rng.standard_normal(shape) for shape in [(1, 2), (1, 3), (4, 3), (4, 2)])
    A = am.scaled_dot_product_attention(Q, K, V)[1]
    symbolic = proofs.attention_backward(*map(sp.Matrix, (G, Q, K, V, A)))
    for ours, theirs in zip(am.scaled_dot_product_attention_backward(G, Q, K, V, A), symbolic, strict=True):
        np.testing.assert_allclose(ours, np.array(theirs.evalf(), float), rtol=0, atol=1e-12)
