import { button, cell, choice, committer, fixed, html, inSight, live, messages, numberTable, picture, say, sentence, set, share, short, slider, svg, view, words, write } from "./core.js";

const STATE = ["model", "sentence", "head", "word", "_begun"];
const WIDTH = 346, LEFT = 88, TOP = 18, SIDE = WIDTH - LEFT - 2; // of the matrix
export const MODELS = { // the names, the bits of each parameter where they are few, what has to be known
  minilm: ["all-MiniLM-L6-v2", 0, "编码器：每个词元都看得到整句话。只读英语。", "Encoder: every token sees the whole sentence. Reads English only."],
  smollm: ["SmolLM2-135M-Instruct", 4, "解码器：词元只看得到自己和前面的。这里的参数只有 4 比特，数与原模型的不同。只读英语。",
    "Decoder: a token sees itself and earlier ones only. Its parameters have 4 bits here: numbers differ from the original’s. Reads English only."],
  e5: ["multilingual-e5-small", 4, "编码器：每个词元都看得到整句话。这里的参数只有 4 比特，数与原模型的不同。读约一百种语言。",
    "Encoder: every token sees the whole sentence. Its parameters have 4 bits here: numbers differ from the original’s. Reads about a hundred languages."],
};
const JOBS = { // what a head was chosen for
  previous: ["前一个词元", "previous token"], next: ["后一个词元", "next token"], itself: ["自己", "itself"],
  first: ["第一个词元（注意力汇）", "first token (sink)"], last: ["最后一个词元", "last token"], punctuation: ["标点", "punctuation"],
  "determiner → noun": ["限定词 → 名词", "determiner → noun"], "subject → verb": ["主语 → 动词", "subject → verb"],
  "verb → subject": ["动词 → 主语", "verb → subject"], "verb → object": ["动词 → 宾语", "verb → object"],
  "object → verb": ["宾语 → 动词", "object → verb"], induction: ["归纳", "induction"],
};
export const KINDS = Object.keys(JOBS).slice(0, 6);

// ---------------------------------------------------------------- what is counted, in head_explorer.py too
/** The weights of all heads of a text in units of 1/255: for each a list of n rows. */
export function decode({ A, tokens: { length: n } }) {
  const bytes = Uint8Array.from(atob(A), (letter) => letter.charCodeAt(0));
  return Array.from({ length: bytes.length / n ** 2 }, (_, k) =>
    Array.from({ length: n }, (_, i) => bytes.subarray(n * (n * k + i), n * (n * k + i + 1))));
}

/** A weight that is known to 0.002, with two decimals; close to an end, it may be there or not. */
export const rounded = (a) => cell(Math.min(0.999, Math.max(0.001, a)));

const isSign = (token) => /^[Ġ▁]*\p{P}[Ġ▁]*$/u.test(token);

/** The places of the words and signs: all tokens but those without a word, in a causal model all but the first. */
const wordsOf = ({ tokens: { length: n }, causal }) => Array.from({ length: n - (causal ? 1 : 2) }, (_, i) => i + 1);

/** The mean of the weights, given in units of 1/255, at some places [i, j] of a head, for so many queries. */
const mean = (A, places, count) => places.reduce((sum, [i, j]) => sum + A[i][j], 0) / count / 255;

/** The mean weight on each of KINDS, over the words and signs that could give it. */
export function shares(text, A) {
  const { tokens, causal } = text, queries = wordsOf(text), end = queries.length;
  const signs = tokens.flatMap((token, j) => (isSign(token) ? [j] : []));
  const late = queries.filter((i) => i > 3 || !causal);
  const at = (some, target) => mean(A, some.map((i) => [i, target(i)]), some.length);
  return [
    at(queries.slice(1), (i) => i - 1), at(queries.slice(0, end - 1), (i) => i + 1), at(queries, (i) => i), at(late, () => 0),
    causal ? 0 : at(queries, () => tokens.length - 1), mean(A, queries.flatMap((i) => signs.map((j) => [i, j])), end),
  ];
}

/** The distance at which the mean weight is largest, among those that half of the words and signs have, and this mean. */
export function peak(text, A) {
  const queries = wordsOf(text), n = queries.length, found = [];
  for (let far = 1 - n; far < n; far++) {
    const from = queries.filter((i) => i + far >= 1 && i + far <= n);
    if (2 * from.length >= n) found.push({ far, mean: mean(A, from.map((i) => [i, i + far]), from.length) });
  }
  return found.reduce((best, each) => (each.mean > best.mean ? each : best));
}

/** The text of a state, or none while its traits are on their way. */
const textOf = (texts, { model, sentence, head, word }) => {
  const text = texts.find((each) => each.model === model && each.name === sentence);
  return text && text.heads.some((each) => String(each) === String(head)) && word < text.tokens.length ? text : undefined;
};

/** The state after a change: another text keeps the head if it has it, and the word if it is as long. */
export function follow(texts, before, change) {
  const wanted = { ...before, ...change }, has = ({ heads }) => heads.some((each) => String(each) === String(wanted.head));
  const ofModel = texts.filter(({ model }) => model === wanted.model), old = textOf(texts, before);
  const text = ofModel.find(({ name }) => name === wanted.sentence) ?? ofModel[0];
  const head = has(text) ? wanted.head : text.heads[0], stays = text.tokens.length === old.tokens.length;
  return { model: wanted.model, sentence: text.name, head, word: stays ? wanted.word : text.word };
}

/** All that is said of a word and its head. */
export function results(text, A, i) {
  const row = [...A[i]], j = row.indexOf(Math.max(...row)), found = shares(text, A);
  return { token: text.tokens[i], i, target: text.tokens[j], j, a: row[j] / 255, first: text.tokens[0], ...peak(text, A), shares: found };
}

const signed = (far) => (far > 0 ? `+${far}` : fixed(far, 0));

/** It in words: where the word looks, and what the head does on average. */
export function verdict({ token, i, target, j, a, first, far, mean: most, shares: [, , , sink] }) {
  return [`“${token}”看得最多的是“${target}”（距离 ${signed(j - i)}）：${rounded(a)}。平均来看，这个头看得最多的距离是 ${signed(far)}：${rounded(most)}；第一个词元“${first}”得到 ${rounded(sink)}。`,
    `“${token}” looks most at “${target}” (distance ${signed(j - i)}): ${rounded(a)}. On average this head looks most at distance ${signed(far)}: ${rounded(most)}; the first token, “${first}”, gets ${rounded(sink)}.`];
}

/** The longest that the verdict may come to in each text. */
const verdicts = (texts) => texts.map(({ tokens }) => {
  const longest = tokens.reduce((one, other) => (other.length > one.length ? other : one));
  return verdict({ token: longest, i: 11, target: longest, j: 0, a: 0.5, first: tokens[0], far: -11, mean: 0.5, shares: [0, 0, 0, 0.5] });
});

// ---------------------------------------------------------------- the word and where it looks
const tongue = { en: "en", zh: "zh-Hans" };

/** The tokens as buttons; pick(i) chooses one, by a click or the arrows; hover(i) is only passing, null when it is gone. */
function queries(hover, pick) {
  const group = html("div", { className: "attn-tokens" });
  set(group, { role: "radiogroup", "aria-label": say("查询的词元", "token of the query") });
  let buttons = [], at; // the one that is chosen, which Tab reaches
  const go = (i) => {
    pick(i);
    buttons[i].focus();
    group.dispatchEvent(new Event("change", { bubbles: true }));
  };
  group.addEventListener("keydown", (event) => {
    const last = buttons.length - 1;
    const to = { ArrowUp: at - 1, ArrowLeft: at - 1, ArrowDown: at + 1, ArrowRight: at + 1, Home: 0, End: last }[event.key];
    if (to === undefined || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    go(Math.min(last, Math.max(0, to)));
  });
  group.addEventListener("pointerleave", () => hover(null));
  const build = ({ tokens, language }) => {
    buttons = tokens.map((token, i) => {
      const node = html("button", { type: "button", lang: tongue[language], textContent: `${i} ${token}`, onclick: () => pick(i) });
      node.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && hover(i));
      node.dataset.lmSuppressShortcuts = "true";
      set(node, { role: "radio", "aria-checked": "false", tabindex: -1 });
      return node;
    });
    at = undefined;
    group.replaceChildren(...buttons);
  };
  const show = (i) => {
    if (i === at) return;
    if (at !== undefined) set(buttons[at], { "aria-checked": "false", tabindex: -1 });
    set(buttons[i], { "aria-checked": "true", tabindex: 0 });
    at = i;
  };
  return { group, build, show };
}

/** The keys with the weights that a word gives them, and lines to them, the wider the larger. */
function keys() {
  const { node: lines, describe } = picture(100, 1, "从查询到键的线", "lines from the query to the keys"), group = svg("g");
  const body = html("tbody"), table = html("table", {}, body);
  set(lines, { class: "attn-lines", preserveAspectRatio: "none" });
  lines.append(group);
  let rows = [];
  const build = ({ tokens, language }) => {
    rows = tokens.map((token, j) => {
      const line = svg("line", { x1: 0, x2: 100, y2: j + 0.5, class: "attn-line-a" }), number = html("td");
      const name = html("th", { scope: "row", lang: tongue[language], textContent: `${j} ${token}`, title: token });
      return { line, number, node: html("tr", {}, name, number) };
    });
    set(lines, { viewBox: `0 0 100 ${tokens.length}` });
    group.replaceChildren(...rows.map(({ line }) => line));
    body.replaceChildren(...rows.map(({ node }) => node));
  };
  const show = ({ tokens, causal }, row, i) => {
    const most = Math.max(...row);
    describe(() => tokens.map((token, j) => `${token} ${rounded(row[j] / 255)}`).slice(0, causal ? i + 1 : undefined).join(", "));
    set(table, { "aria-label": say(`“${tokens[i]}”给每个词元的权重`, `weights that “${tokens[i]}” gives to each token`) });
    rows.forEach(({ line, number }, j) => {
      const hidden = causal && j > i;
      write(number, hidden ? "—" : rounded(row[j] / 255));
      set(number, { class: row[j] === most ? "attn-strong" : "" });
      set(line, { y1: i + 0.5, "stroke-width": row[j] < 2 ? 0 : (1 + (9 * row[j]) / 255).toFixed(2) });
    });
  };
  return { lines, table, build, show };
}

/** Words, lines and keys side by side, under their names. */
function looking(hover, pick) {
  const from = queries(hover, pick), to = keys();
  const query = words("span", "查询", "query", "q", "q"), both = [words("span", "键", "key", "k", "k"), words("span", "权重", "weight", "a", "a")];
  const node = html("div", { className: "attn-look" }, html("div", {}, query), html("div", {}, ...both), from.group, to.lines, to.table);
  return { node, build: (text) => (from.build(text), to.build(text)), show(text, A, i, chosen) {
    from.show(chosen);
    to.show(text, A[i], i);
  } };
}

// ---------------------------------------------------------------- the whole matrix
const OPACITIES = Array.from({ length: 256 }, (_, a) => (a / 255).toFixed(3)); // of all weights that 8 bits can hold

/** All weights of the head, a row for each query, the row of the word framed. */
function matrix(hover, pick) {
  const made = picture(WIDTH, TOP + SIDE + 2, "整个矩阵，一行一个查询", "the whole matrix, a row for each query", "A", "a"), { node } = made;
  const grid = svg("g", { class: "attn-picked" }), ring = svg("rect", { class: "attn-frame attn-line-q", x: LEFT - 1, width: SIDE + 2 });
  node.append(grid, ring);
  node.addEventListener("pointerleave", () => hover(null));
  let cells = [], step;
  const build = ({ tokens, causal, language }) => {
    step = SIDE / tokens.length;
    const label = (x, y, anchor, text) => svg("text", { x, y, "text-anchor": anchor, class: "attn-tick" }, text);
    const rows = tokens.map((token, i) => {
      const y = TOP + step * i, row = svg("g"), name = label(LEFT - 6, y + step / 2 + 4, "end", short(`${i} ${token}`, 11));
      set(name, { lang: tongue[language] });
      const boxes = tokens.slice(0, causal ? i + 1 : undefined).map((_, j) =>
        ({ node: svg("rect", { x: LEFT + step * j + 0.5, y: y + 0.5, width: step - 1, height: step - 1, class: "attn-cell attn-a" }) }));
      row.append(svg("rect", { x: 0, y, width: WIDTH, height: step, fill: "transparent" }), name, ...boxes.map(({ node }) => node));
      row.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && hover(i));
      row.addEventListener("click", () => (pick(i), row.dispatchEvent(new Event("change", { bubbles: true }))));
      return { row, boxes };
    });
    const numbers = tokens.flatMap((_, j) => (j % 2 ? [] : [label(LEFT + step * (j + 0.5), TOP - 5, "middle", j)]));
    cells = rows.map(({ boxes }) => boxes);
    grid.replaceChildren(...numbers, ...rows.map(({ row }) => row));
  };
  const show = inSight(made.figure, ({ tokens }, A, i) => {
    cells.forEach((boxes, k) => boxes.forEach((box, j) => {
      const a = A[k][j];
      if (box.shown !== a) box.node.style.fillOpacity = OPACITIES[(box.shown = a)];
    }));
    set(ring, { y: TOP + step * i - 1, height: step + 2 });
    made.describe(() => A.map((row, k) => {
      const j = row.indexOf(Math.max(...row));
      return `${k} ${tokens[k]} → ${j} ${tokens[j]} ${rounded(row[j] / 255)}`;
    }).join("; "));
  });
  return { ...made, build, show };
}

/** What the head gives on average: here, in ten other sentences, and what all heads of the model give there. */
function averages() {
  const { node, show } = numberTable(["平均权重", "mean weight on"], [["这一句", "here"], ["另外十句", "ten others"], ["所有头", "all heads"]],
    KINDS.map((kind) => words("th", ...JOBS[kind])));
  node.className = "attn-averages";
  const possible = ({ causal }, k) => !causal || !["next", "last"].includes(KINDS[k]);
  return { node, show: (text, found, head) => show(found.map((here, k) => (possible(text, k)
    ? [rounded(here), share(text.held[head][k]), share(text.mean[k])] : ["—", "—", "—"]))) };
}

const NOTE = ["词元按分词器切出的样子写，从 0 数起；“Ġ”和“▁”表示前面有空格。距离 = 键的位置 − 查询的位置。线越粗，权重越大；“—”：被因果掩码挡住。只差一个词的两句（tired 与 wide，累与宽）互为对照。头后面的词说明当初为什么选它：同一个模型里，它在这件事上最突出；这不等于它做得好，也不等于它只做这件事。平均时，查询只算词和标点。“另外十句”没有用来选头；“所有头”是这个模型的全部头在那十句上的平均。权重按 8 比特存储，所以只写两位小数。",
  "Tokens are written as the tokenizer cut them and counted from 0; “Ġ” and “▁” stand for a space before. Distance = position of the key − position of the query. The wider the line, the larger the weight; “—”: hidden by the causal mask. The two sentences that differ in one word (tired and wide, or their twins in Chinese) are a control. What stands beside a head is why it was chosen: within its model it does this most, which does not mean that it does it well, or that it does nothing else. In averages, queries are words and punctuation only. The “ten others” were not used to choose heads; “all heads” is the mean over all heads of the model on these ten. Weights are stored in 8 bits, hence two decimals."];

// ---------------------------------------------------------------- the whole
/** Lists of models, sentences and chosen heads, and a slider through all heads; go(change) is told of a choice. */
function controls(texts, go) {
  const options = Object.entries(MODELS).map(([key, [name, bits]]) => [key, bits ? `${name} (${say(`${bits} 比特`, `${bits}-bit`)})` : name]);
  const model = choice(words("label", "模型", "Model"), options, (key) => go({ model: key }));
  const text = choice(words("label", "句子", "Sentence"), [], (name) => go({ sentence: name }));
  const head = choice(words("label", "选出的头", "Chosen head"), [], (k) => go({ head: now.heads[k] }));
  const all = slider(words("label", "这里所有的头（层，头）", "All heads here (layer, head)"), { min: 0, max: 0, step: 1 }, (place) => go({ head: now.heads[order[place]] }));
  const input = all.row.querySelector("input");
  let now, order, other; // the text, its heads by layers, the first that was chosen for nothing
  const named = (k) => [`(${now.heads[k].join(", ")})`, ...now.jobs[k].map((job) => say(...JOBS[job]))].join(" · ");
  const build = (shown) => {
    now = shown;
    order = now.heads.map((_, k) => k).sort((a, b) => now.heads[a][0] - now.heads[b][0] || now.heads[a][1] - now.heads[b][1]);
    other = now.jobs.findIndex((jobs) => !jobs.length);
    text.fill(texts.filter((each) => each.model === now.model).map((each) => [each.name, each.sentence, tongue[each.language]]));
    head.fill(now.jobs.flatMap((jobs, k) => (jobs.length ? [[k, named(k)]] : k === other ? [[k, say("其余的头", "another head")]] : [])));
    Object.assign(input, { max: order.length - 1, disabled: order.length < 2 });
  };
  const show = (k) => {
    model.show(now.model);
    text.show(now.name);
    head.show(now.jobs[k].length ? k : other);
    all.show(order.indexOf(k), `(${now.heads[k].join(", ")})`, named(k));
  };
  return { rows: [model.row, text.row, head.row], sweep: all.row, build, show };
}

function render({ model, el }) {
  const texts = model.get("_texts"), starts = model.get("_starts"), said = messages(), commit = committer(model);
  const traits = () => Object.fromEntries(STATE.map((name) => [name, model.get(name)]));
  const now = () => (traits()._begun ? traits() : view() === "zh" ? { ...traits(), ...starts.zh } : traits());
  const go = (change) => commit({ ...follow(texts, now(), change), _begun: true });
  const reset = button("重置", "Reset", () => commit({ ...starts.en, _begun: false }));
  const bar = (...nodes) => html("div", { className: "attn-bar" }, ...nodes);
  const hover = (i) => i !== over && ((over = i), draw());
  const pick = (i) => ((over = null), go({ word: i }));
  const moved = controls(texts, go), look = looking(hover, pick), all = matrix(hover, pick), table = averages();
  const about = sentence(Object.values(MODELS).map(([, , ...both]) => both)), outcome = sentence(verdicts(texts));
  const [first, ...others] = moved.rows, note = Object.assign(words("p", ...NOTE), { className: "attn-note" });
  const right = html("div", { className: "attn-column" }, all.figure, table.node);
  const root = html("div", { className: "attn-widget attn-head-explorer" }, bar(first, reset), ...others.map((row) => bar(row)),
    html("div", { className: "attn-switches" }, moved.sweep), bar(about.node),
    outcome.node, html("div", { className: "attn-panes" }, look.node, right), note, said.told);
  const heads = new Map(); // of texts, decoded
  let over = null, shown; // the word that the mouse is over; the text that was built

  function found() {
    const state = now(), text = textOf(texts, state);
    if (!text) return null; // on its way
    if (!heads.has(text)) heads.set(text, decode(text));
    const k = text.heads.findIndex((each) => String(each) === String(state.head));
    return { state, text, k, A: heads.get(text)[k] };
  }

  function draw() {
    const seen = found();
    if (!seen) return;
    const { state, text, k, A } = seen;
    if (text !== shown) {
      [shown, over] = [text, null];
      for (const part of [moved, look, all]) part.build(text);
    }
    const i = over ?? state.word, said = results(text, A, i);
    moved.show(k);
    about.show(...MODELS[state.model].slice(2));
    look.show(text, A, i, state.word);
    all.show(text, A, i);
    table.show(text, said.shares, k);
    outcome.show(...verdict(said));
  }

  const announce = () => {
    const { state, text, A } = found();
    said.tell(say(...verdict(results(text, A, state.word))));
  };
  return live({ model, el }, root, STATE, draw, announce);
}

export default { render };
