// The search page. sections.js, loaded before this, holds the text of the view; here its sections are found and shown.
// There is no index: a word is looked up in the text itself, so that Chinese is found wherever it stands in a sentence.

// ---------------------------------------------------------------- text and words
const HAN = /\p{Script=Han}/u;
const LETTER = String.raw`[\p{Script=Latin}\p{Script=Greek}\p{N}]`; // not Chinese, where words have no ends
const LITTLE = new Set("a an and are as at be by do does for from how in is it of on or that the this to what when which why with".split(" "));
const LITTLE_HAN = /什么是|是什么|为什么|什么|怎么样?|怎样|如何|[的吗呢]/u;
const AND_HAN = /[和与跟或及]/u; // cut here only where nothing else helps: 行和 is a row sum
const SIGNS = { "‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "−": "-", "⊤": "t", "⁄": "/" };

/** Text as it is compared: full width, capitals, accents and typographic signs put aside. */
const plain = (text) =>
  text.normalize("NFKD").replace(/\p{Mn}/gu, "").toLowerCase().replace(/[‘’“”–—−⊤⁄]/g, (sign) => SIGNS[sign]);

const escaped = (text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");

/** An English word without its ending: weights, weighted → weight; queries, query → queri. */
function stem(word) {
  if (word.length < 4) return word;
  const one = word.replace(/ies$/, "y").replace(/(?<=ss|x|ch|sh)es$|(?<=[^isu])s$/, "");
  const bare = one.replace(/(?<=[aeiouy]\w+|\w{3}[aeiou])(?:ed|ing)$/, "");
  return (bare === one ? one : bare.replace(/([^aeiouls])\1$/, "$1")).replace(/(?<=[^aeiou])y$/, "i").replace(/e$/, "");
}

/** Whether one letter too many, missing or wrong, or two exchanged, turn a word into the other. */
function isTypo(word, other) {
  let i = 0;
  while (i < word.length && word[i] === other[i]) i += 1;
  const [a, b] = [word.slice(i), other.slice(i)];
  return a.slice(1) === b || a === b.slice(1) || a.slice(1) === b.slice(1) || a.slice(0, 2) + b.slice(2) === b[1] + b[0] + a.slice(2);
}

/** The words of a query: runs of Chinese, numbers, words with their signs; lone signs only where there is nothing else. */
function words(query) {
  const text = plain(query.slice(0, 200))
    .replace(/\\?sqrt\s*[({]?/g, "√").replace(/\^\{?(?:\\top|t\b)/g, "t").replace(/'s\b/g, "").replace(/[\\{}]/g, "");
  const word = /\p{Script=Han}+|\.?\d+(?:[.,]\d+)*%?|√?[_^]*(?:(?!\p{Script=Han})[\p{L}\p{N}][_^]*)+|√/gu;
  const found = text.match(word) ?? text.match(/\p{Sm}/gu) ?? [];
  const telling = found.filter((one) => !LITTLE.has(one));
  return [...new Set(telling.length ? telling : found)];
}

// ---------------------------------------------------------------- the sections of this view
const sections = SECTIONS.map(({ href, path, text }) => ({
  href, path, text,
  own: path.at(-1).flatMap((title) => [title, title.replace(/（[^）]*）/, "")]).map(plain), // 分数（score） is also called 分数
  above: plain(path.slice(0, -1).flat().join(" ")),
  body: plain(text),
}));
const everything = sections.map(({ own, body }) => `${own.join("\n")}\n${body}`).join("\n");
const vocabulary = [...new Set(everything.match(/[a-z]{2,}/g))];
const stems = new Map(vocabulary.map((known) => [known, stem(known)]));

/** What finds a word: `full` the word and its inflections, `part` what only begins with it or holds it. */
function term(word) {
  const make = (full, part) => ({ word, pattern: new RegExp(part ? `(${full})|${part}` : `(${full})`, "gu") });
  const start = `(?<!${LETTER})`, end = `(?!${LETTER})`;
  if (HAN.test(word)) return make(word);
  if (/^\.?\d/.test(word)) {
    const number = (word[0] === "." ? "" : String.raw`(?<!${LETTER}|\d\.)`) + escaped(word);
    return make(String.raw`${number}(?!\d|[.,]\d)`, /\.\d+$/.test(word) && String.raw`${number}\d+`);
  }
  const spelled = [...word.replace(/[_^]/g, "")].map((sign) => (sign === "√" ? String.raw`√\(?` : escaped(sign))).join("[_^]?"); // dk finds d_k
  if (/^[a-z]{2,}$/.test(word)) {
    const stemmed = stem(word);
    const same = vocabulary.filter((known) => known === word || stems.get(known) === stemmed);
    const begun = LITTLE.has(word) ? [] : vocabulary.filter((known) => known.startsWith(word) && !same.includes(known));
    const any = (list) => `${start}(?:${list.join("|")})${end}`;
    const whole = word.length > 2 ? any(same) : `${any(same)}|${start}${spelled}${end}`; // dk: dK in code, d_k in formulas
    if (same.length) return make(whole, begun.length && any(begun));
    if (begun.length) return make(any(begun));
    if (word.length > 2 && everything.includes(word)) return make(word);
  }
  const [before, after] = [/^[_^]*[\p{L}\p{N}]/u.test(word) ? start : "", /[\p{L}\p{N}][_^]*$/u.test(word) ? end : ""];
  return make(before + spelled + after, word.length > 1 && before + spelled);
}

const occurs = ({ pattern }) => everything.search(pattern) >= 0;

/** What is looked up instead of a word that occurs nowhere: known pieces of a Chinese run, or the word well spelled. */
function instead(word) {
  if (!HAN.test(word)) {
    const often = (known) => everything.split(known).length;
    const meant = word.length > 4 ? vocabulary.filter((known) => isTypo(word, known)) : [];
    return [meant.sort((a, b) => often(b) - often(a))[0] ?? word];
  }
  const pieces = [];
  for (const run of word.split(LITTLE_HAN)) {
    for (let i = 0, end; i < run.length; i = end) {
      end = run.length;
      while (end > i + 1 && !everything.includes(run.slice(i, end))) end -= 1;
      if (end > i + 1) pieces.push(run.slice(i, end));
    }
  }
  return pieces.length ? pieces : [word];
}

// ---------------------------------------------------------------- finding
/** Pages that say again what a chapter teaches come after it. */
const AFTER = { assignments: 0.5, solutions: 0.5, practice: 0.5, errata: 0.6 };

/** How much of a term a text holds: what only begins with the word counts half. */
const amount = ({ pattern }, text) => {
  let sum = 0;
  for (const match of text.matchAll(pattern)) sum += match[1] === undefined ? 0.5 : 1;
  return sum;
};

/** Points for a title: all if it says nothing but the terms. */
function titlePoints(terms, shares, title) {
  let points = 0, said = 0;
  terms.forEach(({ pattern }, i) => {
    const matches = [...title.matchAll(pattern)];
    if (!matches.length) return;
    points += 20 * shares[i] * (matches.some((match) => match[1] !== undefined) ? 1 : 0.5);
    for (const match of matches) said += match[0].length;
  });
  const covered = Math.min(1, said / title.replace(/[^\p{L}\p{N}]/gu, "").length);
  return points && points + 10 * covered + (covered > 0.95 ? 10 : 0);
}

/** The sections with all the terms, or with some of them; best first: page titles, headings, glossary, text. */
function find(terms, all) {
  const amounts = terms.map((one) => sections.map(({ own, body }) => amount(one, body) + amount(one, own.join("\n"))));
  const rarity = amounts.map((row) => Math.log(1 + sections.length / (1 + row.filter(Boolean).length)));
  const shares = rarity.map((value) => value / rarity.reduce((sum, other) => sum + other));
  const phrase = terms.length > 1 && new RegExp(terms.map(({ pattern }) => `(?:${pattern.source})`).join(String.raw`(?:'s)?[^\p{L}\p{N}]{0,3}`), "u");
  const hits = [];
  sections.forEach((section, i) => {
    const held = amounts.map((row) => row[i]);
    if (all ? !held.every(Boolean) : !held.some(Boolean)) return;
    let points = Math.max(...section.own.map((title) => titlePoints(terms, shares, title)));
    if (section.path.length === 1) points *= 1.2;
    if (section.href.startsWith("glossary.")) points *= 0.9;
    held.forEach((n, t) => {
      points += shares[t] * ((8 * n) / (n + 1 + section.body.length / 800) + (section.above.search(terms[t].pattern) < 0 ? 0 : 2));
    });
    if (phrase) points += (section.own.some((title) => phrase.test(title)) ? 10 : 0) + (phrase.test(section.body) ? 6 : 0);
    points *= AFTER[section.href.split(/[./]/)[0]] ?? 1;
    hits.push({ section, points });
  });
  return hits.sort((a, b) => b.points - a.points).map(({ section }) => section);
}

/** {hits, terms, how}: with all words, with known words in the place of unknown ones, or with some of the words. */
function search(query) {
  const asked = words(query).slice(0, 12).map(term);
  if (!asked.length) return { hits: [], terms: [], how: "nothing" };
  let hits = find(asked, true);
  if (hits.length) return { hits, terms: asked, how: "all" };
  const known = asked.flatMap((one) => (occurs(one) ? [one] : instead(one.word).map(term))).filter(occurs);
  const apart = known.flatMap(({ word }) => word.split(AND_HAN).filter(Boolean)).map(term);
  for (const terms of known.length < asked.length ? [] : [known, apart]) {
    hits = find(terms, true);
    if (hits.length) return { hits, terms, how: "known" };
  }
  if (known.length) hits = find(known, false);
  return { hits, terms: known, how: hits.length ? "some" : "none" };
}

// ---------------------------------------------------------------- showing
const VIEW = document.body.dataset.bilingual;
const TAGS = { zh: "zh-Hans", en: "en" };
const AT_ONCE = 20;
const SAY = {
  zh: {
    nothing: () => "输入一个词、一个数或一个符号。",
    all: (n) => `找到 ${n} 节。`,
    known: (n, used) => `没有一字不差的；按“${used}”来找，找到 ${n} 节。`,
    some: (n) => `没有哪一节含有全部的词。含有其中一部分的有 ${n} 节：`,
    none: () => "一节也没有找到。换一个词，或者少写几个字，再试试。",
    more: (n) => `再看 ${n} 节`,
  },
  en: {
    nothing: () => "Type a word, a number or a symbol.",
    all: (n) => `${n} ${n === 1 ? "section" : "sections"} found.`,
    known: (n, used) => `Nothing holds this as typed; “${used}” is in ${n} ${n === 1 ? "section" : "sections"}.`,
    some: (n) => `No section holds all the words. ${n === 1 ? "One holds" : `${n} hold`} some of them:`,
    none: () => "No section holds this. Try another word, or fewer of them.",
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
  const together = ({ start: from }) =>
    new Set(places.filter(({ start, end }) => start >= from && end < from + room(from) * 0.7).map(({ term }) => term)).size;
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
  return { cut, parts: [before, ...marked(cut, places, start), after] };
}

/** A title in its language or in both, with the terms marked. */
const titled = (title, terms) =>
  title.flatMap((text, i) => [i ? " " : "", make("span", title.length > 1 ? { lang: Object.values(TAGS)[i] } : {}, ...marked(text, spots(text, terms)))]);

function hit({ href, path, text }, terms) {
  const link = make("a", { href });
  if (path.length > 1) link.append(make("span", { class: "search-page" }, ...titled(path[0], terms), " › "));
  link.append(make("span", { class: "search-title" }, ...titled(path.at(-1), terms)));
  const { cut, parts } = excerpt(text, terms);
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
  const { hits, terms, how } = search(field.value);
  setTimeout(() => told.replaceChildren(...say(how, hits.length, terms.map(({ word }) => word).join(" "))), pause);
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

field.value = new URLSearchParams(location.search).get("q")?.slice(0, field.maxLength) ?? "";
for (const link of document.querySelectorAll(".lang-switch a")) link.search = location.search;
field.focus();
field.select();
show(300);
