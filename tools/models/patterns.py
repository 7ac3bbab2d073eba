"""What a head attends to, as numbers. A reading is the tokens of a sentence and its weights (n_layer, n_head, n, n)."""

import unicodedata

import numpy as np

SHARES = ["previous", "next", "itself", "first", "last", "punctuation"]


def word(token):
    """A token as its word is written, without the marks of the tokenizers for spaces and continued words."""
    return token.strip("Ġ▁").removeprefix("##").lower()


def shares(readings, special):
    """Of the weight of a query, how much goes to each of SHARES: the mean over all queries that could do so.

    -> (6, n_layer, n_head)

    Queries are words and signs: no special tokens, nor the first token where there are none (it sees itself alone).
    The previous and the next token count where they are no special token and not the first. Whether the first token
    draws weight is asked from the fifth token on if the model is causal: earlier queries have few others to see.
    """
    total, count = 0, 0
    for tokens, A in readings:
        n = len(tokens)
        i, j = np.arange(n)[:, None], np.arange(n)
        query, key = (i >= 1) & (i < n - special), (j >= 1) & (j < n - special)
        sign = np.array([len(word(t)) == 1 and unicodedata.category(word(t))[0] == "P" for t in tokens])
        rows = [
            query & (i > 1),
            query & (i < n - 1 - special),
            query,
            query & (i > (0 if special else 3)),
            query,
            query,
        ]
        keys = [(j == i - 1) & key, (j == i + 1) & key, j == i, j == 0, (j == n - 1) & (special > 0), sign]
        wanted = np.stack([r & np.broadcast_to(k, (n, n)) for r, k in zip(rows, keys, strict=True)])
        total = total + np.einsum("lhij,sij->slh", A, wanted.astype(A.dtype))
        count = count + np.stack(rows).sum(axis=(1, 2))
    return total / count[:, None, None]


def best(table):
    """The (layer, head) with the largest number in a table of all heads."""
    return tuple(int(k) for k in np.unravel_index(table.argmax(), table.shape))


def attended(row, query, special, n):
    """The other word or sign that gets the largest weight in a row; special tokens and the query itself are left out
    (Clark et al. 2019, §4).   (…, at least n) -> (…)"""
    row = row[..., :n].copy()
    row[..., [query, *range(special), *range(n - special, n)]] = -1
    return row.argmax(axis=-1)


def hits(readings, cases, special):
    """For each case (relation, reading, query, target), which heads find the target.   -> (n_case, n_layer, n_head)"""
    found = [attended(readings[k][1][..., q, :], q, special, len(readings[k][0])) == t for _, k, q, t in cases]
    return np.stack(found)


def fixed_offset(cases):
    """The share of cases that the best rule “always the token so many places on” gets right, on these very cases."""
    _, counts = np.unique([t - q for _, _, q, t in cases], return_counts=True)
    return counts.max() / len(cases)


def find(tokens, first, second):
    """The places of two words, where they stand nearest to each other; None if one is not a token of its own."""
    words = [word(token) for token in tokens]
    both = [
        (abs(i - j), i, j)
        for i, w in enumerate(words)
        for j, v in enumerate(words)
        if w == first.lower() and v == second.lower()
    ]
    return min(both)[1:] if both else None
