"""attention_proofs finds no difference where the claim holds, and one for each mistake."""

import numpy as np
import pytest
import sympy as sp

import attention_mechanism as am
import attention_proofs as proofs

# ------------------------------------------------------------------------------------------------------- gradients


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_softmax_jacobian_is_proved(n):
    assert proofs.softmax_jacobian_gap(lambda a: sp.diag(*a) - a.T * a, n) == sp.zeros(n, n)


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
