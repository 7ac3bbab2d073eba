"""Chinese search that works: index and query by overlapping character pairs."""

import re

import snowballstemmer
from sphinx.search import languages
from sphinx.search.zh import SearchChinese

RUN = re.compile(r"[\u3400-\u9fff]+|[^\W\u3400-\u9fff]+")


class SearchChineseBigram(SearchChinese):
    js_splitter_code = r"""
function splitQuery(query) {
  const idx = typeof Search !== "undefined" && Search._index, out = [];
  const known = (w) => !idx || Object.hasOwn(idx.terms, w) || Object.hasOwn(idx.titleterms, w);
  for (const run of query.match(/[\u3400-\u9fff]+|[\p{L}\p{N}_]+/gu) || []) {
    // \p{L} also matches CJK, so split mixed runs such as "softmax梯度" first
    for (const part of run.match(/[\u3400-\u9fff]+|[^\u3400-\u9fff]+/gu)) {
      if (!/^[\u3400-\u9fff]/.test(part) || part.length === 1) { out.push(part); continue; }
      const pairs = [...part].slice(0, -1).map((c, i) => c + part[i + 1]);
      const hit = pairs.filter(known);
      out.push(...(hit.length ? hit : pairs));
    }
  }
  return out;
}
"""

    def init(self, options):  # no jieba
        self.stemmer = snowballstemmer.stemmer("english")

    def split(self, input):
        out = []
        for run in RUN.findall(input):
            if "\u3400" <= run[0] <= "\u9fff":
                out += list(run) + [run[i : i + 2] for i in range(len(run) - 1)]
            else:
                out.append(run)
                self.latin_terms.append(run)
        return out

    def word_filter(self, w):
        return len(w) > 1 or "\u3400" <= w <= "\u9fff"


def setup(app):
    languages["zh"] = SearchChineseBigram
    languages["zh_CN"] = SearchChineseBigram
    return {"parallel_read_safe": True, "parallel_write_safe": True}
