"""Does a head do what it seems to do?  The practice problems of chapter 9."""

import numpy as np

from .problem import Problem, arrays, in_float32, softmax

# ------------------------------------------------------------------------------------ the right answers, in plain loops


def right_share_at(A, offset):
    n = len(A)
    there = [A[i][i + offset] for i in range(n) if 0 <= i + offset < n]
    return sum(there) / len(there)


def right_hit_rate(A, query, target):
    found = 0
    for row, i, j in zip(A, query, target, strict=True):
        others = [k for k in range(len(row)) if k != i]
        found += max(others, key=lambda k: row[k]) == j
    return found / len(A)


def right_best_distance(query, target):
    distances = [j - i for i, j in zip(query, target, strict=True)]
    best = max(distances, key=distances.count)
    return best, distances.count(best) / len(distances)


def right_both_right(A):
    found = [first[0] > first[1] and second[1] > second[0] for first, second in A]
    return sum(found) / len(found)


# --------------------------------------------------------------------------------------------------------------- cases


def rows_of_weights(rng, *shape):
    return softmax(2 * rng.normal(size=shape))


def drawn_hits(seed, m, n):
    """Cases of which some are hits, some not, and in some the query's own weight is the largest."""
    rng = np.random.default_rng(seed)
    A, query = rows_of_weights(rng, m, n), rng.integers(0, n, m)
    others = np.where(np.arange(n) == query[:, None], -1, A)
    target = np.where(rng.random(m) < 0.6, others.argmax(axis=1), others.argsort(axis=1)[:, 1])
    own = rng.random(m) < 0.4
    A[own, query[own]] = 1
    return A / A.sum(axis=1, keepdims=True), query, target


def places(query, distances):
    query = np.array(query)
    return query, query + distances


RNG = np.random.default_rng(2019)
OFFSETS = ((4, -1), (5, 2), (6, -3), (1, 0), (7, 1), (5, -2), (3, 0))
NOUNS = tuple((rows_of_weights(RNG, p, 2, 4)[..., :2],) for p in (5, 8, 12))  # two nouns among four words


# ------------------------------------------------------------------------------------------------------ known mistakes


def negative_index(A, offset):
    return np.mean([A[i, i + offset] for i in range(len(A)) if i + offset < len(A)])


def attended(A, query, target):
    return np.where(np.arange(A.shape[1]) == query[:, None], -1, A).argmax(axis=1)


def indices_not_shifted(A, query, target):
    return np.mean([np.delete(row, i).argmax() == j for row, i, j in zip(A, query, target, strict=True)])


def most_frequent(numbers):
    """-> number, how often it occurs"""
    values, counts = np.unique(numbers, return_counts=True)
    return values[counts.argmax()], counts.max()


def share_of(numbers):
    best, count = most_frequent(numbers)
    return best, count / len(numbers)


def right_in_each(A):
    return A[:, 0, 0] > A[:, 0, 1], A[:, 1, 1] > A[:, 1, 0]


# ------------------------------------------------------------------------------------------------------------ problems

SHARE_AT = Problem(
    axes="A n n, offset",
    right=right_share_at,
    cases=(
        (*arrays([[0.5, 0.25, 0.25], [0.75, 0, 0.25], [0.25, 0.625, 0.125]]), -1),
        *((rows_of_weights(RNG, n, n), offset) for n, offset in OFFSETS),
        (*in_float32((rows_of_weights(RNG, 6, 6),)), 4),
    ),
    mistakes={
        "other side": lambda A, offset: A.diagonal(-offset).mean(),
        "over all queries": lambda A, offset: A.diagonal(offset).sum() / len(A),
        "weights summed": lambda A, offset: A.diagonal(offset).sum(),
        "wraps round": lambda A, offset: np.mean([row[(i + offset) % len(A)] for i, row in enumerate(A)]),
        "negative index": negative_index,
        "largest there": lambda A, offset: np.mean(
            [A[i].argmax() == i + offset for i in range(len(A)) if 0 <= i + offset < len(A)]
        ),
    },
)

HIT_RATE = Problem(
    axes="A m n, query m, target m",
    right=right_hit_rate,
    cases=(
        (
            arrays([[0.5, 0.125, 0.375], [0.5, 0.125, 0.375], [0.125, 0.5, 0.375]])[0],
            np.array([0, 1, 1]),
            np.array([2, 0, 0]),
        ),
        *(drawn_hits(seed, m, n) for seed, (m, n) in enumerate(((5, 4), (8, 6), (12, 5), (9, 9), (20, 7)), start=1)),
        in_float32(drawn_hits(9, 10, 6)),
    ),
    mistakes={
        "itself kept": lambda A, query, target: np.mean(A.argmax(axis=1) == target),
        "indices not shifted": indices_not_shifted,
        "weight on the target": lambda A, query, target: A[np.arange(len(A)), target].mean(),
        "more than half": lambda A, query, target: np.mean(A[np.arange(len(A)), target] > 0.5),
        "count": lambda A, query, target: np.sum(attended(A, query, target) == target),
        "percentage": lambda A, query, target: 100 * np.mean(attended(A, query, target) == target),
        "over keys": lambda A, query, target: np.sum(attended(A, query, target) == target) / A.shape[1],
    },
)

BEST_DISTANCE = Problem(
    axes="query m, target m",
    right=right_best_distance,
    cases=(
        places([3, 1, 4], [2, 2, -1]),
        places([5, 4, 3, 6, 2], [-2, -2, 1, -2, 3]),
        places([1, 2, 6, 7, 5, 5, 0], [3, 3, -3, -3, 1, 3, 1]),
        places([4], [-3]),
        places([9, 3, 8, 2, 6, 6, 6, 7], [-1, 1, -1, 2, -1, 1, -1, -2]),
        places([0, 0, 1, 3], [1, 2, 1, 1]),
    ),
    mistakes={
        "from target to query": lambda query, target: share_of(query - target),
        "distance unsigned": lambda query, target: share_of(abs(target - query)),
        "place of the target": lambda query, target: share_of(target),
        "cases, not their share": lambda query, target: most_frequent(target - query),
        "share first": lambda query, target: share_of(target - query)[::-1],
    },
    parts=("distance", "share"),
)

BOTH_RIGHT = Problem(
    axes="A p version noun",
    right=right_both_right,
    cases=(
        arrays([[[0.5, 0.25], [0.125, 0.375]], [[0.625, 0.125], [0.5, 0.25]]]),
        *NOUNS,
        arrays([[[0.75, 0.125], [0.25, 0.5]], [[0.25, 0.5], [0.125, 0.75]], [[0.5, 0.25], [0.5, 0.25]]]),
        (np.array([[[0.25, 0.25], [0.25, 0.5]], [[0.5, 0.25], [0.25, 0.375]]]),),  # a tie is not right
        in_float32(NOUNS[1]),
    ),
    mistakes={
        "questions counted": lambda A: np.mean(right_in_each(A)),
        "first version alone": lambda A: right_in_each(A)[0].mean(),
        "second version alone": lambda A: right_in_each(A)[1].mean(),
        "either version": lambda A: np.logical_or(*right_in_each(A)).mean(),
        "same noun": lambda A: np.mean((A[:, 0, 0] > A[:, 0, 1]) & (A[:, 1, 0] > A[:, 1, 1])),
        "nouns exchanged": lambda A: np.mean((A[:, 0, 0] < A[:, 0, 1]) & (A[:, 1, 1] < A[:, 1, 0])),
        "rates multiplied": lambda A: np.prod([each.mean() for each in right_in_each(A)]),
        "number of pairs": lambda A: np.logical_and(*right_in_each(A)).sum(),
        "above one half": lambda A: np.mean((A[:, 0, 0] > 0.5) & (A[:, 1, 1] > 0.5)),
    },
)

PROBLEMS = {
    "share_at": SHARE_AT,
    "hit_rate": HIT_RATE,
    "best_distance": BEST_DISTANCE,
    "both_right": BOTH_RIGHT,
}
