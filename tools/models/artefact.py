"""Everything that book/data/real_heads.npz holds, computed anew; book/data/README.md says what each key means."""

import numpy as np

from attention_mechanism import scaled_dot_product_attention
from models import bert, e5, minilm, patterns, smollm, texts
from models.fetch import fetch
from models.patterns import best

SHOWN = 0.3  # a head is shown for a pattern if it has at least this share of the weight
READER_HEADS = [(0, 2), (1, 8), (3, 1)]  # of MiniLM, for the reader to compute


def fixed(x, dtype="u2"):
    """Numbers from 0 to 1 as whole numbers: the rounding error is at most 1/131070, or 1/510 in 8 bits."""
    return np.round(np.asarray(x, float) * np.iinfo(dtype).max).astype(dtype)


def build():
    """All arrays by key."""
    encoder = minilm.read(fetch("model.safetensors")), minilm.WordPiece(fetch("vocab.txt"))
    decoder = smollm.read(fetch("SmolLM2-135M-Instruct.Q4_1.gguf"))
    many = e5.read(fetch("e5-small-q4.bin"))
    arrays = {
        "share_names": np.array(patterns.SHARES),
        "relations": np.array(texts.RELATIONS),
        "coreference": np.array(texts.COREFERENCE),
    }
    arrays |= of_model("minilm", reader(*encoder), minilm.SPECIAL)
    arrays |= of_model("smollm", decoder_reader(*decoder), smollm.SPECIAL)
    arrays |= of_model("e5", reader(*many), e5.SPECIAL)
    arrays |= chinese(reader(*many), arrays["e5_heads"], arrays["e5_syntax_head"])
    arrays |= reader_heads(*encoder) | without_positions(*encoder) | in_4_bits(*encoder)
    arrays |= induction(*decoder)
    return arrays | tokens_of_chinese(encoder[1], decoder[1], many[1])


# ------------------------------------------------------------------------------------------------ running a model


def pad(lists):
    """Numbers of tokens as one matrix, and how many of each row are real."""
    lengths = [len(ids) for ids in lists]
    return np.array([ids + [0] * (max(lengths) - len(ids)) for ids in lists]), np.array(lengths)


def reader(model, words):
    """A function from texts to readings (see patterns) of an encoder."""

    def read(sentences):
        tokens, ids = zip(*map(words, sentences), strict=True)
        _, A = bert.run(model, *pad(ids))
        return [(t, A[:, k, :, : len(t), : len(t)]) for k, t in enumerate(tokens)]

    return read


def decoder_reader(model, words):
    """A function from texts to readings of the decoder."""

    def read(sentences):
        tokens, ids = zip(*map(words, sentences), strict=True)
        A, _ = smollm.run(model, pad(ids)[0])
        return [(t, A[:, k, :, : len(t), : len(t)]) for k, t in enumerate(tokens)]

    return read


# --------------------------------------------------------------------------------------- the same for each model


def of_model(name, read, special):
    """Shares of all heads, chosen heads on sentences, syntax and coreference of one model, in English."""
    readings = read(texts.EN)
    halves = [patterns.shares(part, special) for part in (readings[:10], readings[10:])]
    roles = {role: best(table) for role, table in zip(patterns.SHARES, halves[0], strict=True)}
    roles = {role: head for role, head in roles.items() if halves[0][patterns.SHARES.index(role)][head] > SHOWN}
    heads = list(roles.values())
    shown = read([texts.EN[0], texts.WIDE, texts.EN[1]]) + readings[10:]
    arrays = {
        "shares": fixed(halves),
        "roles": np.array(list(roles)),
        "heads": np.array(heads, "i1"),
        **chosen("en", shown, heads),
        **syntax(read, readings, special),
        **coreference(read),
    }
    arrays |= chosen("en_syntax", shown[:3], arrays["syntax_head"])
    return {f"{name}_{key}": array for key, array in arrays.items()}


def chosen(name, readings, heads):
    """The tokens of some sentences and the weights of some heads, padded with "" and 0; (−1, −1) stands for no head."""
    n = max(len(tokens) for tokens, _ in readings)
    A = np.zeros((len(readings), len(heads), n, n))
    for k, (tokens, weights) in enumerate(readings):
        for i, (layer, head) in enumerate(heads):
            if layer >= 0:
                A[k, i, : len(tokens), : len(tokens)] = weights[layer, head]
    return {f"{name}_tok": np.array([t + [""] * (n - len(t)) for t, _ in readings]), f"{name}_A": fixed(A, "u1")}


def syntax(read, readings, special):
    """Heads chosen on half of the templates, scored on the other half and on the sentences marked by hand."""
    lists, places = zip(*texts.templates(120), strict=True)
    made = read([" ".join(words) + "." for words in lists])
    cases = [
        (relation, k, place[0] + special, place[1] + special)
        for k, (words, there) in enumerate(zip(lists, places, strict=True))
        for relation, place in enumerate(there)
        if len(made[k][0]) == len(words) + 1 + 2 * special  # each word is a token, and so is the full stop
    ]
    half = len(lists) // 2
    heads = choose([case for case in cases if case[1] < half], made, special)
    found = [(r, k, patterns.find(readings[k][0], q, t)) for k, r, q, t in texts.marked()]
    marked = [(r, k, *place) for r, k, place in found if place]
    arrays = {"syntax_head": np.array(heads, "i1")}
    arrays |= scored("templates", made, [case for case in cases if case[1] >= half], heads, special)
    return arrays | scored("marked", readings, marked, heads, special)


def choose(cases, readings, special):
    """For each relation the head that finds most targets; (−1, −1) where a causal mask hides them."""
    heads = []
    for relation in range(len(texts.RELATIONS)):
        own = [case for case in cases if case[0] == relation]
        visible = [readings[k][1][..., q, t].any() for _, k, q, t in own]
        heads.append(best(patterns.hits(readings, own, special).mean(axis=0)) if all(visible) else (-1, -1))
    return heads


def scored(name, readings, cases, heads, special):
    """The rows of the chosen heads for all cases, flat, and what follows from them for each relation: how many cases,
    the share that the head finds, the share that the best fixed offset finds, and the mean weight on the target."""
    cases = [case for case in cases if heads[case[0]] != (-1, -1)]
    rows = np.zeros((len(cases), max(len(tokens) for tokens, _ in readings)))
    for case, (r, k, q, _) in enumerate(cases):
        rows[case, : len(readings[k][0])] = readings[k][1][*heads[r], q]
    score = np.zeros((len(texts.RELATIONS), 4))
    for relation in {r for r, *_ in cases}:
        own = [case for case in cases if case[0] == relation]
        found = patterns.hits(readings, own, special)[:, *heads[relation]].mean()
        weight = np.mean([readings[k][1][*heads[relation], q, t] for _, k, q, t in own])
        score[relation] = len(own), found, patterns.fixed_offset(own), weight
    relation, sentence, query, target = np.array(cases, "i2").T
    length = np.array([len(readings[k][0]) for k in sentence], "i2")
    return {
        f"{name}_row": fixed(rows),
        f"{name}_case": np.stack([relation, query, target, length], axis=1),
        f"{name}_score": score.astype("f4"),
    }


def coreference(read):
    """The weights from “it” to both nouns, in both versions of each pair whose words are tokens."""
    pairs, weights = [], []
    for k, (sentence, first, second, *endings) in enumerate(texts.COREFERENCE):
        versions = read([sentence.format(ending) for ending in endings])
        words = [patterns.word(token) for token in versions[0][0]]
        if first in words and second in words:
            it, nouns = len(words) - 1 - words[::-1].index("it"), [words.index(first), words.index(second)]
            pairs.append(k)
            weights.append([[A[..., it, noun] for noun in nouns] for _, A in versions])
    return {"pairs": np.array(pairs, "i1"), "it": fixed(weights)}


# ------------------------------------------------------------------------------------------------ MiniLM, for readers


def reader_heads(model, words):
    """Real W_Q, W_K, W_V of three heads, each with its bias as the last row; what those heads are given, the input of
    their layers with a column of ones; their weights and outputs. For the head of layer 3 two more sentences."""
    arrays = {"minilm_reader_heads": np.array(READER_HEADS, "i1")}
    for name in "QKV":
        W = [np.vstack(model.layers[layer][name])[:, 32 * head : 32 * head + 32] for layer, head in READER_HEADS]
        arrays[f"minilm_W_{name}"] = np.stack(W).astype("f2")
    asked = {"": (texts.EN[0], READER_HEADS), "_wide": (texts.WIDE, [(3, 1)]), "_keys": (texts.EN[1], [(3, 1)])}
    for which, (sentence, heads) in asked.items():
        tokens, ids = words(sentence)
        inputs, A = bert.run(model, *pad([ids]))
        arrays[f"minilm_tok{which}"] = np.array(tokens)
        for layer, head in heads:
            arrays[f"minilm_X{layer}{which}"] = with_ones(inputs[layer, 0]).astype("f2")
            arrays[f"minilm_A{layer}{which}"] = fixed(A[layer, 0, head])
            V = bert.affine(inputs[layer, 0], model.layers[layer]["V"])[:, 32 * head : 32 * head + 32]
            arrays[f"minilm_Z{layer}{which}"] = (A[layer, 0, head] @ V).astype("f2")
        if not which:
            arrays["minilm_all"] = fixed(A[:, 0], "u1")
            arrays["minilm_word"] = (model.word(ids) + model.kind).astype("f2")
            arrays["minilm_position"] = model.position[: len(ids)].astype("f2")
            arrays["minilm_norm"] = np.stack(model.norm).astype("f2")
    return arrays


def with_ones(X):
    return np.hstack([X, np.ones((len(X), 1), X.dtype)])


def without_positions(model, words):
    """The share of the previous token for head (0, 2): on held-out sentences with and without positions, and on random
    tokens of three lengths with positions, on positions alone (every word the mean word), without positions."""
    part = slice(64, 96)
    heads = [(W[:, part], b[part]) for W, b in (model.layers[0][name] for name in "QKV")]

    def weights(E):
        X = bert.normalise(E + model.kind, model.norm, model.eps)
        return scaled_dot_product_attention(*(bert.affine(X, head) for head in heads))[1]

    def share(make, sentences):
        readings = [(tokens, weights(make(ids))[None, None]) for tokens, ids in sentences]
        return patterns.shares(readings, minilm.SPECIAL)[0, 0, 0]

    def both(ids):
        return model.word(ids) + model.position[: len(ids)]

    def alone(ids):
        return mean + model.position[: len(ids)]

    mean = model.word(slice(None)).mean(axis=0)
    rng, lengths = np.random.default_rng(0), [16, 64, 512]
    random = {n: [([""] * n, rng.integers(1000, 30000, n))] for n in lengths}
    held = [words(sentence) for sentence in texts.EN[10:]]
    return {
        "minilm_previous_held": fixed([share(make, held) for make in (both, model.word)]),
        "minilm_previous_lengths": np.array(lengths, "i2"),
        "minilm_previous_random": fixed([[share(f, random[n]) for n in lengths] for f in (both, alone, model.word)]),
    }


def in_4_bits(model, words):
    """What 4 bits do to a model whose exact numbers are known: MiniLM's shares on the held-out sentences when all
    matrices of its layers are rounded to 4 bits in blocks of 32, and how far its weights move: mean and largest."""
    layers = [
        {key: pair if "norm" in key else (four_bits(pair[0].T).T, pair[1]) for key, pair in layer.items()}
        for layer in model.layers
    ]
    rounded = model._replace(layers=layers, word=lambda ids: four_bits(model.word(ids)))
    was, now = (reader(m, words)(texts.EN[10:]) for m in (model, rounded))
    moved = np.concatenate([np.abs(A - B).ravel() for (_, A), (_, B) in zip(was, now, strict=True)])
    return {
        "minilm_4bit_shares": fixed(patterns.shares(now, minilm.SPECIAL)),
        "minilm_4bit_moved": np.array([moved.mean(), moved.max()], "f4"),
    }


def four_bits(W):
    """Q4_0: in each block of 32 numbers of a row, the one of largest size becomes −8 times the scale."""
    blocks = W.reshape(*W.shape[:-1], -1, 32)
    largest = np.take_along_axis(blocks, np.abs(blocks).argmax(axis=-1, keepdims=True), axis=-1)
    scale = np.where(largest == 0, 1, largest / -8).astype("f2").astype("f4")
    return (np.clip(np.round(blocks / scale), -8, 7) * scale).reshape(W.shape)


# ----------------------------------------------------------------------------------------------- decoder and Chinese


def induction(model, words):
    """Random tokens twice in a row: a head that looks up what followed last time has its weight on that token. The head
    is chosen on three sequences and shown on three others; the loss is the mean of all six, for each copy."""
    T, rng = 20, np.random.default_rng(0)
    sequences = [np.tile(rng.integers(1000, 40000, T), 2) for _ in range(6)]
    A, scores = smollm.run(model, np.array(sequences))
    A, i = A.swapaxes(0, 1), np.arange(T, 2 * T - 1)  # (sequence, n_layer, n_head, n, n); queries of the second copy
    tables = A[..., i, i - T + 1].mean(axis=-1)
    halves = tables[:3].mean(axis=0), tables[3:].mean(axis=0)
    layer, head = best(halves[0])
    loss = [-log_softmax(s)[np.arange(2 * T - 1), ids[1:]] for s, ids in zip(scores, sequences, strict=True)]
    return {
        "smollm_induction": fixed(halves),
        "smollm_induction_head": np.array([layer, head], "i1"),
        "smollm_loss": np.array([np.mean(loss, axis=0)[: T - 1].mean(), np.mean(loss, axis=0)[T:].mean()], "f4"),
        "smollm_repeat_tok": np.array([[words.tokens[k] for k in ids] for ids in sequences[3:]]),
        "smollm_repeat_A": fixed(A[3:, layer, head]),
        **copying(model, words, layer, head),
    }


def copying(model, words, layer, head):
    """The same head on a sentence in which a name comes back, and the three likeliest next tokens."""
    tokens, ids = words(texts.COPY)
    A, scores = smollm.run(model, np.array([ids]))
    p = np.exp(log_softmax(scores[0, -1]))
    likeliest = p.argsort()[:-4:-1]
    return {
        "smollm_copy_tok": np.array(tokens),
        "smollm_copy_A": fixed(A[layer, 0, head]),
        "smollm_copy_next": np.array([words.tokens[k] for k in likeliest]),
        "smollm_copy_p": p[likeliest].astype("f4"),
    }


def log_softmax(x):
    x = x - x.max(axis=-1, keepdims=True)
    return x - np.log(np.exp(x).sum(axis=-1, keepdims=True))


def chinese(read, heads, syntax_heads):
    """The heads that e5 has for English, on Chinese: shares, weights, and syntax on Chinese templates."""
    readings = read(texts.ZH)
    shown = read([texts.ZH[0], texts.WIDE_ZH, texts.ZH[1]]) + readings[10:]
    sentences, triples = zip(*texts.templates_zh(80), strict=True)
    made, cases = read(sentences), []
    for k, (tokens, _) in enumerate(made):
        words = [patterns.word(token).removesuffix("了") for token in tokens]
        if all(words.count(w) == 1 for w in triples[k]):
            s, v, o = map(words.index, triples[k])
            cases += [(1, k, s, v), (2, k, v, s), (3, k, v, o), (4, k, o, v)]
    arrays = {
        "shares_zh": fixed([patterns.shares(part, e5.SPECIAL) for part in (readings[:10], readings[10:])]),
        "all": fixed(shown[0][1], "u1"),
        **chosen("zh", shown, heads),
        **chosen("zh_syntax", shown[:3], syntax_heads),
        **scored("templates_zh", made, cases, [tuple(head) for head in syntax_heads], e5.SPECIAL),
    }
    return {f"e5_{key}": array for key, array in arrays.items()}


def tokens_of_chinese(wordpiece, bytes_, unigram):
    """How each tokenizer cuts the Chinese sentences: tokens, unknown tokens, characters; and the first sentence."""
    counts = []
    for words, special, unknown in ((wordpiece, 2, "[UNK]"), (bytes_, 0, None), (unigram, 2, None)):
        cut = [words(sentence)[0] for sentence in texts.ZH]
        counts.append([sum(map(len, cut)) - special * len(cut), sum(tokens.count(unknown) for tokens in cut)])
    unknown = sum(ids.count(unigram.unknown) for _, ids in map(unigram, texts.ZH))
    counts[2][1] = unknown
    return {
        "chinese_tokens": np.array(counts, "i2"),
        "chinese_characters": np.array(sum(map(len, texts.ZH)), "i2"),
        "minilm_zh_tok": np.array(wordpiece(texts.ZH[0])[0]),
        "smollm_zh_tok": np.array(bytes_(texts.ZH[0])[0]),
    }
