// The search itself: a query in, sections out. sections.js, loaded before this, holds the text of the view, other names
// and traditional characters. There is no index: a word is looked up in the text itself, so that Chinese is found
// wherever it stands in a sentence.

// ---------------------------------------------------------------- text and words
const HAN = /\p{Script=Han}/u;
const LETTER = "[A-Za-zΑ-Ωα-ω0-9]"; // not Chinese, where words have no ends
const [START, END] = [`(?<!${LETTER})`, `(?!${LETTER})`];
const GAP = String.raw`[^\p{L}\p{N}]{0,3}`; // multi-head, multi head, multihead
const NEXT = String.raw`(?:'s)?${GAP}`;
const LITTLE = new Set(`a about all am an and are as at be been between by can could did difference different do does explain for
  from get gets had happen happens has have how i if in into is it its me my need of on or our should so something than that the
  their them then there these thing things this those to us versus vs want was we were what when where which who why will with
  would you your`.split(/\s+/));
const LITTLE_HAN =
  "什么是|是什么|为什么要?|为何|有什么|什么|怎么样|怎么办|怎么|怎样|如何|哪里|哪些|哪个|多少|几个|可不可以|可以|能否|是否|有没有|[行好对该要会能是]不[行好对该要会能是]|会怎么?样|不用|而用|而不是|请问|一下|区别|不同|定义|意思|含义|原理|的|吗|呢|啊|吧|了";
const ONLY_LITTLE = new RegExp(`^(?:${LITTLE_HAN})+$`, "u");
const LITTLE_ENDS = new RegExp(`^(?:${LITTLE_HAN})+|(?:${LITTLE_HAN})+$`, "gu");
const LITTLE_OR_AND = new RegExp(`${LITTLE_HAN}|[和与跟或及]`, "u"); // cut here only where nothing else helps: 行和 is a row sum
const SIGNS = { "‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "−": "-", "⊤": "T", "⁄": "/" };
const simplified = new Map(TRADITIONAL.match(/../gu).map(([old, simple]) => [old, simple]));

/** Text as it is compared: full width, accents and typographic signs put aside; `plain` also capitals. */
const unified = (text) => text.normalize("NFKD").replace(/\p{Mn}/gu, "").replace(/[‘’“”–—−⊤⁄]/g, (sign) => SIGNS[sign]);
const plain = (text) => unified(text).toLowerCase();

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

/** What is cited by its number: chapter 3, 第三章, 作业 2. */
const CITED = /(第\s*[\d一二三四五六七八九十]+\s*章|\bch(?:ap(?:ter)?)?\.?\s*\d+|作业\s*[\d一二三四五六七八九]|\bassignment\s*\d+)/iu;
const WORD = /\p{Script=Han}+|\.?\d+(?:[.,]\d+)*(?:[eE][+-]?\d+)?%?|√?[_^]*(?:(?!\p{Script=Han})[\p{L}\p{N}][_^]*)+|√/gu;

/** The words of a query, with their capitals: runs of Chinese, numbers, words with their signs; lone signs only where
 * there is nothing else. */
function words(query) {
  const text = unified([...query].map((sign) => simplified.get(sign) ?? sign).join(""))
    .replace(/\\?sqrt\s*[({]?|根号\s*/gi, "√").replace(/\^\{?(?:\\top|t\b)/gi, "T").replace(/∂L\/∂/gi, "d")
    .replace(/\b([A-Z])(?=[A-Z]_)/g, "$1 ").replace(/'s\b/gi, "").replace(/[\\{}]/g, "");
  const found = text.split(CITED).flatMap((part, i) => (i % 2 ? part : (part.match(WORD) ?? [])));
  return found.length ? found : (text.match(/\p{Sm}/gu) ?? []);
}

// ---------------------------------------------------------------- the sections of this view
/** The names of a page that is cited by its number. */
function numbers(page) {
  const [, folder, n] = page.match(/^(assignments\/a|0?)(\d+)_/) ?? [];
  return n ? (folder.length > 1 ? [`assignment ${n}`, `作业${n}`] : [`chapter ${n}`, `第${n}章`]) : [];
}

/** A title, also without what is in brackets, and each side of its colon. */
const shortened = (title) => [title, title.replace(/（[^）]*）/, ""), ...title.split(/[:：]/)];

const pages = new Map(); // page: the titles of its first section, how long it is
const folded = (text) => {
  const cased = unified(text);
  return { cased, body: cased.toLowerCase() };
};
const sections = SECTIONS.map(({ href, path, text, twin }) => {
  const page = href.split("#")[0];
  const titles = [...path.at(-1), ...(twin ? [twin] : [])].flatMap(shortened);
  const own = [...new Set([...titles, ...(path.length === 1 ? numbers(page) : [])].map(plain))];
  if (!pages.has(page)) pages.set(page, { titles: own.join(" "), size: 0 });
  pages.get(page).size += text.length;
  const above = path.length > 1 ? `${pages.get(page).titles} ${plain(path.slice(1, -1).flat().join(" "))}` : "";
  return { href, path, text, page, own, above, ...folded(text) };
});
const everything = sections.map(({ own, body }) => `${own.join("\n")}\n${body}`).join("\n");
const vocabulary = [...new Set(everything.match(/[a-z]{2,}/g))];
const families = new Map(); // stem: the words that have it
for (const known of vocabulary) families.set(stem(known), [...(families.get(stem(known)) ?? []), known]);
const hyphened = new Map([...new Set(everything.match(/[a-z]+(?:-[a-z]+)+/g))].map((known) => [known.replaceAll("-", ""), known]));

// ---------------------------------------------------------------- names
/** By this a name is known again: no spaces, hyphens, endings. */
const key = (name) => words(name.toLowerCase()).map((word) => (/^[a-z]+$/.test(word) ? stem(word) : word)).join("");

const glossary = SECTIONS.filter(({ href, path }) => href.startsWith("glossary.html#") && path.length > 2)
  .map(({ path, twin }) => [...path.at(-1), ...(twin ? [twin] : [])].map((title) => title.replace(/（[^）]*）/, "")));
const groups = new Map(); // key of a name: all names of the same thing
for (const names of [...glossary, ...NAMES]) {
  const group = names.map((name) => groups.get(key(name))).find(Boolean) ?? new Set();
  for (const name of names) groups.set(key(name), group.add(name));
}
const hanNames = [...new Set([...groups.values()].flatMap((group) => [...group]))]
  .flatMap((name) => name.match(/\p{Script=Han}{2,}/gu) ?? []).sort((a, b) => b.length - a.length);

/** The pattern of a name in all its inflections, or null where this view has not all its words. */
function spelling(name) {
  const parts = plain(name).split(/[\s-]+/).filter(Boolean);
  const patterns = parts.map((part) => (/^[a-z]{2,}$/.test(part) ? families.get(stem(part))?.join("|") : escaped(part)));
  if (patterns.includes(undefined)) return null;
  const [before, after] = [/^[a-z]/.test(parts[0]) ? START : "", /[a-z]$/.test(parts.at(-1)) ? END : ""];
  return before + patterns.map((pattern) => `(?:${pattern})`).join(GAP) + after;
}

// ---------------------------------------------------------------- terms
const anyOf = (list) => `${START}(?:${list.join("|")})${END}`;

/** A term is what is looked up: `full` finds the word and its inflections, `part` what only begins with it or holds it. */
const made = (word, full, part) => ({ word, pattern: new RegExp(part ? `(${full})|${part}` : `(${full})`, "gu") });

function citation(word) {
  const [n] = word.match(/\d+|[一二三四五六七八九十]+/);
  const units = "零一二三四五六七八九十".indexOf(n.at(-1));
  const number = /\d/.test(n) ? n : n.length > 1 ? 10 + units : units;
  const [zh, en] = /章|^ch/.test(word) ? [`第\\s*${number}\\s*章`, "chapter"] : [`作业\\s*${number}(?!\\d)`, "assignment"];
  return made(word, `${zh}|${en}\\s*${number}(?!\\d)`);
}

function decimal(word) {
  const number = (word[0] === "." ? "" : String.raw`(?<!${LETTER}|\d\.)`) + escaped(word);
  return made(word, String.raw`${number}(?!\d|[.,]\d)`, /\.\d+$/.test(word) && String.raw`${number}\d+`);
}

/** A word with signs, or of one letter. d_k finds dk, dk finds d_k; but only w_o begins w_out, wo does not. */
function symbol(word) {
  const one = (sign) => (sign === "√" ? String.raw`√\(?` : escaped(sign));
  const spelled = [...word.replace(/[_^]/g, "")].map(one).join("[_^ ]?");
  const [before, after] = [/^[_^]*[\p{L}\p{N}]/u.test(word) ? START : "", /[\p{L}\p{N}][_^]*$/u.test(word) ? END : ""];
  return made(word, before + spelled + after, word.length > 1 && before + [...word].map(one).join(""));
}

function english(word) {
  const same = families.get(stem(word)) ?? [];
  const begun = LITTLE.has(word) ? [] : vocabulary.filter((known) => known.startsWith(word) && !same.includes(known));
  const wholes = same.length ? [anyOf(same)] : [];
  if (hyphened.has(word)) wholes.push(anyOf([hyphened.get(word).replaceAll("-", GAP)]));
  if (word.length === 2) wholes.push(anyOf([[...word].join("[_^]?")])); // dk: dK in code, d_k in formulas
  if (wholes.length) return made(word, wholes.join("|"), begun.length && anyOf(begun));
  return made(word, begun.length ? anyOf(begun) : word);
}

function term(word) {
  if (CITED.test(word)) return citation(word);
  if (HAN.test(word)) return made(word, word);
  if (/^\.?\d/.test(word)) return decimal(word);
  return /^[a-z]{2,}$/.test(word) ? english(word) : symbol(word);
}

const MOST = 12; // terms of a query: what is beyond them would cost time and tell nothing
const LONGEST = 8; // characters of a piece of Chinese
const RARE = 5; // the book hardly uses what fewer of its sections hold
const isUsual = (pattern) => {
  const one = new RegExp(pattern, "u");
  let n = 0;
  return sections.some(({ own, body }) => (n += one.test(body) || own.some((title) => one.test(title))) >= RARE);
};

/** The terms of words. A name that the book hardly uses stands for all names of its thing, any other name for itself,
 * but in titles it may go by the others too. */
function terms(list) {
  const found = [];
  for (let i = 0, end; i < list.length; i = end) {
    end = Math.min(list.length, i + 5);
    while (end > i && !groups.has(key(list.slice(i, end).join(" ")))) end -= 1;
    if (end === i) {
      end = i + 1;
      found.push(term(list[i]));
      continue;
    }
    const typed = list.slice(i, end).join(" ");
    const all = [...groups.get(key(typed))].map(spelling).filter(Boolean).join("|");
    const own = spelling(typed);
    if (own && isUsual(own)) found.push({ ...(end > i + 1 ? made(typed, own) : term(typed)), inTitles: new RegExp(all, "gu") });
    else found.push(...(all ? [made(typed, all)] : list.slice(i, end).map(term)));
  }
  return found;
}

const often = (text) => everything.split(text).length - 1;

/** A run of Chinese in the likeliest pieces: each costs the more, the more rarely the book writes it. */
function likeliest(run) {
  const best = [{ cost: 0, pieces: [] }]; // of the first 0, 1, … characters
  for (let end = 1; end <= run.length; end += 1) {
    for (let start = end - 1; start >= Math.max(0, end - LONGEST); start -= 1) {
      const piece = run.slice(start, end), n = often(piece);
      if (!n && start < end - 1) break; // nor is there a longer one
      const cost = best[start].cost + Math.log(everything.length / Math.max(n, 0.1));
      if (!(best[end]?.cost <= cost)) best[end] = { cost, pieces: [...best[start].pieces, piece] };
    }
  }
  return best.at(-1).pieces;
}

/** A character that cutting left alone says nothing, unless it is a name. */
const isTelling = (piece) => piece.length > 1 || groups.has(key(piece));

/** A run of Chinese in pieces: what “and” joins apart; whole, if the book uses it; else cut at names, then at little
 * words, then into the likeliest pieces. */
function pieces(run) {
  const bare = run.replace(LITTLE_ENDS, "") || run;
  if (groups.has(key(bare))) return [bare];
  const sides = bare.split(/[和与跟及]/u); // 分数和权重 is two things, 行和 is one
  if (sides.length > 1 && sides.every((side) => side.length > 1 && isUsual(side))) return sides;
  if (isUsual(bare)) return [bare];
  const name = hanNames.find((known) => bare.includes(known));
  if (name) return bare.split(name).flatMap((rest, i) => [...(i ? [name] : []), ...(rest ? pieces(rest) : [])]);
  if (everything.includes(bare)) return [bare];
  const found = bare.split(LITTLE_OR_AND).flatMap((part) => likeliest(part.slice(0, MOST * LONGEST))).filter(isTelling);
  return found.length ? found : [bare];
}

/** A query's word as words to look up. */
function cut(word) {
  if (!HAN.test(word) || CITED.test(word)) return [word];
  const parts = pieces(word);
  return parts.length > 1 ? parts.filter(isTelling) : parts;
}

/** The words with those made one that the book writes as one: flash attention, soft max. */
function joined(list) {
  const isKnown = (word) => families.has(stem(word));
  const at = list.findIndex((word, i) => i + 1 < list.length && isKnown(word + list[i + 1]) && !(isKnown(word) && isKnown(list[i + 1])));
  return at < 0 ? list : joined([...list.slice(0, at), list[at] + list[at + 1], ...list.slice(at + 2)]);
}

const occurs = ({ pattern }) => everything.search(pattern) >= 0;

/** The word of this view that was probably meant, or undefined. */
function wellSpelled(word) {
  const meant = word.length > 4 && !HAN.test(word) ? vocabulary.filter((known) => isTypo(word, known)) : [];
  return meant.sort((a, b) => often(b) - often(a))[0];
}

// ---------------------------------------------------------------- finding
/** What repeats, tests or corrects what a chapter teaches comes after it, unless the query has a word that asks for it. */
const LATER = [
  [/^assignments/, 0.3, /assignment|homework|作业/],
  [/^solutions/, 0.3, /solution|answer|解答|答案/],
  [/^practice/, 0.3, /practi[cs]e|exercise|quiz|exam|练习|复习|习题|考试|测验/],
  [/^errata/, 0.3, /errat|error|mistake|wrong|勘误|错/],
  [/^api\./, 0.4, /[a-z]{2}_[a-z]{2}|\bapi\b|module|docstring|模块/],
  [/^references|#references$/, 0.6, /reference|paper|\d{4}|文献|论文/],
  [/^instructors/, 0.7, /instruct|teach|student|class|grad|mark|roster|deadline|教|学生|班|评|批改|成绩|名单|期限|交/],
  [/#(?:practice|practice-in-code|fully-worked|half-worked|yours|your-turn.*)$/, 0.6, /practi[cs]e|exercise|练习|习题|动手/],
  [/#(?:recap|what-you-will-do.*|what-is-here)$/, 0.6, /recap|summary|小结|总结/],
  [/^refresher/, 0.7, /refresh|review|defin|复习|预备|定义/],
  [/#going-deeper/, 0.85, /deeper|进一步/],
];

/** How much of a term a section's text holds: with capitals typed, QK^T, it is hardly the same in small letters, qk^T. */
const amountInText = (one, { body, cased }) =>
  one.inCapitals ? 0.75 * amount({ pattern: one.inCapitals }, cased) + 0.25 * amount(one, body) : amount(one, body);

/** How much of a term a text holds: what only begins with the word counts half. */
const amount = ({ pattern }, text) => {
  let sum = 0;
  for (const match of text.matchAll(pattern)) sum += match[1] === undefined ? 0.5 : 1;
  return sum;
};

/** What a title says of a term: 1, or a half if it only begins with the word; and how many letters that takes. */
function inTitle({ pattern, inTitles }, title) {
  let matches = [...title.matchAll(pattern)];
  let isWhole = matches.some((match) => match[1] !== undefined);
  if (!isWhole && inTitles && title.search(inTitles) >= 0) [matches, isWhole] = [[...title.matchAll(inTitles)], true];
  return { says: isWhole ? 1 : matches.length && 0.5, letters: matches.reduce((sum, [match]) => sum + match.length, 0) };
}

/** For each term: how much of it is in each section's titles, in its text, in both and on its page; whether it is in the
 * titles above; and its share of what the query tells: a rare word tells more than one that is everywhere. */
function counted(found) {
  const rows = found.map((one) => {
    const titles = sections.map(({ own }) => own.map((title) => inTitle(one, title)));
    const inTitles = titles.map((said) => Math.max(...said.map(({ says }) => says)));
    const inText = sections.map((section) => amountInText(one, section));
    const onPage = new Map();
    sections.forEach(({ page }, i) => onPage.set(page, (onPage.get(page) ?? 0) + inTitles[i] + inText[i]));
    const isAbove = sections.map(({ above }) => above.search(one.pattern) >= 0);
    const n = inText.filter((amount, i) => amount || inTitles[i]).length;
    return { titles, inTitles, inText, onPage, isAbove, rarity: Math.log(1 + (sections.length - n + 0.5) / (n + 0.5)) };
  });
  const sum = rows.reduce((before, { rarity }) => before + rarity, 0);
  return rows.map((row) => ({ ...row, share: row.rarity / sum }));
}

const mean = (numbers) => numbers.reduce((sum, n) => sum + n, 0) / numbers.length;
const USUAL = mean(sections.map(({ text }) => text.length).filter(Boolean)); // the length of a section
const USUAL_PAGE = mean([...pages.values()].map(({ size }) => size));

/** What n occurrences tell (BM25): each tells less than the one before, and less in a long text. `half`: how many tell
 * half of all in a text of the usual length. */
const bm25 = (n, half, length, usual) => n && n / (n + (half * (1 + length / usual)) / 2);

/** A query that asks what a word means, which the glossary says. */
const DEFINITION = /\b(?:what (?:is|are)|differences?|vs|versus|definition|define|meaning)\b|什么是|是什么|区别|不同|定义|意思|含义/;

const inOrder = (patterns) => new RegExp(patterns.join(NEXT), "u");
const hasAny = (pattern, { own, body }) => pattern.test(body) || own.some((title) => pattern.test(title));

/** How much of the query a title is that says nothing else, or 0. */
function named(title, said) {
  const letters = said.reduce((sum, one) => sum + one.letters, 0);
  return letters > 0.95 * title.replace(/[^\p{L}\p{N}]/gu, "").length ? said.reduce((sum, { share, says }) => sum + share * says, 0) : 0;
}

/** Points for a section, about 3 at most for what it says and where. A title is as good as any number of occurrences
 * in the text, and its page vouches for a section. */
function points(section, i, rows, phrase) {
  let sum = 0;
  for (const { inTitles: { [i]: title }, inText: { [i]: n }, onPage, share } of rows) {
    sum += share * Math.max(title, bm25(n, 4, section.body.length, USUAL));
    sum += share * 1.2 * bm25(onPage.get(section.page), 20, pages.get(section.page).size, USUAL_PAGE);
  }
  const exact = Math.max(...section.own.map((title, t) => named(title, rows.map(({ titles, share }) => ({ share, ...titles[i][t] })))));
  return { exact, sum: sum + 0.5 * exact + (phrase && hasAny(phrase, section) ? 0.4 : 0) };
}

/** {hits, full}: the sections, best first, and how many of them hold all the terms. Where hardly any does, or a word of
 * the query is lost, those that hold some compete with them. */
function find(found, asked, isLost) {
  const rows = counted(found);
  const phrase = found.length > 1 && inOrder(found.map(({ pattern }) => `(?:${pattern.source})`));
  const query = asked.join(" ");
  const isDefinition = DEFINITION.test(query);
  const scored = [];
  sections.forEach((section, i) => {
    const holds = rows.map(({ inTitles, inText, isAbove }) => inTitles[i] || inText[i] || isAbove[i]);
    if (!rows.some(({ inTitles, inText }) => inTitles[i] || inText[i])) return;
    let { exact, sum } = points(section, i, rows, phrase);
    if (section.page === "glossary.html" && exact < 0.9 && !isDefinition) sum *= 0.65; // an entry is for who asks for its term
    for (const [where, factor, asks] of LATER) if (where.test(section.href) && !asks.test(query)) sum *= factor;
    scored.push({ section, sum, all: holds.every(Boolean) });
  });
  const full = scored.filter(({ all }) => all);
  const list = full.length >= RARE && !isLost ? full : scored;
  return { full: full.length, hits: list.sort((a, b) => b.sum - a.sum).map(({ section }) => section) };
}

/** {hits, terms, full, how}: sections with all words; with the known ones instead of some; few with all, more with some;
 * only with some; none; or nothing was asked. */
function search(query) {
  const typed = words(query.slice(0, 200)).slice(0, 40);
  const asked = typed.map((word) => word.toLowerCase());
  if (!asked.length) return { hits: [], terms: [], how: "nothing" };
  const telling = asked.filter((word) => !LITTLE.has(word) && !ONLY_LITTLE.test(word));
  const isName = groups.has(key(asked.join(" "))); // as a title that is all little words
  const list = joined([...new Set(isName || !telling.length ? asked : telling)]).slice(0, MOST);
  const parts = list.flatMap(cut).slice(0, MOST);
  const wanted = terms(parts).map((one) => {
    const meant = occurs(one) ? undefined : wellSpelled(one.word);
    if (meant) return { ...term(meant), isMeant: true };
    const cased = typed.find((word) => word.toLowerCase() === one.word && /[A-Z]/.test(word) && !/^[A-Z][a-z]+$/.test(word));
    return cased ? { ...one, inCapitals: symbol(cased).pattern } : one;
  });
  const found = wanted.filter((one, i) => occurs(one) && wanted.findIndex(({ pattern }) => pattern.source === one.pattern.source) === i);
  if (!found.length) return { hits: [], terms: [], how: "none" };
  const isLost = !wanted.every(occurs);
  const { hits, full } = find(found, asked, isLost);
  const isChanged = parts.join() !== list.join() || wanted.some(({ isMeant }) => isMeant);
  return { hits, terms: found, full, how: isLost || !full ? "some" : full < hits.length ? "few" : isChanged ? "known" : "all" };
}
