import { attend, button, cells, committer, differs, distance, dot, fixed, hatches, html, inSight, live, messages, picture, say, sentence, share, slider, toggle, words, write } from "./core.js";

const STATE = ["causal", "n_real", "offset", "mask", "changed"];
const HIGH = 34, TOP = 26, LEFT = 46, WIDTH = 346; // of a picture and its rows
export const CHANGE = 1; // what another last token adds to its key and to its value

/** attention_mechanism.causal_mask: query i sees the keys j ≤ i + offset. */
export const causalMask = (n_q, n_k, offset) =>
  Array.from({ length: n_q }, (_, i) => Array.from({ length: n_k }, (_, j) => j <= i + offset));

/** The mask that the switches set: (n − offset, n), true = may attend. */
export function maskByRule({ causal, n_real, offset }, n) {
  const rows = causal ? causalMask(n - offset, n, offset) : Array.from({ length: n - offset }, () => Array(n).fill(true));
  return rows.map((row) => row.map((keep, j) => keep && j < n_real));
}

/** Q (n_q, d_k), K (n, d_k), V (n, d_v), mask -> rows of scaled scores (−∞ where blocked), weights a and output z; a row
    that may attend to nothing has weights and output 0. */
export function maskedAttention(Q, K, V, mask) {
  return Q.map((q, i) => {
    const scores = K.map((k, j) => (mask[i][j] ? dot(q, k) : -Infinity));
    if (mask[i].some(Boolean)) return attend(scores, V, q.length);
    return { seen: scores, a: scores.map(() => 0), z: V[0].map(() => 0) };
  });
}

/** The matrix with another last row, for the last token. */
export const withOtherLast = (rows) => [...rows.slice(0, -1), rows.at(-1).map((x) => x + CHANGE)];

/** For each row of the mask, the positions later than its own that it may attend to. */
export const laterSeen = (mask, offset) =>
  mask.map((row, i) => row.flatMap((keep, j) => (keep && j > i + offset ? [j] : [])));

/** What is shown: the attention of the present tokens, and how far another last token moves each output. */
export function results({ Q, K, V }, { mask, offset, changed }) {
  const queries = Q.slice(offset), later = laterSeen(mask, offset), before = maskedAttention(queries, K, V, mask);
  const other = () => maskedAttention(queries, withOtherLast(K), withOtherLast(V), mask);
  const moves = (after) => before.map(({ z }, i) => distance(z, after[i].z));
  if (!changed) return { rows: before, later, get moved() { return moves(other()); } }; // not shown, so seldom asked for
  const rows = other();
  return { rows, later, moved: moves(rows) };
}

/** The names of the rows that pass a test, in both languages. */
function rowsThat(test, rows, queries) {
  const names = queries.filter((_, i) => test(rows[i]));
  return { n: names.length, zh: `第 ${names.join("、")} 行`, en: `${names.length > 1 ? "rows" : "row"} ${names.join(", ")}` };
}

/** Where the mask comes from. */
function origin(state, n) {
  const rule = maskByRule(state, n), painted = state.mask.flatMap((row, i) => row.filter((keep, j) => keep !== rule[i][j])).length;
  const parts = [[state.causal, "因果掩码", "causal"], [state.n_real < n, "填充掩码", "padding"], [painted, `手工涂了 ${painted} 格`, `${painted} painted by hand`]];
  const [zh, en] = [1, 2].map((lang) => parts.filter(([on]) => on).map((part) => part[lang]).join(" + "));
  return [`掩码：${zh || "无"}。`, `Mask: ${en || "none"}.`];
}

/** What the mask is and does, in both languages; rows bear the names of their tokens. */
export function verdict(state, found, tokens) {
  const { later } = found, queries = tokens.slice(state.offset), Row = ({ en }) => `R${en.slice(1)}`;
  const leaking = rowsThat((seen) => seen.length, later, queries), went = state.changed && rowsThat((far) => far > 0, found.moved, queries);
  const empty = rowsThat((row) => !row.some(Boolean), state.mask, queries);
  const said = [origin(state, tokens.length)];
  const seen = leaking.n === 1 ? later.flat().map((j) => tokens[j]) : [];
  if (!leaking.n) said.push(["没有一行能看到后来的词元。", "No row can see a later token."]);
  else if (seen.length) said.push([`${leaking.zh}能看到词元 ${seen.join("、")}。`, `${Row(leaking)} can see ${seen.length > 1 ? "tokens" : "token"} ${seen.join(", ")}.`]);
  else said.push([`${leaking.zh}能看到后来的词元。`, `${Row(leaking)} can see later tokens.`]);
  if (empty.n) said.push([`${empty.zh}全屏蔽：权重和输出都是 0（本课程的规定）。`,
    `${Row(empty)} ${empty.n > 1 ? "are" : "is"} fully masked: weights and output 0 (by our convention).`]);
  if (state.changed) said.push([`改动最后一个词元，${went.n ? went.zh : "没有一行"}的输出移动。`,
    `Changing the last token moved ${went.n ? `the output of ${went.en}` : "no output"}.`]);
  return [said.map(([zh]) => zh).join(""), said.map(([, en]) => en).join(" ")];
}

/** What the verdict may come to: the first rows see everything, the others nothing, or the first row alone looks ahead. */
function verdicts(start) {
  const { tokens } = start, n = tokens.length, whole = (keep) => Array(n).fill(keep);
  const masks = [...tokens, ""].map((_, k) => tokens.map((_, i) => whole(i < k)));
  masks.push([whole(true), ...causalMask(n, n, 0).slice(1, -1), whole(false)].slice(-n));
  return masks.map((mask) => {
    const state = { causal: true, n_real: n - 1, offset: 0, changed: true, mask };
    return verdict(state, results(start, state), tokens);
  });
}

// ---------------------------------------------------------------- the mask
/** The mask as buttons, pressed = may attend; arrows move, space toggles. toggleCell(p, j) gets the positions of query and key. */
function grid(tokens, toggleCell) {
  const buttons = tokens.map((query, p) => tokens.map((key, j) => {
    const node = html("button", { type: "button", tabIndex: -1, onclick: () => toggleCell(p, j), onfocus: () => enter(p, j) });
    node.dataset.lmSuppressShortcuts = "true";
    node.ariaLabel = say(`查询 ${query} 可以看键 ${key}`, `query ${query} may attend to key ${key}`);
    if (p === j) node.className = "attn-own";
    return { node, isNew: differs() };
  }));
  const rows = buttons.map((row, p) => html("tr", {}, html("th", { scope: "row", textContent: tokens[p], title: tokens[p] }), ...row.map(({ node }) => html("td", {}, node))));
  const head = html("tr", {}, html("td"), ...tokens.map((key) => html("th", { scope: "col", textContent: key, title: key })));
  const table = html("table", { className: "attn-mask" }, html("thead", {}, head), html("tbody", {}, ...rows));
  const isNewFirst = differs();
  let at = [0, 0], first = 0; // the one button that Tab reaches; the first row that has a query

  function enter(p, j) {
    buttons[at[0]][at[1]].node.tabIndex = -1;
    buttons[p][j].node.tabIndex = 0;
    at = [p, j];
  }
  table.addEventListener("keydown", (event) => {
    const way = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!way || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const within = (x, least) => Math.min(tokens.length - 1, Math.max(least, x));
    buttons[within(at[0] + way[0], first)][within(at[1] + way[1], 0)].node.focus();
  });
  enter(0, 0);
  return { table, show({ mask, offset }, rule) {
    first = offset;
    if (isNewFirst(first)) rows.forEach((row, p) => (row.style.visibility = p < first ? "hidden" : ""));
    if (at[0] < first) enter(first, at[1]);
    mask.forEach((row, i) => row.forEach((keep, j) => {
      const { node, isNew } = buttons[i + offset][j], painted = keep !== rule[i][j];
      if (!isNew(`${keep} ${painted}`)) return;
      node.ariaPressed = String(keep);
      node.classList.toggle("attn-painted", painted);
    }));
  } };
}

// ---------------------------------------------------------------- pictures and table
/** A number of at most seven characters. */
const brief = (x) => (x === -Infinity ? "−∞" : fixed(x, Math.abs(x) < 10 ? 4 : 2));

/** A matrix with a row for each query; draw(rows, offset, shade, blocked) fills it, hatched where blocked(i, j). */
function matrix(tokens, columns, title, role, text = brief) {
  const { figure, node, describe } = picture(WIDTH, TOP + HIGH * tokens.length + 2, ...title);
  const [, hatched] = hatches(node, 2, "plain"), wide = (WIDTH - LEFT) / Math.max(tokens.length, 5);
  const rows = cells(node, tokens.map((name) => name.slice(0, 5)), columns, { left: LEFT, top: TOP, wide, high: HIGH, role });
  const isNew = differs();
  const draw = (given, offset, shade, blocked = () => false) => {
    if (isNew(offset)) rows.forEach(({ group }, p) => (group.style.visibility = p < offset ? "hidden" : ""));
    given.forEach((row, i) => row.forEach((x, j) =>
      rows[i + offset].set(j, shade(x, i), blocked(i, j) && x !== -Infinity ? "0" : text(x), blocked(i, j) ? hatched : "")));
    describe(() => given.map((row, i) => `${tokens[i + offset]}: ${row.map(text).join(", ")}`).join("; "));
  };
  return { figure, draw: inSight(figure, draw) };
}

const HEADS = [["行", "row"], ["能看到的后来词元", "later tokens it can see"], ["输出移动", "output moved"]];

/** For each query, what leaks into it, and how far another last token moves its output, if that is shown. */
function leakTable(tokens) {
  const lines = tokens.map((token) => {
    const texts = [html("td"), html("td")];
    return { node: html("tr", {}, html("th", { scope: "row", textContent: token }), ...texts), texts, isNew: differs() };
  });
  const head = HEADS.map((texts) => Object.assign(words("th", ...texts), { scope: "col" }));
  const node = html("table", { className: "attn-leaks" }, html("thead", {}, html("tr", {}, ...head)), html("tbody", {}, ...lines.map((line) => line.node)));
  const show = ({ mask, offset }, later, moved) => lines.forEach(({ texts, isNew }, p) => {
    const i = p - offset, seen = later[i]?.map((j) => tokens[j]).join(", ");
    const content = i < 0 ? [say("在缓存里", "in the cache"), ""]
      : [mask[i].some(Boolean) ? seen || say("无", "none") : say("全屏蔽", "fully masked"), moved ? fixed(moved[i]) : "—"];
    texts.forEach((cell, k) => write(cell, content[k]));
    const strong = moved && moved[i] > 0;
    if (isNew(strong)) texts[1].classList.toggle("attn-strong", strong);
  });
  return { node, show: inSight(node, show) };
}

const NOTE = ["1 = 可以看，0 = 屏蔽（分数变成 −∞，斜线格）。粗框：查询自己的位置。角标：手工涂改。动因果掩码开关或任何一个滑块，整张掩码都重设。",
  "1 = may attend, 0 = blocked (the score becomes −∞, hatched). Bold frame: the query’s own position. Corner: painted by hand. The causal switch and the sliders set the whole mask anew."];

// ---------------------------------------------------------------- the whole
/** The switches, sliders and buttons; show(state) moves them. */
function controls(commit, now, start, n) {
  const set = (change) => commit({ ...change, mask: maskByRule({ ...now(), ...change }, n) });
  const { causal, n_real, offset } = start;
  const none = { causal: false, n_real: n };
  const isCausal = toggle(words("label", "因果掩码", "causal mask", "(j ≤ i + offset)"), (on) => set({ causal: on }));
  const real = slider(words("label", "真实的键", "real keys"), { min: 0, max: n, step: 1 }, (x) => set({ n_real: x }));
  const cached = slider(words("label", "缓存里更早的键", "earlier keys in a cache", "(offset)"), { min: 0, max: n - 1, step: 1 }, (x) => set({ offset: x }));
  const isChanged = toggle(words("label", "改动最后一个词元", "change the last token", "(k, v + 1)"), (on) => commit({ changed: on }));
  const clear = button("清除掩码", "Clear mask", () => set(none));
  const reset = button("重置", "Reset", () => set({ causal, n_real, offset, changed: false }));
  const bar = (...nodes) => html("div", { className: "attn-bar" }, ...nodes);
  const node = html("fieldset", { className: "attn-switches" }, words("legend", "掩码的开关", "settings of the mask"), isCausal.row, real.row, cached.row,
    isChanged.row, bar(clear, reset));
  const show = (state) => {
    isCausal.show(state.causal);
    real.show(state.n_real, `${state.n_real} / ${n}`);
    cached.show(state.offset, String(state.offset), `${state.offset}, n_q = ${n - state.offset}, n_k = ${n}`);
    isChanged.show(state.changed);
  };
  return { node, show };
}

function render({ model, el }) {
  const start = model.get("_start"), { tokens, V } = start, n = tokens.length, said = messages();
  const now = () => Object.fromEntries(STATE.map((name) => [name, model.get(name)])), commit = committer(model);
  const fixtures = controls(commit, now, start, n);
  const painted = grid(tokens, (p, j) => {
    const { mask, offset } = now();
    commit({ mask: mask.map((row, i) => (i + offset === p ? row.map((keep, k) => (k === j ? !keep : keep)) : row)) });
  });
  const scores = matrix(tokens, tokens, ["缩放分数", "scaled scores", "S̃ + M"], "plain");
  const weights = matrix(tokens, tokens, ["注意力权重", "attention weights", "A", "a"], "a", share);
  const output = matrix(tokens, V[0].map((_, c) => `z[${c}]`), ["输出", "output", "Z = A V", "z"], "z");
  const leaks = leakTable(tokens), outcome = sentence(verdicts(start));
  const caption = words("figcaption", "掩码", "mask", "B");
  const mask = html("figure", {}, caption, painted.table);
  const panes = (...nodes) => html("div", { className: "attn-panes" }, ...nodes);
  const note = Object.assign(words("p", ...NOTE), { className: "attn-note" });
  const root = html("div", { className: "attn-widget attn-mask-painter" }, panes(mask, fixtures.node), outcome.node,
    panes(scores.figure, weights.figure, output.figure, leaks.node), note, said.told);

  function draw() {
    const state = now(), rule = maskByRule(state, n);
    if (state.mask.length !== rule.length) return; // it is on its way
    const { offset } = state, found = results(start, state), { rows, later } = found, moved = state.changed && found.moved, blocked = (i, j) => !state.mask[i][j];
    fixtures.show(state);
    painted.show(state, rule);
    scores.draw(rows.map(({ seen }) => seen), offset, () => 0, blocked);
    weights.draw(rows.map(({ a }) => a), offset, (a) => a, blocked);
    output.draw(rows.map(({ z }) => z), offset, (z, i) => (moved && moved[i] > 0 ? 1 : 0));
    leaks.show(state, later, moved);
    outcome.show(...verdict(state, found, tokens));
  }

  const announce = () => said.tell(say(...verdict(now(), results(start, now()), tokens)));
  return live({ model, el }, root, STATE, draw, announce);
}

export default { render };
