"""The search engine: a query meets the keys of a few pages, and reads a mixture of their values."""

import traitlets as t

import attention_mechanism as am

from .base import Misfit, Widget, short, still

REACH = 3  # of the planes that are drawn; search_engine.js holds the same
LETTERS = "ABCDEF"  # of the pages
TOPICS = ({"zh": "深度学习", "en": "deep learning"}, {"zh": "烹饪", "en": "cooking"})
CONTENTS = ({"zh": "实践", "en": "practice"}, {"zh": "难度", "en": "difficulty"})


def first_pages():
    """The pages of chapter 1; the advert carries the tags of the tutorial, but does not say what the tutorial says."""
    return [
        {"zh": "机器学习教程", "en": "machine learning tutorial", "key": [2.0, 0.4], "value": [-1.5, 1.5]},
        {"zh": "烹饪食谱", "en": "cooking recipes", "key": [0.4, 2.0], "value": [2.5, -1.5]},
        {"zh": "神经网络菜谱", "en": "recipes by a neural network", "key": [1.5, 1.5], "value": [1.5, 2.0]},
        {"zh": "显卡广告", "en": "graphics card advert", "key": [2.0, 0.4], "value": [-1.0, -2.5]},
    ]


def first_queries():
    """The queries of chapter 1."""
    beginner = {"zh": "深度学习入门", "en": "introduction to deep learning"}
    return [
        beginner | {"query": [1.5, 0.0]},
        {"zh": "家常菜做法", "en": "home cooking", "query": [0.0, 1.5]},
        {"zh": "两个主题各一半", "en": "half one topic, half the other", "query": [1.0, 1.0]},
        {"zh": f"{beginner['zh']}，长一倍", "en": f"{beginner['en']}, twice as long", "query": [3.0, 0.0]},
        {"zh": f"{beginner['zh']}，方向相反", "en": f"{beginner['en']}, reversed", "query": [-1.5, 0.0]},
        {"zh": "零查询", "en": "zero query", "query": [0.0, 0.0]},
    ]


def as_page(zh, en, key, value):
    """A page as the module takes it."""
    return {"zh": zh, "en": en, "key": [float(x) for x in key], "value": [float(x) for x in value]}


def as_query(zh, en, query):
    """A query as the module takes it, checked: it may be chosen long after the engine was made."""
    row = [float(x) for x in query]
    check_points("query", [row])
    return {"zh": zh, "en": en, "query": row}


def check_points(name, rows):
    """Raise Misfit, with the remedy, unless each row is a point of the plane that is drawn."""
    for row in rows:
        if len(row) != 2:
            raise Misfit(f"{name} {list(row)} has {len(row)} components; give 2, one for each axis of the plane")
        if not all(abs(x) <= REACH for x in row):  # refuses nan too
            raise Misfit(f"{name} {list(row)} is off the plane; give two numbers from −{REACH} to {REACH}")


class SearchEngine(Widget):
    """A query against the keys of 2 to 6 pages: move it in the plane, see scores, weights and the output z = Σ a_j v_j.

    `pages` is a list of dicts with "zh" and "en" (the page's name), "key" (what it is found by) and "value" (what it
    says); `queries` one of dicts with "zh", "en" and "query": those to choose from, the first at the start.  `topics`
    names the two axes of queries and keys, `contents` those of values, each with "zh" and "en".  What is left out is as
    in chapter 1.  `query`, `K` and `V` are what is shown now; with `tied` on, the keys serve as values.  Raises
    ValueError for what does not fit.
    """

    query = t.List(t.Float()).tag(sync=True)
    K = t.List(t.List(t.Float())).tag(sync=True)  # not `keys`: each ipywidget has a trait of that name
    V = t.List(t.List(t.Float())).tag(sync=True)
    tied = t.Bool(False).tag(sync=True)
    _start = t.Dict().tag(sync=True)  # what the engine was made with

    def __init__(self, pages=None, queries=None, topics=TOPICS, contents=CONTENTS):
        pages = [as_page(**page) for page in (first_pages() if pages is None else pages)]
        queries = [as_query(**query) for query in (first_queries() if queries is None else queries)]
        if not 2 <= len(pages) <= len(LETTERS):
            raise Misfit(f"there are {len(pages)} pages; the search engine shows 2 to {len(LETTERS)}")
        if not queries or not len(topics) == len(contents) == 2:
            raise Misfit("give at least one query, and two names each for topics and contents")
        start = {"pages": pages, "queries": queries, "topics": list(topics), "contents": list(contents)}
        K, V = ([page[part] for page in pages] for part in ("key", "value"))
        super().__init__(_start=start, query=queries[0]["query"], K=K, V=V)

    @t.validate("query")
    def _validate_query(self, proposal):
        check_points("query", [proposal.value])
        return proposal.value

    @t.validate("K", "V")
    def _validate_rows(self, proposal):
        name, rows, n = proposal.trait.name, proposal.value, len(self.names)
        if len(rows) != n:
            raise Misfit(f"{n} pages need {n} rows of {name}, but there are {len(rows)}")
        check_points({"K": "key", "V": "value"}[name], rows)
        return rows

    @t.default("still")
    def _still(self):
        query, pages = self._start["queries"][0], list(zip(LETTERS, self._start["pages"], strict=False))
        zh = f"查询“{query['zh']}”的注意力权重与输出：" + "，".join(f"{letter} {page['zh']}" for letter, page in pages)
        en = f"Query “{query['en']}”: weights and output; " + ", ".join(
            f"{letter} {page['en']}" for letter, page in pages
        )
        weights = ("a", "a", LETTERS[: len(pages)], self.weights)
        return still(f"{zh} | {en}", weights, ("z = Σ aⱼ vⱼ", "z", ["z[0]", "z[1]"], self.output))

    @property
    def names(self):
        """English names of the pages."""
        return [page["en"] for page in self._start["pages"]]

    @property
    def scores(self):
        """Scores (n,) of the present query, not scaled."""
        return am.dot_scores([self.query], self.K)[0]

    @property
    def weights(self):
        """Attention weights (n,)."""
        return self._attend()[1][0]

    @property
    def output(self):
        """Output z (2,): the values, or with `tied` the keys, mixed by the weights."""
        return self._attend()[0][0]

    def _attend(self):
        return am.scaled_dot_product_attention([self.query], self.K, self.K if self.tied else self.V)

    def __repr__(self):
        query, weights, output = short(self.query), short(self.weights), short(self.output)
        return f"SearchEngine(query={query}, weights={weights}, output={output})"
