import { button, choice, committer, differs, html, inSight, listSlider, live, messages, picture, say, sentence, set, subscripts, svg, toggle, words, wordsWithSubscripts, write } from "./core.js";

const SIZES = ["n_q", "n_k", "d_model", "d_k", "d_v"];
const STATE = [...SIZES, "self_attention", "output_projection"];
const LENGTHS = [...Array.from({ length: 16 }, (_, i) => i + 1), 20, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096];
const WIDTHS = LENGTHS.filter((size) => size <= 1024);
const PRODUCTS = { Q: ["X_q", "W_Q"], K: ["X_s", "W_K"], V: ["X_s", "W_V"], S: ["Q", "Kᵀ"], Z: ["A", "V"], Y: ["Z", "W_O"] };
const MATRICES = { // the letters of rows and columns
  X_q: ["n_q", "d_model"], X_s: ["n_k", "d_model"], W_Q: ["d_model", "d_k"], W_K: ["d_model", "d_k"], W_V: ["d_model", "d_v"],
  Q: ["n_q", "d_k"], K: ["n_k", "d_k"], V: ["n_k", "d_v"], "Kᵀ": ["d_k", "n_k"], S: ["n_q", "n_k"], "S̃": ["n_q", "n_k"],
  A: ["n_q", "n_k"], Z: ["n_q", "d_v"], W_O: ["d_v", "d_model"], Y: ["n_q", "d_model"],
};
const ROLES = { W_Q: "q", Q: "q", W_K: "k", K: "k", "Kᵀ": "k", W_V: "v", V: "v", A: "a", Z: "z" }; // the others are plain

/** The presets: names, then n_q, n_k, d_model, d_k, d_v, and the two switches. */
const PRESETS = [
  ["三个词元", "three tokens", 3, 3, 4, 4, 2, true, false],
  ["一个查询，三个键", "one query, three keys", 1, 3, 4, 4, 2, false, false],
  ["交叉注意力：5 个查询，9 个键", "cross-attention: 5 queries, 9 keys", 5, 9, 8, 4, 6, false, false],
  ...[128, 512, 1024, 4096].map((n) => [`一个宽 512 的头，n = ${n}`, `one head of width 512, n = ${n}`, n, n, 512, 512, 512, true, true]),
].map(([zh, en, ...values]) => ({ zh, en, state: Object.fromEntries(STATE.map((name, i) => [name, values[i]])) }));

/** {name: [rows, columns]} of every matrix. */
export function shapes(state) {
  const kept = Object.entries(MATRICES).filter(([name]) => state.output_projection || !["W_O", "Y"].includes(name));
  return Object.fromEntries(kept.map(([name, letters]) => [name, letters.map((letter) => state[letter])]));
}

/** {result: m·p·n} of each product (m×p)(p×n). */
export function multiplications(state, shape = shapes(state)) {
  const kept = Object.entries(PRODUCTS).filter(([result]) => shape[result]);
  return Object.fromEntries(kept.map(([result, [left, right]]) => [result, shape[left][0] * shape[left][1] * shape[right][1]]));
}

/** Multiplications of the projections, of scores and weighted sums, of both; their ratio; the numbers in S, and in A. */
export function totals(state, counts = multiplications(state)) {
  const mixing = counts.S + counts.Z;
  const total = Object.values(counts).reduce((a, b) => a + b);
  return { projections: total - mixing, mixing, total, ratio: mixing / (total - mixing), stored: state.n_q * state.n_k };
}

/** The n, in cross-attention the n_k, at which both parts are equal; null where the projections stay larger. */
export function equalAt({ n_q, d_model, d_k, d_v, self_attention, output_projection }) {
  const perQuery = d_model * (d_k + (output_projection ? d_v : 0)), width = d_k + d_v;
  if (self_attention) return (perQuery + d_model * width) / width;
  return n_q > d_model ? (n_q * perQuery) / (width * (n_q - d_model)) : null;
}

// ---------------------------------------------------------------- numbers and symbols as text
/** A number with thin spaces between thousands: whole if it is whole, else with two decimals or three digits. */
export function grouped(x) {
  const rounded = Number.isInteger(x) ? x : Number(x < 1 ? x.toPrecision(3) : x.toFixed(2));
  const [whole, rest] = (rounded < 1e-6 ? rounded.toFixed(9).replace(/\.?0+$/, "") : String(rounded)).split(".");
  return (whole.length < 4 ? whole : whole.replace(/\B(?=(\d{3})+$)/g, "\u202f")) + (rest ? `.${rest}` : "");
}

/** A share of the whole as a percentage; one that is close to an end, but not there, says so. */
export const percent = (share) => (share < 5e-4 ? "<0.1%" : share < 1 && share >= 0.9995 ? ">99.9%" : `${(100 * share).toFixed(1)}%`);

const sized = ([rows, columns]) => `${rows}×${columns}`;

/** An SVG text with the symbol in it, such as d_model; mark(text) puts something behind it. */
function letter(node, symbol, attributes) {
  const [base, low = "", rest = ""] = symbol.split(/_(\w+)/), label = svg("text", { "text-anchor": "middle", ...attributes }, base);
  const mark = svg("tspan", low && { dy: -3 }, rest);
  label.append(svg("tspan", { dy: low && 3, class: base === "X" ? "attn-sub attn-source" : "attn-sub" }, low), mark);
  node.append(label);
  const isNew = differs(), place = (shift) => isNew(shift) && (label.style.transform = shift); // half as dear as the attribute
  return { mark: (star) => write(mark, star), move: (x, y) => place(`translate(${x}px,${y}px)`) };
}

// ---------------------------------------------------------------- pictures
const SIDE = 64, THIN = 3, MIDDLE = 56, NAMES = 106, WIDTH = 345, HEIGHT = 128; // in the picture's own pixels
const CENTRES = [58, 184, 306], BETWEEN = [121, 246]; // of the matrices, and of the signs between their names

/** One matrix in proportion, with the letters of its sides; the inner side of a product (0: rows, 1: columns) has a bracket. */
function matrix(node, name, place, inner) {
  const role = ROLES[name] ?? "plain", x = CENTRES[place];
  const box = svg("polygon", { class: `attn-matrix attn-${role} attn-line-${role}`, "fill-opacity": name.startsWith("W") ? 0 : 0.6 });
  const bracket = svg("polyline", { class: "attn-bracket" }), size = svg("text", { x, y: NAMES + 17, "text-anchor": "middle" });
  const sides = MATRICES[name].map((symbol, side) =>
    letter(node, symbol, { class: inner === side ? "attn-tick attn-strong" : "attn-tick", "text-anchor": side ? "middle" : "end" }));
  letter(node, name, { x, y: NAMES, class: `attn-strong attn-text-${role}` });
  node.append(box, bracket, size);
  let rows, columns, scale; // as drawn
  return (shape, unit) => {
    if (rows === shape[0] && columns === shape[1] && scale === unit) return;
    [rows, columns] = shape;
    scale = unit;
    const [h, w] = shape.map((length) => Math.max(THIN, length * unit)), left = x - w / 2, top = MIDDLE - h / 2, right = left + w, low = top + h;
    set(box, { points: `${left} ${top} ${right} ${top} ${right} ${low} ${left} ${low}` }); // half as dear as a path
    if (inner === 1) set(bracket, { points: `${left} ${top - 3} ${left} ${top - 7} ${right} ${top - 7} ${right} ${top - 3}` });
    if (inner === 0) set(bracket, { points: `${left - 3} ${top} ${left - 7} ${top} ${left - 7} ${low} ${left - 3} ${low}` });
    sides[0].move(left - 10, MIDDLE + 4);
    sides[1].move(x, top - 12);
    sides.forEach(({ mark }, side) => mark(shape[side] * unit < THIN ? "*" : ""));
    write(size, sized(shape));
  };
}

/** One step: three matrices, and signs between their names; inner: the sides that must agree. */
function step(zh, en, names, signs, inner = []) {
  const result = names[2], { figure, node, describe } = picture(WIDTH, HEIGHT, zh, en, result, ROLES[result]);
  const draws = names.map((name, place) => matrix(node, name, place, inner[place]));
  signs.forEach((sign, place) => letter(node, sign, { x: BETWEEN[place], y: NAMES, class: "attn-tick" }));
  const isThere = differs();
  const drawAll = inSight(figure, (shape, unit) => names.forEach((name, i) => draws[i](shape[name], unit)));
  const draw = (shape, unit, named) => {
    if (isThere(result in shape)) figure.hidden = !shape[result];
    if (!shape[result]) return;
    drawAll(shape, unit);
    describe(() => names.map((name) => `${named(name)} ${sized(shape[name])}`).join(", "));
  };
  return { figure, draw };
}

function steps() {
  const product = (zh, en, result) => step(zh, en, [...PRODUCTS[result], result], ["·", "="], [1, 0]);
  return [
    product("查询", "queries", "Q"), product("键", "keys", "K"), product("值", "values", "V"), product("分数", "scores", "S"),
    step("缩放，softmax", "scaling, softmax", ["S", "S̃", "A"], ["÷ √d_k →", "softmax →"]),
    product("输出", "output", "Z"), product("输出投影", "output projection", "Y"),
  ];
}

// ---------------------------------------------------------------- table and sentence
const HEADS = [["步骤", "step"], ["形状", "shapes"], ["乘法次数", "multiplications"], ["占比", "share"]];
const OTHERS = { // steps without a product, after S
  "S̃": { formula: "S̃ = S / √d_k", from: ["S"], zh: "除法", en: "divisions" },
  A: { formula: "A = softmax(S̃)", from: ["S̃"], zh: "指数", en: "exponentials" },
};
const SUMS = [
  ["投影", "projections", "projections"], ["分数和加权求和", "scores and weighted sums", "mixing"], ["合计", "total", "total"],
  ["比值：分数和加权求和 ÷ 投影", "ratio: scores and weighted sums ÷ projections", "ratio"],
  ["S 和 A 各要存的数", "numbers to store in S, and in A", "stored"],
];

/** The class of X's subscript, which is hidden where there is one X. */
const ofSource = (before) => (before.endsWith("X") ? "attn-source" : "");

/** A line for one step. */
function stepRow(result) {
  const { formula, from, zh, en } = OTHERS[result] ?? { formula: `${result} = ${PRODUCTS[result].join(" ")}`, from: PRODUCTS[result] };
  const sizes = html("span"), count = html("span"), part = html("td");
  const first = subscripts(html("th", { scope: "row", textContent: formula }), ofSource);
  const unit = zh ? [words("small", zh, en), " "] : [];
  const node = html("tr", {}, first, html("td", {}, sizes), html("td", {}, ...unit, count), part);
  const isNew = differs(), isThere = differs();
  const draw = (shape, counts, { total }) => {
    if (isThere(result in shape)) node.hidden = !shape[result];
    if (!shape[result]) return;
    write(sizes, `${from.map((name) => sized(shape[name])).join("\n· ")}\n→ ${sized(shape[result])}`); // lines on a phone, else spaces
    write(count, grouped(counts[result] ?? shape[result][0] * shape[result][1]));
    write(part, counts[result] ? percent(counts[result] / total) : "—");
    const share = `${(100 * (counts[result] ?? 0)) / total}%`;
    if (isNew(share)) part.style.setProperty("--attn-share", share);
  };
  return { node, draw };
}

/** A line for one of the totals. */
function sumRow([zh, en, name]) {
  const count = html("td"), part = html("td"), isPart = ["projections", "mixing", "total"].includes(name);
  const draw = (shape, counts, sums) => {
    write(count, grouped(sums[name]));
    write(part, isPart ? percent(sums[name] / sums.total) : "");
  };
  return { node: html("tr", {}, Object.assign(words("th", zh, en), { scope: "row", colSpan: 2 }), count, part), draw };
}

/** The sizes and costs as a table, so that nothing hangs on colour or length. */
function table() {
  const rows = ["Q", "K", "V", "S", "S̃", "A", "Z", "Y"].map(stepRow), foot = SUMS.map(sumRow);
  const head = HEADS.map((texts) => Object.assign(words("th", ...texts), { scope: "col" }));
  const [body, end] = [["tbody", rows], ["tfoot", foot]].map(([tag, lines]) => html(tag, {}, ...lines.map(({ node }) => node)));
  const node = html("table", {}, html("thead", {}, html("tr", {}, ...head)), body, end);
  return { node, draw: inSight(node, (...given) => [...rows, ...foot].forEach(({ draw }) => draw(...given))) };
}

/** What the numbers say, in both languages: which part is larger, and where both are equal. */
export function verdict(state, { projections, mixing, ratio } = totals(state)) {
  const at = equalAt(state);
  const [zh, en] = mixing < projections ? ["投影较多", "the projections cost more"]
    : mixing > projections ? ["投影较少", "the projections cost less"] : ["一样多", "both cost the same"];
  const where = at && `${state.self_attention ? "n" : "n_k"}\u00a0${at === Number(at.toFixed(2)) ? "=" : "≈"}\u00a0${grouped(at)}`;
  return [
    `分数和加权求和共 ${grouped(mixing)} 次乘法，投影共 ${grouped(projections)} 次，比值 ${grouped(ratio)}：${zh}。`
      + (at ? `其他大小不变，${where} 时两者相等，再大则投影较少。` : "只要 n_q ≤ d_model，键再多，也是投影较多。"),
    `Scores and weighted sums take ${grouped(mixing)} multiplications, the projections ${grouped(projections)}, a ratio of ${grouped(ratio)}: ${en}. `
      + (at ? `With the other sizes unchanged, the two are equal at ${where}; beyond that, the projections cost less.`
        : "As long as n_q ≤ d_model, the projections cost more, however many keys there are."),
  ];
}

/** What the verdict may come to: sizes with many digits, each part ahead, and a length that never makes up for it. */
const VERDICTS = [true, false].flatMap((self_attention) => [[3072, 4096, 1024, 768, 768], [768, 4096, 1024, 768, 768], [3072, 1536, 768, 7, 768], [11, 11, 1024, 13, 7]]
  .flatMap(([n_q, n_k, d_model, d_k, d_v]) => [true, false].map((output_projection) =>
    verdict({ n_q, n_k: self_attention ? n_q : n_k, d_model, d_k, d_v, self_attention, output_projection }))));

const RULE = ["所有矩阵用同一个比例：高是行数，宽是列数。带 * 的边太细，画粗了才看得见。两段括线标出必须相等的边。只有边框的矩阵是参数。",
  "All matrices share one scale: height is rows, width is columns. A side marked * would be too thin to see and is drawn thicker. The two brackets mark sides that must agree. Outlined matrices are parameters."];
const COUNTED = ["(m×p)(p×n) 的乘积要做 m·p·n 次乘法。占比和合计只算乘法，不算加法、除法和指数。",
  "A product (m×p)(p×n) takes m·p·n multiplications. Shares and totals count these only, not additions, divisions or exponentials."];

// ---------------------------------------------------------------- the whole
/** The controls; show(state) moves them. */
function controls(commit, now, start) {
  const set = (name, size) => {
    const twin = now().self_attention && { n_q: "n_k", n_k: "n_q" }[name];
    commit({ [name]: size, ...(twin && { [twin]: size }) });
  };
  const size = (name, list, zh, en) => {
    const { row, show } = listSlider(wordsWithSubscripts("label", zh, en, name), list, (size) => set(name, size));
    return { row, show: (state) => show(state[name], grouped(state[name])) };
  };
  const lengths = [size("n_q", LENGTHS, "查询的个数", "queries"), size("n_k", LENGTHS, "键和值的个数", "keys and values")];
  const widths = [size("d_model", WIDTHS, "嵌入的分量数", "embedding width"), size("d_k", WIDTHS, "键的分量数", "key width"),
    size("d_v", WIDTHS, "值的分量数", "value width")];
  const self = toggle(wordsWithSubscripts("label", "自注意力", "self-attention", "n_q = n_k, X_q = X_s"), (on) => commit({ self_attention: on, ...(on && { n_k: now().n_q }) }));
  const project = toggle(wordsWithSubscripts("label", "计入输出投影", "count the output projection", "W_O"), (on) => commit({ output_projection: on }));
  const names = [...PRESETS.map(({ zh, en }, i) => [i, say(zh, en)]), [-1, say("自定大小", "your own sizes")]];
  const preset = choice(words("label", "示例", "Example"), names, (i) => commit(PRESETS[i]?.state ?? {}));
  const bar = (...nodes) => html("div", { className: "attn-bar" }, ...nodes);
  const group = (zh, en, sizes, last) => html("fieldset", {}, words("legend", zh, en), ...sizes.map(({ row }) => row), bar(last.row));
  const panes = html("div", { className: "attn-panes" }, group("长度", "lengths", lengths, self), group("宽度", "widths", widths, project));
  const show = (state) => {
    [...lengths, ...widths].forEach((each) => each.show(state));
    self.show(state.self_attention);
    project.show(state.output_projection);
    preset.show(PRESETS.findIndex((given) => STATE.every((name) => given.state[name] === state[name])));
  };
  return { nodes: [bar(preset.row, button("重置", "Reset", () => commit(start))), panes], show };
}

function render({ model, el }) {
  const now = () => Object.fromEntries(STATE.map((name) => [name, model.get(name)]));
  const { told, tell } = messages(), fixtures = controls(committer(model), now, now()), drawn = steps(), numbers = table();
  const outcome = sentence(VERDICTS, true);
  const grid = html("div", { className: "attn-panes" }, ...drawn.map(({ figure }) => figure));
  const [rule, counted] = [RULE, COUNTED].map((given) => Object.assign(wordsWithSubscripts("p", ...given), { className: "attn-note" }));
  const root = html("div", { className: "attn-widget attn-tracer" }, ...fixtures.nodes, outcome.node, grid, rule, numbers.node, counted, told);

  function draw() {
    const state = now();
    if (state.self_attention && state.n_q !== state.n_k) return; // the other one is on its way
    const shape = shapes(state), counts = multiplications(state, shape), sums = totals(state, counts);
    const unit = SIDE / Math.max(...SIZES.map((name) => state[name]));
    const named = (name) => (state.self_attention ? name.replace(/X_./, "X") : name);
    root.classList.toggle("attn-self", state.self_attention);
    fixtures.show(state);
    drawn.forEach((each) => each.draw(shape, unit, named));
    numbers.draw(shape, counts, sums);
    outcome.show(...verdict(state, sums));
  }

  const announce = () => tell(say(...verdict(now())).replaceAll("_", " "));
  return live({ model, el }, root, STATE, draw, announce);
}

export default { render };
