"""The practice problems of chapter 9 as learners solve them, see practice_1_2.py."""

from collections import Counter

import numpy as np

# --------------------------------------------------------------------------------- right, and written in another way


def share_by_mask(A, offset):
    i, j = np.indices(A.shape)
    return A[j - i == offset].mean()


def share_by_slices(A, offset):
    n = len(A)
    rows = np.arange(max(0, -offset), min(n, n - offset))
    return np.take_along_axis(A[rows], (rows + offset)[:, None], axis=1).mean()


def hits_by_minus_infinity(A, query, target):
    A = A.copy()
    A[range(len(A)), query] = -np.inf
    return (A.argmax(axis=-1) == target).mean()


def hits_by_sorting(A, query, target):
    found = 0
    for row, i, j in zip(A, query, target, strict=True):
        best = [k for k in np.argsort(row)[::-1] if k != i][0]
        found += best == j
    return found / len(query)


def hits_by_comparing(A, query, target):
    found = [
        all(row[j] > row[k] for k in range(len(row)) if k not in (i, j)) and i != j
        for row, i, j in zip(A, query, target, strict=True)
    ]
    return sum(found) / len(found)


def distance_by_counter(query, target):
    [(distance, count)] = Counter((target - query).tolist()).most_common(1)
    return distance, count / len(query)


def distance_by_trying_all(query, target):
    tried = {d: np.mean(query + d == target) for d in range(-20, 21)}
    best = max(tried, key=tried.get)
    return np.array([best, tried[best]])


def distance_by_bincount(query, target):
    counts = np.bincount(target - query + 50)
    return counts.argmax() - 50, counts.max() / counts.sum()


def both_by_loops(A):
    n = 0
    for (a, b), (c, d) in A:
        if a > b and d > c:
            n += 1
    return n / len(A)


ALTERNATIVES = {
    "share_at": [share_by_mask, share_by_slices, lambda A, offset: np.trace(A, offset) / (len(A) - abs(offset))],
    "hit_rate": [hits_by_minus_infinity, hits_by_sorting, hits_by_comparing],
    "best_distance": [distance_by_counter, distance_by_trying_all, distance_by_bincount],
    "both_right": [
        both_by_loops,
        lambda A: np.mean((A[:, 0] @ [1, -1] > 0) & (A[:, 1] @ [1, -1] < 0)),
        lambda A: (np.sign(A[..., 0] - A[..., 1]) == [1, -1]).all(axis=1).mean(),
    ],
}

# ------------------------------------------------------------------------ known mistakes, as a learner would write them


def there(A, offset):
    """Pairs (i, i + offset) inside A."""
    return [(i, i + offset) for i in range(len(A)) if i + offset in range(len(A))]


def attended(A, query):
    best = []
    for row, i in zip(A, query, strict=True):
        row = row.copy()
        row[i] = -1
        best.append(row.argmax())
    return np.array(best)


def without_itself(A, query, target):
    n = 0
    for row, i, j in zip(A, query, target, strict=True):
        n += list(np.delete(row, i)).index(max(np.delete(row, i))) == j
    return n / len(A)


def commonest(numbers):
    return Counter(sorted(numbers.tolist())).most_common(1)[0]


def of_pairs(asked):
    """Share of the pairs of which asked(a, b, c, d) is true: first version a, b, second version c, d."""
    return lambda A: sum(bool(asked(*pair.ravel())) for pair in A) / len(A)


WRONG = {
    "share_at": {
        "other side": lambda A, offset: share_by_mask(A.T, offset),
        "over all queries": lambda A, offset: sum(A[i, j] for i, j in there(A, offset)) / A.shape[0],
        "weights summed": lambda A, offset: np.trace(A, offset),
        "wraps round": lambda A, offset: np.trace(np.roll(A, -offset, axis=1)) / len(A),
        "negative index": lambda A, offset: np.mean(
            [A[i][i + offset] for i in range(len(A) - offset if offset > 0 else len(A))]
        ),
        "largest there": lambda A, offset: (
            sum(A[i, j] == max(A[i]) for i, j in there(A, offset)) / len(there(A, offset))
        ),
    },
    "hit_rate": {
        "itself kept": lambda A, query, target: sum(map(np.equal, A.argmax(1), target)) / len(A),
        "indices not shifted": without_itself,
        "weight on the target": lambda A, query, target: sum(row[j] for row, j in zip(A, target, strict=True)) / len(A),
        "more than half": lambda A, query, target: sum(row[j] > 0.5 for row, j in zip(A, target, strict=True)) / len(A),
        "count": lambda A, query, target: (attended(A, query) == target).sum(),
        "percentage": lambda A, query, target: 100 * (attended(A, query) == target).mean(),
        "over keys": lambda A, query, target: (attended(A, query) == target).sum() / len(A[0]),
    },
    "best_distance": {
        "from target to query": lambda query, target: distance_by_counter(target, query),
        "distance unsigned": lambda query, target: (lambda d, n: (d, n / len(query)))(*commonest(abs(query - target))),
        "place of the target": lambda query, target: (lambda d, n: (d, n / len(query)))(*commonest(target)),
        "cases, not their share": lambda query, target: commonest(target - query),
        "share first": lambda query, target: distance_by_bincount(query, target)[::-1],
    },
    "both_right": {
        "questions counted": lambda A: (
            (of_pairs(lambda a, b, c, d: a > b)(A) + of_pairs(lambda a, b, c, d: c < d)(A)) / 2
        ),
        "first version alone": of_pairs(lambda a, b, c, d: a > b),
        "second version alone": of_pairs(lambda a, b, c, d: c < d),
        "either version": of_pairs(lambda a, b, c, d: a > b or c < d),
        "same noun": of_pairs(lambda a, b, c, d: a > b and c > d),
        "nouns exchanged": of_pairs(lambda a, b, c, d: a < b and c > d),
        "rates multiplied": lambda A: of_pairs(lambda a, b, c, d: a > b)(A) * of_pairs(lambda a, b, c, d: c < d)(A),
        "number of pairs": lambda A: len(A) * both_by_loops(A),
        "above one half": of_pairs(lambda a, b, c, d: a > 1 / 2 and d > 1 / 2),
    },
}

ADAPTERS, SURVIVORS = {}, {}
