// Runs in an empty page that has the address of a page of the site: makes one document, for paper, out of the pages.

const element = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, text] of Object.entries(attributes)) made.setAttribute(name, text);
  made.append(...children);
  return made;
};

const parsed = async (name) => {
  const answer = await fetch(`${name}.html`);
  if (!answer.ok) throw new Error(`the site has no page ${name}.html: build it again`);
  return new DOMParser().parseFromString(await answer.text(), "text/html");
};

/** Every id, and whatever names it, begins with the name of its page. */
const renameIds = (article, page) => {
  const ids = new Map([...article.querySelectorAll("[id]")].map((e) => [e.id, `${page}--${e.id}`]));
  for (const e of article.querySelectorAll("*")) {
    for (const attribute of e.attributes) {
      if (attribute.name === "id") attribute.value = ids.get(attribute.value);
      else if (attribute.name.startsWith("aria-")) attribute.value = ids.get(attribute.value) ?? attribute.value;
      else attribute.value = attribute.value.replace(/url\(#([^)]+)\)/g, (whole, id) => (ids.has(id) ? `url(#${ids.get(id)})` : whole));
    }
  }
};

const tellAddress = (link) => {
  const told = link.href.replace(/^https?:\/\//, "").replace(/\/$/, "");
  if (!link.textContent.includes(told)) link.after(element("span", { class: "address" }, ` ${told}`));
};

/** Links to pages of the book lead inside it; others keep their address, which paper has to say. */
const turnLinks = (article, page, names, base) => {
  const here = new URL(`${page}.html`, location.href);
  for (const link of article.querySelectorAll("a[href]")) {
    const url = new URL(link.getAttribute("href"), here);
    const name = decodeURIComponent(url.pathname).replace(new URL(".", location.href).pathname, "").replace(/\.html$/, "");
    if (url.origin !== here.origin) {
      link.href = url.href;
      tellAddress(link);
    } else if (names.has(name)) {
      link.setAttribute("href", `#${name}${url.hash ? "--" + url.hash.slice(1) : ""}`);
    } else if (base) {
      link.href = base + url.pathname.slice(1) + url.hash;
    } else link.replaceWith(...link.childNodes);
  }
};

/** A chapter: the text of a page, less what only a screen needs. */
const chapter = async ({ name, number }, names, words, base) => {
  const article = document.adoptNode((await parsed(name)).querySelector("article.bd-article"));
  article.querySelectorAll("script, .headerlink, .term-card, .toctree-wrapper").forEach((e) => e.remove());
  for (const image of article.querySelectorAll("img")) {
    image.src = new URL(image.getAttribute("src"), new URL(`${name}.html`, location.href));
    image.loading = "eager";
  }
  for (const still of article.querySelectorAll(".widget-still")) {
    const address = `${base}${document.body.dataset.bilingual}/${name}.html`;
    still.append(element("p", { class: "on-the-site" }, words.interactive, ...(base ? [" ", element("a", { href: address }, address)] : [])));
  }
  for (const section of article.querySelectorAll("section[id]:has(> :is(h1, h2, h3, h4))")) { // a section may begin on the page before its heading
    const { id } = section;
    section.removeAttribute("id");
    section.querySelector(":scope > :is(h1, h2, h3, h4)").id = id;
  }
  turnLinks(article, name, names, base);
  renameIds(article, name);
  answersToTheEnd(article, words);
  article.querySelectorAll(".answers > h2").forEach((h2) => { h2.id = `${name}--answers`; });
  const places = article.querySelectorAll(".answer-elsewhere");
  article.querySelectorAll(".answer-title").forEach((title, i) => { // as many, in the same order
    title.id = `${name}--answer-${i + 1}`;
    places[i].replaceChildren(element("a", { href: `#${title.id}` }, words.elsewhere));
  });
  article.id = name;
  article.classList.add("chapter");
  if (number) article.querySelector("h1").prepend(element("span", { class: "number" }, words.chapter.replace("{}", number)));
  return article;
};

/** What is positioned, as the parts of a formula are, is printed after what is not, and so read out of order: text beside
    formulas becomes positioned too. */
const keepOrder = (article) => {
  const walker = document.createTreeWalker(article, NodeFilter.SHOW_TEXT), texts = [];
  while (walker.nextNode()) texts.push(walker.currentNode);
  for (const text of texts) {
    const block = text.parentElement.closest("p, li, td, th, dd, dt, h1, h2, h3, h4, figcaption, div");
    if (!text.data.trim() || text.parentElement.closest(".katex, svg, pre") || !block.querySelector(".katex")) continue;
    const span = element("span", { class: "in-order" });
    text.replaceWith(span);
    span.append(text);
  }
};

const titlePage = (index, words, base) => {
  const page = element("section", { class: "title-page", id: "title-page" }, element("h1", {}, index.querySelector(".logo__title").textContent));
  page.append(element("p", { class: "subtitle" }, words.subtitle), element("p", {}, words.author), element("p", {}, words.version));
  if (base) page.append(element("p", {}, element("a", { href: base }, base)));
  page.append(element("p", { class: "licence" }, ...document.adoptNode(index.querySelector(".licence")).childNodes));
  page.querySelectorAll(".licence a").forEach(tellAddress);
  return page;
};

const entry = (id, title) => element("a", { href: `#${id}` }, element("span", { class: "entry" }, ...title), element("span", { class: "page-of", "data-of": id }, "000"));

/** Titles without ids and notes, for a second place. */
const copyOf = (heading) => [...heading.cloneNode(true).childNodes].filter((node) => !node.classList?.contains("number"));

const contents = (chapters, pages, words) => {
  const list = element("nav", { class: "book-contents", id: "contents" }, element("h1", {}, words.contents));
  pages.forEach(({ part, number }, i) => {
    if (part && part !== pages[i - 1]?.part) list.append(element("p", { class: "part" }, part));
    const title = [...(number ? [`${number}\u2002`] : []), ...copyOf(chapters[i].querySelector("h1"))];
    list.append(element("div", { class: "of-chapter" }, entry(chapters[i].id, title),
      element("div", { class: "of-sections" }, ...[...chapters[i].querySelectorAll("h2")].map((h2) => entry(h2.id, copyOf(h2))))));
  });
  return list;
};

/** A reader on paper turns to a page: behind each link to another chapter, but not in lists that are looked up by name. */
const addPages = (article, words, found) => {
  for (const link of article.querySelectorAll('a[href^="#"]')) {
    const id = link.hash.slice(1), target = document.getElementById(decodeURIComponent(id));
    const chapterOf = target?.closest("article")?.id;
    if (!target || link.matches(".term") || found.has(chapterOf) || target.closest("div.math")) continue;
    if (chapterOf === article.id && !link.closest(".answer-elsewhere")) continue;
    const [before, after] = words.page.split("{}");
    link.append(element("span", { class: "page-ref" }, before, element("span", { class: "page-of", "data-of": target.id }, "000"), after));
  }
};

const quoted = (text) => `"${text.replace(/["\\]/g, "\\$&").replace(/\s+/g, " ")}"`;

/** The names of course and chapter at the head of each page: a kind of page for each chapter. */
const runningHeads = (chapters, course) => chapters.map((article, i) => {
  const h1 = article.querySelector("h1"), number = h1.querySelector(".number")?.textContent;
  const title = copyOf(h1).map((node) => node.textContent).join("");
  return `#${CSS.escape(article.id)} { page: c${i} } @page c${i} { @top-left { content: ${quoted(course)} } @top-right { content: ${quoted([number, title].filter((part) => part && part.toLowerCase() !== course.toLowerCase()).join(" · "))} } }`;
}).join("\n");

/** Make the document. */
globalThis.makeDocument = async ({ view, pages, words, base, styles }) => {
  document.documentElement.lang = words.lang;
  document.documentElement.dataset.theme = "light";
  document.body.dataset.bilingual = view;
  const index = await parsed("index"), names = new Set(pages.map((page) => page.name));
  document.title = index.querySelector(".logo__title").textContent;
  const sheets = [...index.querySelectorAll('link[rel="stylesheet"]')].map((link) => element("link", { rel: "stylesheet", href: link.getAttribute("href") }));
  await Promise.all(sheets.map((sheet) => new Promise((loaded) => { sheet.onload = loaded; document.head.append(sheet); })));
  const chapters = [];
  for (const page of pages) chapters.push(await chapter(page, names, words, base));
  document.body.append(titlePage(index, words, base), contents(chapters, pages, words), ...chapters);
  for (const article of chapters) {
    addPages(article, words, new Set(["references", "glossary"]));
    keepOrder(article);
  }
  document.head.append(element("style", {}, styles), element("style", {}, runningHeads(chapters, document.title)));
  await Promise.all([...document.images].map((image) => image.decode()));
  await document.fonts.ready;
};

/** Make formulas and tables that are wider than the paper smaller; returns what is wider still, with its chapter. */
globalThis.fitToPaper = () => {
  const over = (box) => box.scrollWidth > box.clientWidth + 1;
  const shrink = (box, made, least) => {
    for (let size = 95; over(box) && size >= least; size -= 5) made.style.fontSize = `${size}%`;
  };
  for (const box of document.querySelectorAll(".math-scroll")) {
    const formula = box.querySelector(".katex-display"), katex = formula.firstElementChild;
    katex.style.whiteSpace = "nowrap";
    shrink(box, formula, 80);
    if (!over(box)) continue;
    formula.style.fontSize = katex.style.whiteSpace = ""; // in lines, then
    shrink(box, formula, 60);
  }
  for (const box of document.querySelectorAll(":is(.pst-scrollable-table-container, .cell_output):has(table)")) {
    shrink(box, box.querySelector("table"), 60);
  }
  const { left, right } = document.body.getBoundingClientRect(), slack = 3; // 2 pixels of an empty box end each index of a formula
  const clipped = ".katex-mathml, svg svg, .hide-tail, .katex-stretchy"; // what these hold is wider than what shows of it
  const beyond = ({ left: l, right: r }) => r > l && (r > right + slack || l < left - slack);
  const outside = () => [...document.querySelectorAll(".chapter *")].filter((e) => beyond(e.getBoundingClientRect()) && !e.closest(clipped));
  for (const e of outside()) { // a formula in a line that is kept whole with the point behind it
    const kept = e.closest(".nobr");
    if (kept) kept.style.whiteSpace = "normal";
  }
  return outside().map((e) => `${e.closest(".chapter").id}: ${e.textContent.trim().slice(0, 80)}`);
};

/** Titles for the bookmarks, in order: text, in which a formula is said once. */
globalThis.headings = () => [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")].map((heading) => {
  const made = heading.cloneNode(true);
  made.querySelectorAll(".katex-html, annotation").forEach((e) => e.remove());
  made.querySelector(".number")?.append(" · ");
  return made.textContent.replace(/\s+/g, " ").trim();
});

globalThis.putPages = async (pages) => {
  for (const e of document.querySelectorAll(".page-of")) e.textContent = pages[e.dataset.of] ?? "?";
  document.body.replaceWith(document.body.cloneNode(true)); // laid out afresh: of a layout mended in parts, page breaks swing to and fro
  await Promise.all([...document.images].map((image) => image.decode()));
};
