"""The head mixer: four heads with different jobs on one sentence, and what each of them adds to the output."""

import numpy as np
import traitlets as t

import attention_mechanism as am

from .base import Misfit, Whole, Widget, as_names, short, still_frame, still_table

SENTENCE = ("the", "cat", "sat", "on", "the", "mat")
HEADS = ("previous token", "first token", "same word", "broad average")  # head_mixer.js holds both languages
SHARP = 4.0  # the scaled score where a head wants to look; elsewhere it is 0


def by_hand(tokens):
    """Embeddings and parameters, built by hand and not trained, that give the four heads their jobs.

    n tokens with m different words -> X (n, m + n), W_Q, W_K and W_V (m + n, 4·n), W_O (4·n, m + n)

    A row of X says which word it is (one of the first m components is 1) and at which position (one of the other n).
    The score q kᵀ is SHARP·√n where the head wants to look and 0 elsewhere: position p asks for position p − 1 (the
    first asks for itself), every position asks for position 0, a word asks for the same word, and the last head asks
    for nothing.  The values are words, those of "same word" positions; W_O writes each back to where X has the same.
    """
    words, n = list(dict.fromkeys(tokens)), len(tokens)
    m = len(words)
    word = np.vstack([np.eye(m, n), np.zeros((n, n))])  # X @ word: the word, in the first m of n components
    place = np.vstack([np.zeros((m, n)), np.eye(n)])  # X @ place: the position
    before, first = np.eye(n, k=-1), np.zeros((n, n))
    before[0, 0] = 1
    first[:, 0] = 1
    X = np.hstack([np.eye(m)[[words.index(token) for token in tokens]], np.eye(n)])
    W_Q = SHARP * np.sqrt(n) * np.hstack([place @ before, place @ first, word, np.zeros_like(word)])
    W_K = np.hstack([place, place, word, word])
    W_V = np.hstack([word, word, place, word])
    return X, W_Q, W_K, W_V, W_V.T


def attend(tokens):
    """What the heads do: weights A (4, n, n), and contributions head_r W_O^(r) (4, n, m + n), whose sum over r is Y."""
    X, W_Q, W_K, W_V, W_O = by_hand(tokens)
    _, A = am.multi_head_attention(X, X, W_Q, W_K, W_V, W_O, len(HEADS))
    Z = A @ am.split_heads(X @ W_V, len(HEADS))  # (4, n, d_v)
    return A, Z @ W_O.reshape(len(HEADS), -1, X.shape[1])


class HeadMixer(Widget):
    """Four heads (previous token, first token, same word, broad average) to switch on and off for one query token.

    They are real multi-head attention, with parameters built by hand and not trained: see `by_hand`.  `tokens` are 2 to
    7 words.  `query` counts tokens from 0, the last but one if left out; `heads` says which are on.  Raises ValueError
    for what does not fit.
    """

    query = Whole(0).tag(sync=True)
    heads = t.List(t.Bool()).tag(sync=True)
    _frames = t.Dict().tag(sync=True)  # what NumPy computed

    def __init__(self, tokens=SENTENCE, query=None):
        tokens = as_names("tokens", tokens)
        if not 2 <= len(tokens) <= 7:
            raise Misfit(f"there are {len(tokens)} tokens; the head mixer shows 2 to 7")
        for token in tokens:
            if not isinstance(token, str) or not 1 <= len(token) <= 8:
                raise Misfit(f"{token!r} is no token; give words of 1 to 8 letters")
        query = len(tokens) - 2 if query is None else query
        weights, contributions = (frames.tolist() for frames in attend(tokens))
        frames = {"tokens": tokens, "query": query, "weights": weights, "contributions": contributions}
        super().__init__(_frames=frames, query=query, heads=[True] * len(HEADS))

    @t.validate("query")
    def _validate_query(self, proposal):
        if not 0 <= proposal.value < len(self.tokens):
            raise Misfit(
                f"query {proposal.value} was asked for, but there are {len(self.tokens)} tokens, counted from 0"
            )
        return proposal.value

    @t.validate("heads")
    def _validate_heads(self, proposal):
        if len(proposal.value) != len(HEADS):
            raise Misfit(f"there are {len(HEADS)} heads, but {len(proposal.value)} switches; give one for each head")
        return proposal.value

    @t.default("still")
    def _still(self):
        token = self.tokens[self.query]
        zh, en = f"查询 {token} 在四个头里的注意力权重", f"Attention weights of the query {token} in four heads"
        names = [f"{r} {head}" for r, head in enumerate(HEADS)]
        matrix = still_table(130, "a", names, self.tokens, self.weights, 64)
        return still_frame(f"{zh} | {en}", 130 + 64 * len(self.tokens), 60 + 24 * len(HEADS), matrix)

    @property
    def tokens(self):
        """The sentence."""
        return self._frames["tokens"]

    @property
    def weights(self):
        """Attention weights (4, n) of the query in each head."""
        return np.array(self._frames["weights"])[:, self.query]

    @property
    def contributions(self):
        """What each head adds (4, m + n): m words, n positions."""
        return np.array(self._frames["contributions"])[:, self.query]

    @property
    def output(self):
        """The query's output (m + n,): the sum of the contributions of the heads that are on."""
        return self.contributions[np.array(self.heads)].sum(axis=0)

    @property
    def moved(self):
        """How far the output is from that of all four heads."""
        return float(np.linalg.norm(self.output - self.contributions.sum(axis=0)))

    def __repr__(self):
        return f"HeadMixer(query={self.query}, heads={self.heads}, output={short(self.output)})"
