// The search page: what section_search.js, loaded before this, finds for the query is shown and announced.

const VIEW = document.body.dataset.bilingual;
const TAGS = { zh: "zh-Hans", en: "en" };
const AT_ONCE = 20;
const SAY = {
  zh: {
    nothing: () => "输入一个词、一个数或一个符号。",
    all: (n) => `找到 ${n} 节。`,
    known: (n, used) => `没有一字不差的；按“${used}”来找，找到 ${n} 节。`,
    few: (n, used, full) => `含有全部的词的只有 ${full} 节；连同只含有一部分的，共 ${n} 节：`,
    some: (n) => `没有哪一节含有全部的词。含有其中一部分的有 ${n} 节：`,
    none: () => "一节也没有找到。换一个说法，或者只留最要紧的一个词，再试试。",
    more: (n) => `再看 ${n} 节`,
  },
  en: {
    nothing: () => "Type a word, a number or a symbol.",
    all: (n) => `${n} ${n === 1 ? "section" : "sections"} found.`,
    known: (n, used) => `Nothing holds this as typed; “${used}” is in ${n} ${n === 1 ? "section" : "sections"}.`,
    few: (n, used, full) => `Only ${full} of these ${n} sections ${full === 1 ? "holds" : "hold"} all the words, the others some:`,
    some: (n) => `No section holds all the words. ${n === 1 ? "One holds" : `${n} hold`} some of them:`,
    none: () => "No section holds this. Try another name for it, or only the word that matters most.",
    more: (n) => `Show ${n} more`,
  },
};

/** An element with its children, all of them put in as text or nodes, never as HTML. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** The sentence `key` in the language of the view, or in both. */
const say = (key, ...given) =>
  Object.keys(TAGS).filter((lang) => VIEW === lang || VIEW === "both")
    .flatMap((lang) => [make("span", { lang: TAGS[lang] }, SAY[lang][key](...given)), " "]);

/** [start, end] of each place in a text where a term is found. */
function spots(text, terms) {
  let folded = "";
  const from = []; // where in the text each character of `folded` comes from
  let at = 0;
  for (const sign of text) {
    const same = (sign >= " " && sign < "\x7f") || (sign >= "一" && sign <= "鿿"); // spares the slower way
    const part = same ? sign.toLowerCase() : plain(sign);
    folded += part;
    for (let i = 0; i < part.length; i += 1) from.push(at);
    at += sign.length;
  }
  from.push(at);
  return terms
    .flatMap(({ pattern }, term) => [...folded.matchAll(pattern)].map((m) => ({ term, start: from[m.index], end: from[m.index + m[0].length] })))
    .sort((a, b) => a.start - b.start || b.end - a.end);
}

/** A text with <mark> around the places that lie in it; `offset` is where it was cut out. */
function marked(text, places, offset = 0) {
  const out = [];
  let done = 0;
  for (const { start, end } of places) {
    const [a, b] = [start - offset, end - offset];
    if (a < done || b > text.length) continue;
    out.push(text.slice(done, a), make("mark", {}, text.slice(a, b)));
    done = b;
  }
  return [...out, text.slice(done)];
}

/** The piece of a section's text where most terms stand together, cut at sentences or lines where these are near. */
function excerpt(text, terms) {
  const places = spots(text, terms);
  const room = (at) => (HAN.test(text.slice(at, at + 20)) ? 90 : 200);
  const together = ({ start: from }, i) => {
    const seen = new Set(), most = from + room(from) * 0.7;
    for (let n = i; n < places.length && places[n].start < most; n += 1) if (places[n].end < most) seen.add(places[n].term);
    return seen.size;
  };
  const counts = places.map(together);
  const best = places[counts.indexOf(Math.max(...counts))] ?? { start: 0, end: 0 };
  const size = room(best.start);
  const borders = [0, ...[...text.matchAll(/[。！？\n]|[.?!](?=\s)/g)].map((match) => match.index + 1), text.length];
  let start = borders.findLast((border) => border <= best.start);
  if (best.start - start > size / 2) start = Math.min(text.indexOf(" ", best.start - size / 5) + 1 || Infinity, best.start);
  let end = borders.findLast((border) => border <= start + size);
  if (end < Math.max(best.end, Math.min(text.length, start + size / 2))) {
    const gap = text.lastIndexOf(" ", start + size);
    end = Math.min(text.length, Math.max(best.end, gap > start + size / 2 ? gap : start + size));
  }
  const cut = text.slice(start, end).replaceAll("\n", "\u2003"); // a gap between lines
  const [before, after] = [start, end].map((at) => (borders.includes(at) ? "" : "…"));
  return { cut, parts: [before, ...marked(cut, places, start), after], at: best.start };
}

const BREAK = /[^\p{Script=Han}a-zA-Z '’-]/u; // also signs and digits, as formulas are written otherwise on their page

/** The words around `at` in a form that lets the browser mark them on their page: "" if they are few or stand there twice. */
function fragment({ page, text }, at) {
  let [start, end] = [at, at];
  while (start > 0 && !BREAK.test(text[start - 1])) start -= 1;
  while (end < text.length && !BREAK.test(text[end])) end += 1;
  const piece = text.slice(start, end).trim();
  const places = sections.filter((section) => section.page === page).map((section) => section.text.split(piece).length - 1);
  const isLong = piece.length >= (HAN.test(piece) ? 8 : 20);
  if (!isLong || places.reduce((sum, n) => sum + n) !== 1) return "";
  return `:~:text=${encodeURIComponent(piece).replaceAll("-", "%2D")}`;
}

/** A title in its language or in both, with the terms marked. */
const titled = (title, terms) =>
  title.flatMap((text, i) => [i ? " " : "", make("span", title.length > 1 ? { lang: Object.values(TAGS)[i] } : {}, ...marked(text, spots(text, terms)))]);

function hit(section, terms) {
  const { href, path, text } = section;
  const link = make("a", { href });
  if (path.length > 1) link.append(make("span", { class: "search-page" }, ...titled(path[0], terms), " › "));
  link.append(make("span", { class: "search-title" }, ...titled(path.at(-1), terms)));
  const { cut, parts, at } = excerpt(text, terms);
  if ("fragmentDirective" in document) link.addEventListener("click", () => { link.href = href + fragment(section, at); });
  const lang = VIEW !== "both" ? {} : { lang: HAN.test(cut) ? TAGS.zh : TAGS.en };
  return make("li", {}, link, ...(cut ? [make("p", lang, ...parts)] : []));
}

// ---------------------------------------------------------------- the page
const field = document.querySelector(".bd-search-container input[name=q]");
const told = document.getElementById("search-told");
const results = document.getElementById("search-results");
const elsewhere = document.getElementById("search-elsewhere");

/** Show what is found; say so after `pause`, since a sentence that a page brings along is not read out. */
function show(pause = 0) {
  const { hits, terms, how, full } = search(field.value);
  setTimeout(() => told.replaceChildren(...say(how, hits.length, terms.map(({ word }) => word).join(" "), full)), pause);
  elsewhere.hidden = hits.length > 0;
  const list = make("ol", {}, ...hits.slice(0, AT_ONCE).map((section) => hit(section, terms)));
  results.replaceChildren(...(hits.length ? [list] : []));
  const rest = hits.slice(AT_ONCE);
  if (!rest.length) return;
  const button = make("button", { type: "button", class: "btn btn-outline-primary" }, ...say("more", rest.length));
  button.addEventListener("click", () => {
    list.append(...rest.map((section) => hit(section, terms)));
    button.remove();
    list.children[AT_ONCE].querySelector("a").focus();
  });
  results.append(button);
}

/** Show, and keep the query in the address, for whoever comes back, and in the links to the other languages. */
function ask() {
  const asked = `?${new URLSearchParams({ q: field.value })}`; // encodeURIComponent throws at half an emoji
  try { history.replaceState(null, "", asked); } catch { /* a page from a disk may not */ }
  for (const link of document.querySelectorAll(".lang-switch a")) link.search = asked;
  show();
}

/** Arrows go from the field down to the hits and up again; Escape goes back to the field. */
function go(event) {
  if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.isComposing) return;
  const links = [...results.querySelectorAll("li a")];
  const at = links.indexOf(document.activeElement); // -1: the field
  const isField = document.activeElement === field;
  if (!isField && at < 0) return;
  const to = { ArrowDown: links[at + 1], ArrowUp: at > 0 ? links[at - 1] : field, Escape: isField ? null : field }[event.key];
  if (!to) return;
  event.preventDefault();
  to.focus();
}

let waiting;
function askSoon(event) {
  clearTimeout(waiting);
  if (!event.isComposing) waiting = setTimeout(ask, 200); // not at each letter, as the number of hits is read out
}
field.addEventListener("input", askSoon);
field.addEventListener("compositionend", askSoon);
field.form.addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(waiting);
  ask();
  if (matchMedia("(pointer: coarse)").matches) field.blur(); // its keyboard would cover the hits
});

field.closest(".bd-search-container").addEventListener("keydown", go);

field.value = new URLSearchParams(location.search).get("q")?.slice(0, field.maxLength) ?? "";
for (const link of document.querySelectorAll(".lang-switch a")) link.search = location.search;
field.focus();
field.select();
show(300);
