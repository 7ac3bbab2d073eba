"""The head explorer: what heads of trained models look at, word by word, in sentences of both languages."""

import base64
import unicodedata

import numpy as np
import traitlets as t

import attention_colours

from .base import Misfit, Whole, Widget, still_frame, svg_text

MODELS = {  # head_explorer.js holds the same
    "minilm": "all-MiniLM-L6-v2",
    "smollm": "SmolLM2-135M-Instruct (4-bit)",
    "e5": "multilingual-e5-small (4-bit)",
}
CAUSAL = ("smollm",)  # the others read both ways, and put a token without a word at each end
SENTENCES = {  # by their names, in the order of the file; the first two of a language differ in one word
    "en": {
        "tired": "The animal didn't cross the street because it was too tired.",
        "wide": "The animal didn't cross the street because it was too wide.",
        "keys": "The keys to the old cabinet are on the kitchen table.",
    },
    "zh": {
        "累": "动物没有过马路，因为它太累了。",
        "宽": "动物没有过马路，因为它太宽了。",
        "钥匙": "旧柜子的钥匙在厨房的桌子上。",
    },
}
COPY = "Mr Lindqvist met Ms Okafor at the station. The next day Mr Lind"  # where a name comes back
FIRST_WORDS = {
    "it",
    "are",
    "因为它",
    "在",
    "Lind",
}  # what each sentence starts with: the last of its tokens among these
KINDS = ("previous", "next", "itself", "first", "last", "punctuation")  # the file's share_names
STARTS = {  # for a page in each language: the previous-token head
    "en": {"model": "minilm", "sentence": "tired", "head": [0, 2]},
    "zh": {"model": "e5", "sentence": "累", "head": [0, 2]},
}


# ---------------------------------------------------------------- what the file holds
def chosen(real_heads, model, language):
    """The heads that the file names -> {(layer, head): (what for, weights in three sentences (3, n, n))}"""
    of, where = f"{model}_", f"{model}_{language}_"
    roles = real_heads[of + "roles"], real_heads[of + "heads"], real_heads[where + "A"]
    relations = real_heads["relations"], real_heads[of + "syntax_head"], real_heads[where + "syntax_A"]
    found = {}
    for jobs, heads, weights in (roles, relations):
        for job, head, A in zip(jobs.tolist(), heads.tolist(), weights[:3].swapaxes(0, 1), strict=True):
            if head[0] >= 0:  # else no head of this model can do it
                found.setdefault(tuple(head), ([], A))[0].append(job)
    return found


def as_text(real_heads, model, language, name, sentence, tokens, heads):
    """A sentence as one model reads it, as the module takes it.

    `heads` are {(layer, head): (what for, weights (≥ n, ≥ n) in units of 1/255)}.  "A" holds the weights of all heads,
    one byte each; "held" the shares of each head, and "mean" of all heads of the model, on ten other sentences.
    """
    tokens, n = tokens.tolist(), len(tokens)
    other = real_heads[f"{model}_shares{'_zh' if language == 'zh' else ''}"][1] / 65535
    return {
        "model": model, "language": language, "name": name, "sentence": sentence, "tokens": tokens,
        "causal": model in CAUSAL,
        "word": max(i for i, token in enumerate(tokens) if token.strip("Ġ▁") in FIRST_WORDS),
        "heads": [list(head) for head in heads],
        "jobs": [jobs for jobs, _ in heads.values()],
        "A": base64.b64encode(b"".join(A[:n, :n].tobytes() for _, A in heads.values())).decode(),
        "held": [other[:, layer, head].round(5).tolist() for layer, head in heads],
        "mean": other.mean(axis=(1, 2)).round(5).tolist(),
    }  # fmt: skip


def all_texts(real_heads):
    """Every sentence as each model reads it: chosen heads, but all of MiniLM's for “tired”, and the induction head."""
    texts = []
    for model, language in (("minilm", "en"), ("smollm", "en"), ("e5", "en"), ("e5", "zh")):
        found = chosen(real_heads, model, language)
        for i, (name, sentence) in enumerate(SENTENCES[language].items()):
            row = real_heads[f"{model}_{language}_tok"][i]
            heads = {head: (jobs, A[i]) for head, (jobs, A) in found.items()}
            if (model, name) == ("minilm", "tired"):
                every = real_heads["minilm_all"]
                heads |= {head: ([], every[head]) for head in np.ndindex(every.shape[:2]) if head not in heads}
            texts.append(as_text(real_heads, model, language, name, sentence, row[row != ""], heads))
    induction, A = tuple(real_heads["smollm_induction_head"].tolist()), real_heads["smollm_copy_A"]
    heads = {induction: (["induction"], (A / 257).round().astype("uint8"))}
    copy = as_text(real_heads, "smollm", "en", "copy", COPY, real_heads["smollm_copy_tok"], heads)
    return texts[:6] + [copy] + texts[6:]


def read(real_heads):
    """all_texts, or Misfit if this is not the course's file."""
    try:
        return all_texts(real_heads)
    except (KeyError, TypeError, IndexError) as error:
        raise Misfit(f'this is not the course\'s file ({error}); give np.load("data/real_heads.npz")') from None


# ---------------------------------------------------------------- what is counted, in head_explorer.js too
def rounded(a):
    """A weight that is known to 0.002, with two decimals; close to an end, it may be there or not."""
    return "<.01" if a < 0.005 else ">.99" if a >= 0.995 else f"{a:.2f}"


def is_sign(token):
    """Whether a token is a punctuation mark, less the tokenizer's mark for a space."""
    letters = token.strip("Ġ▁")
    return len(letters) == 1 and unicodedata.category(letters)[0] == "P"


def shares(tokens, A, causal):
    """The mean weight on each of KINDS, over the words and signs that could give it -> {kind: mean}

    Words and signs are all tokens but those without a word; in a causal model all but the first, which sees itself
    alone.  The previous and the next token are words or signs too; whether the first token draws weight is asked of a
    causal model from the fifth token on.
    """
    n, words = len(tokens), range(1, len(tokens) - (not causal))
    seen = {
        "previous": [(i, [i - 1]) for i in words if i > 1],
        "next": [(i, [i + 1]) for i in words if i + 1 in words],
        "itself": [(i, [i]) for i in words],
        "first": [(i, [0]) for i in words if i > 3 or not causal],
        "last": [(i, [] if causal else [n - 1]) for i in words],
        "punctuation": [(i, [j for j in range(n) if is_sign(tokens[j])]) for i in words],
    }
    return {kind: sum(A[i][j] for i, js in rows for j in js) / len(rows) for kind, rows in seen.items()}


def by_distance(tokens, A, causal):
    """The mean weight on the word or sign so many places on -> {distance: mean}, where half of them have one"""
    words = range(1, len(tokens) - (not causal))
    pairs = {far: [(i, i + far) for i in words if i + far in words] for far in range(1 - len(words), len(words))}
    return {far: sum(A[i][j] for i, j in ij) / len(ij) for far, ij in pairs.items() if 2 * len(ij) >= len(words)}


# ---------------------------------------------------------------- the widget
def still_weights(heading, tokens, A):
    """A row for each query, cells the darker the larger the weight; from 0.1 on they hold its number."""
    fill = f"fill:var(--attn-a,{attention_colours.LIGHT['a']})"
    parts = [svg_text(90, 16, heading)] + [svg_text(105 + 30 * j, 36, j, "middle") for j in range(len(tokens))]
    for i, row in enumerate(A):
        y = 42 + 22 * i
        parts.append(svg_text(84, y + 16, f"{i} {tokens[i]}", "end"))
        for j, a in enumerate(row):
            x = 90 + 30 * j
            if a >= 0.005:
                size = f'x="{x}" y="{y}" width="29" height="21" fill-opacity="{0.4 * a:.2f}"'
                parts.append(f'<rect {size} style="{fill}"/>')
            if a >= 0.1:
                parts.append(svg_text(x + 14.5, y + 16, rounded(a), "middle"))
    return "".join(parts)


class HeadExplorer(Widget):
    """What heads of three trained models look at, word by word: choose the model, the sentence, the head, the word.

    `real_heads` is `np.load("data/real_heads.npz")`.  `model` is "minilm", "smollm" or "e5"; `sentence` "tired",
    "wide", "keys", for smollm also "copy", for e5 also "累", "宽", "钥匙"; `head` (layer, head) and `word` count from
    0.  What is left out begins with the previous-token head; a page in Chinese then begins with a Chinese sentence.
    Raises ValueError for what does not fit.
    """

    model = t.Unicode().tag(sync=True)
    sentence = t.Unicode().tag(sync=True)
    head = t.List(t.Int()).tag(sync=True)
    word = Whole(0).tag(sync=True)
    _begun = t.Bool(False).tag(sync=True)  # whether the reader has chosen, and so the start for his language is over
    _texts = t.List().tag(sync=True)
    _starts = t.Dict().tag(sync=True)

    def __init__(self, real_heads, model=None, sentence=None, head=None, word=None):
        texts = read(real_heads)
        given = {"model": model, "sentence": sentence, "head": head, "word": word}
        given = {name: value for name, value in given.items() if value is not None}
        if head is not None:
            given["head"] = np.asarray(head).tolist()  # one of the file's heads may be given as it is
        starts = {language: self._begin(texts, given or start) for language, start in STARTS.items()}
        super().__init__(_texts=texts, _starts=starts, **starts["en"])

    @staticmethod
    def _begin(texts, given):
        """What is `given`, and for what is not, what comes first."""
        start = {"model": "minilm"} | given
        texts = [text for text in texts if text["model"] == start["model"]] or texts  # of none: the validators say so
        text = next((text for text in texts if text["name"] == start.get("sentence")), texts[0])
        first = {"sentence": text["name"], "head": text["heads"][0], "word": text["word"]}
        return {"model": start["model"]} | first | start  # the model is looked at first

    @t.validate("model")
    def _validate_model(self, proposal):
        if proposal.value not in MODELS:
            raise Misfit(f"model is {proposal.value!r}; it must be one of {', '.join(map(repr, MODELS))}")
        return proposal.value

    @t.validate("sentence")
    def _validate_sentence(self, proposal):
        names = [text["name"] for text in self._texts if text["model"] == self.model]
        if names and proposal.value not in names:  # else the model is at fault
            among = ", ".join(map(repr, names))
            raise Misfit(f"sentence is {proposal.value!r}; with model {self.model!r} it must be one of {among}")
        return proposal.value

    @t.validate("head")
    def _validate_head(self, proposal):
        heads = self._text["heads"] if self._text else [proposal.value]  # _follow will choose
        if proposal.value not in heads:
            few = ", ".join(f"({layer}, {head})" for layer, head in heads[:10]) + ", …" * (len(heads) > 10)
            text = f"{self.sentence!r} in {self.model!r}"
            raise Misfit(f"head is {tuple(proposal.value)}; for {text} there are (layer, head) {few}")
        return proposal.value

    @t.validate("word")
    def _validate_word(self, proposal):
        n = len(self.tokens) if self._text else proposal.value + 1  # _follow will choose
        if not 0 <= proposal.value < n:
            raise Misfit(f"word {proposal.value} was asked for, but there are {n} tokens, counted from 0")
        return proposal.value

    @t.observe("model", "sentence")
    def _follow(self, change):
        """Another text keeps the head and the word where it has them."""
        if not self._text:
            self.sentence = next(text["name"] for text in self._texts if text["model"] == self.model)
        if self.head not in self._text["heads"]:
            self.head = self._text["heads"][0]
        if self.word >= len(self.tokens):
            self.word = self._text["word"]

    @t.default("still")
    def _still(self):
        n, (layer, head) = len(self.tokens), self.head
        heading = f"{MODELS[self.model]} ({layer}, {head})"
        title = f"头 ({layer}, {head}) 的注意力权重 | Attention weights of head ({layer}, {head})"
        return still_frame(title, 96 + 30 * n, 44 + 22 * n, still_weights(heading, self.tokens, self.weights))

    @property
    def _text(self):
        found = [text for text in self._texts if (text["model"], text["name"]) == (self.model, self.sentence)]
        return found[0] if found else None

    @property
    def tokens(self):
        """The sentence as the model's tokenizer cuts it."""
        return self._text["tokens"]

    @property
    def weights(self):
        """Attention weights (n, n) of the head, each rounded to a multiple of 1/255."""
        n, A = len(self.tokens), base64.b64decode(self._text["A"])
        return np.frombuffer(A, "uint8").reshape(-1, n, n)[self._text["heads"].index(self.head)] / 255

    @property
    def row(self):
        """Where the word looks: its weights (n,)."""
        return self.weights[self.word]

    @property
    def shares(self):
        """{kind: mean weight on it}, in this sentence."""
        return shares(self.tokens, self.weights, self._text["causal"])

    @property
    def distance(self):
        """The distance with the largest mean weight, and this mean."""
        means = by_distance(self.tokens, self.weights, self._text["causal"])
        return max(means.items(), key=lambda item: round(item[1], 9))  # less is rounding

    def __repr__(self):
        text = f"model={self.model!r}, sentence={self.sentence!r}"
        return f"HeadExplorer({text}, head={tuple(self.head)}, word={self.word})"
