// What a page shows a reader: evaluated by tests/test_site.py in each page of each view.
() => {
  const page = document.querySelector("article") ?? document.querySelector("main");
  const text = document.body.innerText;
  const prose = page.cloneNode(true);
  prose.querySelectorAll("pre").forEach((code) => code.remove());
  const all = (selector, where = document) => [...where.querySelectorAll(selector)];
  const marked = all("[lang]").filter((e) => e !== document.documentElement && e.lang !== "en");
  const ids = all("[id]").map((e) => e.id);
  return {
    text,
    title: document.title,
    description: document.querySelector('meta[name="description"]')?.content,
    marked: marked.map((e) => e.innerText ?? e.textContent),
    around: text.replace(page.innerText, ""),
    sections: all("section[id]").map((e) => e.id),
    headings: all("h1, h2, h3, h4", page).map((e) => Number(e.tagName[1])),
    duplicates: ids.filter((id, i) => ids.indexOf(id) !== i),
    formulas: all(".math").length,
    typeset: all(".math .katex-html").length,
    readable: all(".math math annotation[encoding='application/x-tex']").length,
    unsized: all("img", page).filter((e) => !(e.getAttribute("width") && e.getAttribute("height"))).map((e) => e.src),
    unnamed: all("img", page).filter((e) => !e.alt).map((e) => e.src),
    stars: prose.innerText.match(/\*\*|\$\$|\{\.lang/g),
  };
}
