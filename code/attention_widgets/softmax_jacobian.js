import { bars, button, choice, committer, fixed, html, live, messages, numberGrid, numberTable, picture, say, scale, sentence, set, share, slider, softmax, svg, words, write } from "./core.js";

export const REACH = 6; // of the scores
export const TEMPERATURES = [0.1, 0.125, 0.16, 0.2, 0.25, 0.32, 0.4, 0.5, 0.63, 0.8, 1, 1.25, 1.6, 2, 2.5, 3.2, 4, 5, 6.3, 8, 10];
export const RISE = 0.1; // of the score that is raised
const STATE = ["scores", "temperature", "raised"];
const LARGEST = 0.25; // no entry of a Jacobian is farther from 0

/** The weights: softmax of scores over temperature. */
export const weigh = (scores, temperature) => softmax(scores.map((s) => s / temperature));

/** attention_mechanism.softmax_jacobian: derivative of the weights with respect to what the softmax was given. */
export const jacobian = (a) => a.map((x, j) => a.map((y, k) => x * ((j === k ? 1 : 0) - y)));

/** Frobenius norm. */
export const norm = (J) => Math.hypot(...J.flat());

/** What a rise of score j does to the weights: by the Jacobian, and really. */
export function respond(scores, temperature, j) {
  const a = weigh(scores, temperature), raised = scores.map((s, i) => (i === j ? s + RISE : s));
  const expected = jacobian(a).map((row) => (row[j] * RISE) / temperature); // s / τ rises by RISE / τ
  return { expected, real: weigh(raised, temperature).map((x, i) => x - a[i]) };
}

const low = (j) => "₀₁₂₃₄₅"[j];
const signed = (x, digits = 4) => (Number(x.toFixed(digits)) > 0 ? "+" : "") + fixed(x, digits);

/** The Jacobian, and under it a bar for its size. */
function matrixPicture(n, onPick) {
  const side = Math.min(54, Math.floor(262 / n)), left = 28, top = 22, bottom = top + 32 * n + 20;
  const { figure, node, describe } = picture(346, bottom + 46, "雅可比矩阵", "Jacobian", "J = ∂a / ∂(s/τ) = diag(a) − aᵀa", "a");
  const names = (letter) => Array.from({ length: n }, (_, j) => letter + low(j));
  const grid = numberGrid(node, [names("a"), names("s").map((s) => `${s}/τ`)], { left, top, width: side, height: 32, role: "a", sums: true, onPick: (_, j) => onPick(j) });
  const x = (size) => 44 + size * 460;
  scale(node, [0, 0.25, 0.5], x, bottom, bottom + 26);
  const name = svg("text", { x: 36, y: bottom + 18, "text-anchor": "end" }, "‖J‖");
  name.append(svg("tspan", { class: "attn-sub", dy: 3 }, "F"));
  const bar = svg("rect", { x: x(0), y: bottom + 4, height: 18, rx: 2, class: "attn-a" });
  const number = svg("text", { y: bottom + 18, class: "attn-number" });
  node.append(name, bar, number);
  return { figure, describe, show(J, column) {
    const size = norm(J);
    grid.show(J, LARGEST);
    grid.mark(0, column, n, 1);
    set(bar, { width: x(size) - x(0) });
    set(number, { x: x(size) + 6 });
    write(number, fixed(size));
  } };
}

/** One column of the Jacobian as arrows: which weights rise, which fall, and how steeply. */
function arrowPicture(n) {
  const middle = 106, unit = 300, left = 52, width = 290 / n, centre = (j) => left + width * (j + 0.5);
  const { figure, node, describe } = picture(346, 228, "各权重的回应", "how each weight answers", "∂a / ∂(sⱼ/τ)", "a");
  for (const tick of [-LARGEST, 0, LARGEST]) {
    const y = middle - unit * tick;
    node.append(svg("line", { x1: left, x2: 342, y1: y, y2: y, class: tick ? "attn-grid" : "attn-axis" }));
    node.append(svg("text", { x: left - 6, y: y + 4, "text-anchor": "end", class: "attn-tick" }, fixed(tick, 2)));
  }
  const columns = Array.from({ length: n }, (_, i) => {
    const arrow = svg("path"), number = svg("text", { x: centre(i), "text-anchor": "middle", class: "attn-tick attn-number" });
    node.append(arrow, number, svg("text", { x: centre(i), y: 222, "text-anchor": "middle" }, `a${low(i)}`));
    return { arrow, number };
  });
  return { figure, describe, show: (column) => columns.forEach(({ arrow, number }, i) => {
    const up = column[i] > 0 ? -1 : 1, length = unit * Math.abs(column[i]), head = Math.min(12, length);
    set(arrow, { class: `attn-line-a ${column[i] > 0 ? "attn-a" : "attn-hollow"}`, d: `M${centre(i) - 4} ${middle}v${up * (length - head)}h-5l9 ${up * head}l9 ${-up * head}h-5v${-up * (length - head)}z` });
    set(number, { y: middle + up * (length + 10) + 4 });
    write(number, signed(column[i], 3));
  }) };
}

/** What the numbers say of the score that is raised, in both languages. */
export function verdict({ scores, temperature, raised: j }) {
  const { expected, real } = respond(scores, temperature, j), [about, actual] = [expected[j], real[j]].map((x) => signed(x));
  return [
    `把 s${low(j)} 提高 ${RISE}：雅可比矩阵预测 a${low(j)} 约变化 ${about}，实际变化 ${actual}。其余权重的变化合起来正好与它相反。`,
    `Raise s${low(j)} by ${RISE}: the Jacobian predicts that a${low(j)} changes by about ${about}; it actually changes by ${actual}. The other weights together change by the opposite amount.`,
  ];
}

const MEANING = ["J 是权重对 softmax 的输入 s/τ 的导数；对分数 s 的导数是 J/τ。每行之和 Σ 为 0。条纹表示负数；点一列，就改为提高那一列的分数。",
  "J is the derivative of the weights with respect to the softmax's input s/τ; with respect to the scores s it is J/τ. Each row sums (Σ) to 0. Stripes mean negative; click a column to raise that score instead."];

/** How large the Jacobian of n weights can be. */
function limits(n) {
  const equal = fixed(Math.sqrt(n - 1) / n);
  return [`大小（各元素平方和的平方根）：一个权重是 1 时为 0；${n} 个权重都相等时为 ${equal}；最大是 0.5，在两个权重各为 1/2、其余为 0 时达到。`,
    `Size (root of the sum of the squared entries): 0 where one weight is 1; ${equal} where all ${n} are equal; at most 0.5, where two weights are 1/2 and the rest 0.`];
}

/** The controls; show(state, a) moves them. */
function controls(model, commit, start) {
  const change = (j, s) => commit({ scores: model.get("scores").map((old, i) => (i === j ? s : old)) });
  const range = { key: 0.1, min: -REACH, max: REACH, step: 0.01 };
  const label = (j) => html("label", { textContent: `s${low(j)}` });
  const scores = start.scores.map((_, j) => slider(label(j), range, (s) => change(j, s)));
  const temperature = slider(words("label", "温度", "temperature", "τ"), { min: 0, max: TEMPERATURES.length - 1, step: 1 },
    (i) => commit({ temperature: TEMPERATURES[i] }));
  const raised = choice(words("label", "提高哪个分数", "Raise which score"), start.scores.map((_, j) => [j, `s${low(j)}`]), (j) => commit({ raised: Number(j) }));
  const nearest = (T) => TEMPERATURES.reduce((best, each, i) => (Math.abs(each - T) < Math.abs(TEMPERATURES[best] - T) ? i : best), 0);
  const show = (state, a) => {
    scores.forEach(({ show }, j) => show(state.scores[j], fixed(state.scores[j], 2), `${fixed(state.scores[j], 2)}, ${say("注意力权重", "attention weight")} ${share(a[j])}`));
    temperature.show(nearest(state.temperature), String(Number(state.temperature.toPrecision(4))));
    raised.show(state.raised);
  };
  const group = html("fieldset", {}, words("legend", "分数", "scores", "s"), ...scores.map(({ row }) => row));
  const bar = html("div", { className: "attn-bar" }, raised.row, button("重置", "Reset", () => commit(start)));
  return { bar, node: html("div", {}, group, temperature.row), show };
}

function render({ model, el }) {
  const now = () => Object.fromEntries(STATE.map((name) => [name, model.get(name)]));
  const { told, tell } = messages(), commit = committer(model), start = model.get("_start"), n = start.scores.length;
  const moved = controls(model, commit, start), names = start.scores.map((_, j) => `a${low(j)}`);
  const weights = picture(346, 34 * n + 24, "注意力权重", "attention weights", "a = softmax(s/τ)", "a");
  const drawWeights = bars(weights.node, names, { left: 34, right: 282, top: 0, row: 34, role: "a" });
  const matrix = matrixPicture(n, (j) => commit({ raised: j })), arrows = arrowPicture(n);
  const heads = [["现在", "now", "a", "a"], ["J 的这一列", "column of J"], ["预测变化", "predicted", `J · ${RISE}/τ`], ["实际变化", "actual"]];
  const table = numberTable(["权重", "weight"], heads, names.map((textContent) => html("th", { textContent })));
  const outcome = sentence([verdict(start)]);
  const note = (texts) => Object.assign(words("p", ...texts), { className: "attn-note" });
  const panes = html("div", { className: "attn-panes" }, moved.node, weights.figure, matrix.figure, arrows.figure);
  const root = html("div", { className: "attn-widget attn-jacobian" }, moved.bar, panes, outcome.node, table.node, note(MEANING), note(limits(n)), told);

  function draw() {
    const state = now(), a = weigh(state.scores, state.temperature), J = jacobian(a), column = J.map((row) => row[state.raised]);
    const { expected, real } = respond(state.scores, state.temperature, state.raised), sum = (row) => fixed(row.reduce((x, y) => x + y));
    moved.show(state, a);
    drawWeights(a);
    matrix.show(J, state.raised);
    arrows.show(column);
    table.show(a.map((x, i) => [share(x), fixed(column[i]), signed(expected[i]), signed(real[i])]), [a, column, expected, real].map(sum));
    outcome.show(...verdict(state));
    weights.describe(() => a.map((x, i) => `${names[i]} ${share(x)}`).join(", "));
    matrix.describe(() => `${J.map((row, i) => `${names[i]}: ${row.map((x) => fixed(x, 3)).join(", ")}`).join("; ")}; ‖J‖ = ${fixed(norm(J))}`);
    arrows.describe(() => `s${low(state.raised)}: ${column.map((x, i) => `${names[i]} ${signed(x, 3)}`).join(", ")}`);
  }

  return live({ model, el }, root, STATE, draw, () => tell(say(...verdict(now()))));
}

export default { render };
