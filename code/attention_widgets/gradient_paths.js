import { attend, button, choice, committer, dot, fixed, html, live, menu, messages, numberGrid, numberTable, picture, say, scale, sentence, set, slider, svg, words, write } from "./core.js";

const STATE = ["G", "step"];
const MOST = 1; // of the step size

const transpose = (M) => M[0].map((_, j) => M.map((row) => row[j]));
const times = (M, N) => M.map((row) => transpose(N).map((column) => dot(row, column)));
const over = (M, x) => M.map((row) => row.map((each) => each / x));
const largest = (M) => Math.max(...M.flat().map(Math.abs));

/** Weights A and output Z of all queries. */
export function forward({ Q, K, V }) {
  const rows = times(Q, transpose(K)).map((scores) => attend(scores, V, K[0].length));
  return { A: rows.map(({ a }) => a), Z: rows.map(({ z }) => z) };
}

/** attention_mechanism.scaled_dot_product_attention_backward, with what it passes on its way. */
export function backward(G, { Q, K, V }, A) {
  const dA = times(G, transpose(V)), root = Math.sqrt(K[0].length);
  const D = A.map((a, i) => a.map((x, j) => x * (dA[i][j] - dot(a, dA[i]))));
  return { dV: times(transpose(A), G), dA, D, dQ: over(times(D, K), root), dK: over(times(transpose(D), Q), root) };
}

/** L = Σ G ⊙ Z. */
export const loss = (G, Z) => dot(G.flat(), Z.flat());

/** Q, K and V after a step of this size against their gradients. */
export function descend(given, gradients, step) {
  const moved = (name) => given[name].map((row, i) => row.map((x, c) => x - step * gradients[`d${name}`][i][c]));
  return { Q: moved("Q"), K: moved("K"), V: moved("V") };
}

/** The square of the length of the whole gradient. */
export const squared = ({ dQ, dK, dV }) => [dQ, dK, dV].reduce((sum, M) => sum + dot(M.flat(), M.flat()), 0);

// ---------------------------------------------------------------- what one entry is made of
const PARTS = { // name: shape by letters, the terms of an entry [x, y] in symbols, what they say
  dV: ["n_k d_v", "A[:,x]·G[:,y]", "值 x 在每个输出里占多大份额，上游梯度就按多大份额传回来。",
    "Value x had a share in each output; the upstream gradient comes back in proportion to it."],
  dA: ["n_q n_k", "G[x,:]·V[y,:]", "权重 A[x,y] 增大，输出 x 就添上一点值 y；L 的变化是 G 的第 x 行与值 y 的点积。",
    "If A[x,y] grows, output x takes in more of value y; per unit, L changes by the dot product of row x of G and value y."],
  D: ["n_q n_k", "A[x,y]·(dA[x,y] − A[x,:]·dA[x,:])", "经过 softmax：减去这一行的加权平均，再乘以权重，所以每行之和 Σ 为 0。",
    "Through the softmax: subtract the row's weighted mean, multiply by the weight; so the sum Σ of each row is 0."],
  dQ: ["n_q d_k", "D[x,:]·K[:,y] / √dₖ", "查询 x 变动，它的每个分数按各个键变动。D 里只有第 x 行起作用。",
    "If query x moves, each of its scores changes in proportion to a key. Only row x of D counts."],
  dK: ["n_k d_k", "D[:,x]·Q[:,y] / √dₖ", "键 x 变动，每个查询对它的分数都变动，所以把各个查询的贡献加起来。",
    "If key x moves, one score of every query changes, so the contributions of all queries are added."],
};

/** The numbers in the terms of an entry. */
export function terms(name, x, y, { G, Q, K, V, A, dA, D }) {
  const n = (number) => {
    const text = fixed(number, Number.isInteger(number) ? 0 : 3);
    return number < 0 ? `(${text})` : text;
  };
  const sum = (p, q) => p.map((each, i) => `${n(each)}·${n(q[i])}`).join(" + ");
  const column = (M, c) => M.map((row) => row[c]), root = n(Math.sqrt(K[0].length));
  return {
    dV: () => sum(column(A, x), column(G, y)),
    dA: () => sum(G[x], V[y]),
    D: () => `${n(A[x][y])}·(${n(dA[x][y])} − ${n(dot(A[x], dA[x]))})`,
    dQ: () => `(${sum(D[x], column(K, y))}) / ${root}`,
    dK: () => `(${sum(column(D, x), column(Q, y))}) / ${root}`,
  }[name]();
}

/** In both languages how an entry comes about; `all` holds every matrix. */
export function explain(name, x, y, all) {
  const [, symbols, ...meanings] = PARTS[name], put = (text) => text.replace(/\bx\b/g, x).replace(/\by\b/g, y);
  const sum = `${name}[${x},${y}] = ${put(symbols)} = ${terms(name, x, y, all)} = ${fixed(all[name][x][y], 3)}`;
  return { sum, meaning: meanings.map(put) };
}

/** In both languages which queries get nothing. */
export function silence(G) {
  const none = G.flatMap((row, i) => (row.some(Boolean) ? [] : [i]));
  if (none.length === G.length) return ["G 全为 0：没有一个输出影响 L，所以每个梯度都恰好为 0。", "G is 0: L depends on no output, so every gradient is exactly 0."];
  if (!none.length) return ["每个查询的输出都影响 L，所以每个查询都可能得到梯度。", "L depends on every query's output, so every query may get a gradient."];
  return [`查询 ${none.join("、")} 的输出不影响 L：dA、D、dQ 中相应的行恰好为 0，键和值从这里也得不到梯度。`,
    `L does not depend on the output of query ${none.join(" or ")}: the matching rows of dA, D and dQ are exactly 0, and keys and values get no gradient from there.`];
}

/** What `silence` may say of n queries. */
const silences = (n) => Array.from({ length: 2 ** n }, (_, bits) => silence(Array.from({ length: n }, (_, i) => [(bits >> i) & 1])));

// ---------------------------------------------------------------- pictures
const FIGURES = [
  ["dV", "值的梯度", "gradient of the values", "G → dV = AᵀG", "v"],
  ["dA", "注意力权重的梯度", "gradient of the weights", "G → dA = GVᵀ", "a"],
  ["D", "缩放分数的梯度", "gradient of the scaled scores", "dA → D", "plain"],
  ["dQ", "查询的梯度", "gradient of the queries", "D → dQ = DK / √dₖ", "q"],
  ["dK", "键的梯度", "gradient of the keys", "D → dK = DᵀQ / √dₖ", "k"],
];

/** One matrix of the chain. */
function gradientPicture([name, zh, en, symbol, role], [rows, columns], onPick) {
  const { figure, node, describe } = picture(346, 24 + 30 * rows, zh, en, symbol, role);
  const count = (n) => Array.from({ length: n }, (_, i) => i);
  const grid = numberGrid(node, [count(rows), count(columns)], { left: 24, top: 20, width: 58, role, zeros: true, sums: name === "D", onPick: (i, j) => onPick([name, i, j]) });
  return { figure, show(M) {
    grid.show(M, largest(M) || 1);
    describe(() => M.map((row) => `[${row.map((x) => fixed(x, 3)).join(", ")}]`).join(", "));
  }, mark: ([chosen, i, j]) => (chosen === name ? grid.mark(i, j) : grid.hide()) };
}

/** L over the step size: dashed as the gradient predicts, solid as it is. */
function lossPicture() {
  const { figure, node, describe } = picture(346, 150, "损失随步长的变化", "loss against step size", "L(η)");
  const top = 10, bottom = 128, x = (step) => 52 + (step / MOST) * 270;
  scale(node, [0, 0.5, 1], x, top, bottom);
  const [high, low] = [top + 4, bottom].map((y) => node.appendChild(svg("text", { x: 44, y, "text-anchor": "end", class: "attn-tick" })));
  const line = svg("path", { class: "attn-foot" }), curve = svg("path", { class: "attn-line-plain", fill: "none", "stroke-width": 2 });
  const guess = svg("circle", { r: 7, class: "attn-hollow attn-line-plain", "stroke-width": 2 }), real = svg("circle", { r: 4, class: "attn-plain" });
  node.append(line, curve, guess, real);
  let y;
  const setCurve = (before, square, at) => {
    const steps = Array.from({ length: 26 }, (_, i) => (i * MOST) / 25), after = steps.map(at);
    const least = Math.min(before - MOST * square, ...after), most = Math.max(before, ...after), span = most - least || 1;
    y = (value) => bottom - ((value - least) / span) * (bottom - top);
    write(high, fixed(most, 3));
    write(low, most > least ? fixed(least, 3) : "");
    set(line, { d: `M${x(0)} ${y(before)}L${x(MOST)} ${y(before - MOST * square)}` });
    set(curve, { d: `M${steps.map((step, i) => `${x(step)} ${y(after[i])}`).join("L")}` });
  };
  const setStep = (step, expected, after) => [[guess, expected], [real, after]].forEach(([dot, value]) => set(dot, { cx: x(step), cy: y(value) }));
  return { figure, describe, setCurve, setStep };
}

// ---------------------------------------------------------------- the whole
/** G as a list to choose from for each entry; show(G) moves them. */
function pulls(rows, columns, get, commit) {
  const options = [[1, "+1"], [0, "0"], [-1, "−1"]];
  const set = (i, c, x) => commit({ G: get().map((row, r) => row.map((old, k) => (r === i && k === c ? x : old))) });
  const field = (i, c) => menu(options, (x) => set(i, c, Number(x)), { ariaLabel: `G[${i},${c}], ${say(`查询 ${i}`, `query ${i}`)}` });
  const lists = Array.from({ length: rows }, (_, i) => Array.from({ length: columns }, (_, c) => field(i, c)));
  const heads = ["", ...lists[0].map((_, c) => `[${c}]`)].map((textContent) => html("span", { textContent, className: "attn-head" }));
  const node = html("div", { className: "attn-values" }, ...heads, ...lists.flatMap((row, i) => [words("span", `查询 ${i}`, `query ${i}`), ...row.map(({ node }) => node)]));
  node.style.setProperty("--attn-columns", columns);
  return { node, show: (G) => lists.forEach((row, i) => row.forEach(({ show }, c) => show(G[i][c]))) };
}

const PULL = ["+1：这个分量增大，L 也增大，所以走一步会把它压低；−1 相反；0：L 与它无关。",
  "+1: L grows with this component, so a step pushes it down; −1: the opposite; 0: L does not depend on it."];
const CELLS = ["写作 0 的虚线格恰好为 0；条纹表示负数；颜色的浓淡各图自成比例。点一格，看它的算式。",
  "Dashed cells with a 0 are exactly 0; stripes mean negative; each matrix has its own colour scale. Click a cell to see how it is computed."];

function render({ model, el }) {
  const start = model.get("_start"), { Q, K, V } = start, { A, Z } = forward(start), commit = committer(model);
  const sizes = { n_q: Q.length, n_k: K.length, d_k: K[0].length, d_v: V[0].length }, { told, tell } = messages();
  const shape = (name) => PARTS[name][0].split(" ").map((letter) => sizes[letter]);
  let chosen = ["dV", 0, 0], shown, all, result, heard = "";
  const choose = (entry) => ((chosen = entry), point());
  const pull = pulls(Q.length, V[0].length, () => model.get("G"), commit);
  const figures = FIGURES.map((given) => gradientPicture(given, shape(given[0]), choose));
  const entries = FIGURES.flatMap(([name]) => Array.from({ length: shape(name)[0] * shape(name)[1] }, (_, k) =>
    [name, Math.floor(k / shape(name)[1]), k % shape(name)[1]]));
  const key = ([name, i, j]) => `${name}[${i},${j}]`;
  const entry = choice(words("label", "算式", "How it is computed:"), entries.map((each) => [key(each), key(each)]), (k) => choose(entries.find((each) => key(each) === k)));
  const step = slider(words("label", "步长", "step size", "η"), { key: 0.05, min: 0, max: MOST, step: 0.01 }, (x) => commit({ step: x }));
  const path = lossPicture();
  const table = numberTable(["损失", "loss", "L = Σ G ⊙ Z"], [["数值", "value"], ["变化", "change"]],
    [words("th", "之前", "before"), words("th", "○ 之后，预测", "○ after, predicted", "L − η‖∇L‖²"), words("th", "● 之后，实际", "● after, actual")]);
  const sum = html("p"), meaning = html("p"), zeros = sentence(silences(Q.length));
  const reset = button("重置", "Reset", () => commit({ G: start.G, step: start.step }));

  function point() {
    const { sum: text, meaning: texts } = explain(...chosen, all);
    entry.show(key(chosen));
    figures.forEach(({ mark }) => mark(chosen));
    sum.textContent = text;
    meaning.replaceChildren(...words("p", ...texts).childNodes);
    heard = `${text}. ${say(...texts)}`;
  }

  function setGradients(G) {
    const gradients = backward(G, start, A), at = (eta) => loss(G, forward(descend(start, gradients, eta)).Z);
    result = { before: loss(G, Z), square: squared(gradients), at };
    all = { G, Q, K, V, A, ...gradients };
    pull.show(G);
    figures.forEach(({ show }, i) => show(all[FIGURES[i][0]]));
    zeros.show(...silence(G));
    path.setCurve(result.before, result.square, at);
    point();
  }

  function draw() {
    const { G, step: eta } = Object.fromEntries(STATE.map((name) => [name, model.get(name)]));
    const isNew = G !== shown;
    if (isNew) setGradients((shown = G));
    const { before, square, at } = result, expected = before - eta * square, after = at(eta);
    step.show(eta, fixed(eta, 2));
    path.setStep(eta, expected, after);
    table.show([[fixed(before, 3), "—"], ...[expected, after].map((L) => [fixed(L, 3), fixed(L - before, 3)])]);
    path.describe(() => `η = ${fixed(eta, 2)}, L: ${fixed(before, 3)}, ${fixed(expected, 3)}, ${fixed(after, 3)}`);
    const losses = say(`损失 ${fixed(before, 3)}，走一步之后预测 ${fixed(expected, 3)}，实际 ${fixed(after, 3)}。`,
      `Loss ${fixed(before, 3)}; after the step, predicted ${fixed(expected, 3)}, actual ${fixed(after, 3)}.`);
    heard = isNew ? `${say(...silence(G))} ${losses}` : losses;
  }

  const group = (legend, ...nodes) => html("fieldset", {}, legend, ...nodes);
  const part = (className, ...nodes) => html("div", { className }, ...nodes);
  const note = (texts) => Object.assign(words("p", ...texts), { className: "attn-note" });
  const source = group(words("legend", "上游梯度", "upstream gradient", "G = ∂L/∂Z", "z"), pull.node, note(PULL), part("attn-bar", reset));
  const chain = part("attn-panes", source, ...figures.map(({ figure }) => figure));
  const formula = part("attn-formula", entry.row, sum, meaning), descent = part("attn-panes", part("", step.row, table.node), path.figure);
  const root = part("attn-widget attn-paths", chain, zeros.node, note(CELLS), formula, descent, told);
  return live({ model, el }, root, STATE, draw, () => tell(heard));
}

export default { render };
