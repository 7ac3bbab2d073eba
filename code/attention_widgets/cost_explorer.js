import { button, choice, committer, differs, hatches, html, listSlider, live, messages, picture, say, sentence, set, svg, toggle, words, wordsWithSubscripts, write } from "./core.js";

const STATE = ["n", "d_model", "n_head", "dtype", "output_projection", "by_rows"];
export const LENGTHS = Array.from({ length: 13 }, (_, p) => 32 * 2 ** p);
export const WIDTHS = [128, 256, 512, 768, 1024, 2048, 4096, 8192, 12288];
export const HEADS = [1, 2, 4, 8, 12, 16, 32, 64, 96];
export const BYTES = { float32: 4, float16: 2 };

// ---------------------------------------------------------------- mathematics
const matrices = (output) => (output ? 4 : 3); // W_Q, W_K, W_V, and W_O

/** Multiply–adds of the projections, and of QKᵀ and AV together, whatever the number of heads. */
export const work = (n, d, output) => ({ projections: matrices(output) * n * d ** 2, attention: 2 * n ** 2 * d });

/** The length n at which both parts of `work` are equal. */
export const crossing = (d, output) => (matrices(output) / 2) * d;

/** Bytes of all weights A, and of those held at a time (by rows: so many rows of one head); of Q, K, V and the output; of the parameters. */
export function memory({ n, d_model, n_head, dtype, output_projection, by_rows }, block) {
  const bytes = BYTES[dtype], all = bytes * n_head * n * n;
  return { all, held: by_rows ? bytes * Math.min(block, n) * n : all, vectors: bytes * 4 * n * d_model, parameters: bytes * matrices(output_projection) * d_model ** 2 };
}

/** The largest number of heads, but no more than n_head, that divides d. */
export const fitting = (n_head, d) => HEADS.filter((heads) => heads <= n_head && d % heads === 0).at(-1);

// ---------------------------------------------------------------- numbers and sentences
/** A number with at most three digits and a unit, each `base` times the one before. */
function withUnit(x, base, units) {
  let step = 0;
  for (; x >= 999.5 && step < units.length - 1; step++) x /= base; // 999.5 would be rounded to four digits
  return `${Number(x.toPrecision(3))} ${units[step]}`.trimEnd();
}

export const count = (x) => withUnit(x, 1000, ["", "k", "M", "G", "T"]);
export const size = (bytes) => withUnit(bytes, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]);
export const percent = (share) => `${Number((100 * share).toPrecision(3))}%`;

const crossingName = (output) => `${matrices(output) / 2}d`;

/** Which part rules and where that changes; how much memory the weights take. */
export function verdict(state, block) {
  const { n, d_model: d, n_head, output_projection: output, by_rows } = state, { projections, attention } = work(n, d, output);
  const { all, held } = memory(state, block), at = crossing(d, output), name = crossingName(output), rows = Math.min(block, n);
  const [less, more] = [projections, attention].map((part) => percent(part / (projections + attention)));
  const sign = ["<", "=", ">"][Math.sign(n - at) + 1], where = `n = ${n} ${sign} ${name}${n === at ? "" : ` = ${at}`}`;
  const rule = {
    "<": [`投影占乘加的 ${less}；n 超过 ${name}，QKᵀ 和 AV（n²）才更多。`,
      `the projections take ${less} of the multiply–adds; only beyond ${name} do QKᵀ and AV (n²) take more.`],
    "=": [`投影占乘加的 ${less}，QKᵀ 和 AV（n²）也占 ${more}。`, `the projections take ${less} of the multiply–adds, QKᵀ and AV (n²) the other ${more}.`],
    ">": [`QKᵀ 和 AV（n²）占乘加的 ${more}。`, `QKᵀ and AV (n²) take ${more} of the multiply–adds.`],
  }[sign];
  const [zh, en] = by_rows
    ? [`按行分块，一次只存一个头的 ${rows} 行权重：${size(held)}，${held < all ? `而不是 ${size(all)}` : "与全部一样多"}；乘加次数不变。`,
      `By rows, ${rows} rows of one head's weights are held: ${size(held)}, ${held < all ? `not ${size(all)}` : "as much as all of them"}; the work is the same.`]
    : [`${n_head} 个头的权重共占 ${size(all)}。`, `The weights of ${n_head} head${n_head > 1 ? "s" : ""} take ${size(all)}.`];
  return [`${where}：${rule[0]}${zh}`, `${where}: ${rule[1]} ${en}`];
}

/** What the verdict may come to: no state makes it longer than these. */
const verdicts = (block) => LENGTHS.flatMap((n) => [768, 12288].flatMap((d_model) => [false, true].flatMap((by_rows) => [false, true].map((output_projection) =>
  verdict({ n, d_model, n_head: 96, dtype: "float32", output_projection, by_rows }, block)))));

// ---------------------------------------------------------------- pictures
const WIDTH = 346;
const partNames = () => [say("投影", "projections"), "QKᵀ + AV", say("合计", "sum")];
const LINES = [{ "stroke-width": 2 }, { "stroke-width": 2, "stroke-dasharray": "7 4" }, { "stroke-width": 7, "stroke-opacity": 0.22 }];
const stroke = (attributes) => svg("path", { class: "attn-line-plain", fill: "none", ...attributes });

const LEFT = 36, RIGHT = 298, TOP = 50, BASE = 288; // of the plane that the curves share
const across = (n) => LEFT + (Math.log2(n / 32) / 12) * (RIGHT - LEFT);
const up = (x) => BASE - ((Math.log10(x) - 5) / 10) * (BASE - TOP); // 10⁵ to 10¹⁵

/** A text at the end of a picture's node. */
const label = (node, attributes, content = "") => node.appendChild(svg("text", attributes, content));

/** The legend and the two logarithmic axes, which do not move. */
function plane(node) {
  const grid = (x1, x2, y1, y2) => node.append(svg("line", { x1, x2, y1, y2, class: "attn-grid" }));
  partNames().forEach((name, i) => {
    const x = [2, 146, 246][i];
    node.append(stroke({ d: `M${x} 9h20`, ...LINES[i] }));
    label(node, { x: x + 25, y: 13 }, name);
  });
  for (let p = 5; p <= 15; p++) {
    const y = up(10 ** p);
    grid(LEFT, RIGHT, y, y);
    if (p % 3 === 0 && p < 15) label(node, { x: LEFT - 5, y: y + 4, "text-anchor": "end", class: "attn-tick" }, count(10 ** p));
  }
  LENGTHS.filter((_, p) => p % 2 === 0).forEach((n, i) => {
    grid(across(n), across(n), TOP, BASE);
    if (i % 2 === 0) label(node, { x: across(n), y: BASE + 14, "text-anchor": "middle", class: "attn-tick" }, String(n));
  });
}

/** Both parts and their sum against n, where they cross, and where n is. */
function curves() {
  const made = picture(WIDTH, 322, "乘加次数与 n（双对数坐标）", "multiply–adds against n (log–log)"), { node } = made;
  plane(node);
  const [sum, ...lines] = [2, 0, 1].map((i) => node.appendChild(stroke(LINES[i])));
  const formulas = ["", "2n²d"].map((formula) => label(node, { x: RIGHT + 5 }, formula));
  const foot = node.appendChild(svg("path", { class: "attn-foot" })), equal = label(node, { y: BASE + 31, "text-anchor": "middle" });
  const ring = node.appendChild(svg("circle", { r: 5, class: "attn-hollow attn-line-plain", "stroke-width": 2 }));
  const now = node.appendChild(stroke({ "stroke-width": 1.5 })), nowName = label(node, { y: TOP - 7, "text-anchor": "middle" });
  const isNew = differs();
  function redraw(parts, at, output) {
    const x = across(at), y = up(parts(at)[0]);
    const path = (height) => `M${LENGTHS.map((n) => `${across(n).toFixed(2)} ${up(height(parts(n))).toFixed(2)}`).join("L")}`;
    set(sum, { d: path(([a, b]) => a + b) });
    lines.forEach((line, i) => set(line, { d: path((both) => both[i]) }));
    formulas.forEach((formula, i) => set(formula, { y: up(parts(LENGTHS.at(-1))[i]) + 4 }));
    write(formulas[0], `${matrices(output)}nd²`);
    set(foot, { d: `M${x} ${y}V${BASE}` });
    set(ring, { cx: x, cy: y });
    set(equal, { x });
    write(equal, `n = ${crossingName(output)} = ${at}`);
  }
  return { ...made, show({ n, d_model: d, output_projection: output }) {
    const parts = (n) => Object.values(work(n, d, output)), at = crossing(d, output);
    if (isNew(`${d} ${output}`)) redraw(parts, at, output);
    set(now, { d: `M${across(n)} ${TOP}V${BASE}` });
    set(nowName, { x: across(n) });
    write(nowName, `n = ${n}`);
    made.describe(() => {
      const [a, b] = parts(n).map(count);
      return say(`n = ${n}，d = ${d}：投影 ${a}，QKᵀ + AV ${b}；两者在 n = ${at} 相等`,
        `n = ${n}, d = ${d}: projections ${a}, QKᵀ + AV ${b}; equal at n = ${at}`);
    });
  } };
}

/** The two parts at this n as one bar, and their numbers. */
function shares() {
  const made = picture(WIDTH, 152, "当前 n 的乘加次数", "multiply–adds at this n"), { node } = made;
  const left = 2, wide = WIDTH - 4, fills = hatches(node, 2, "plain");
  const pieces = fills.map((fill) => node.appendChild(svg("rect", { y: 2, height: 38, fill, class: "attn-line-plain" })));
  const names = partNames(), rows = names.map((name, i) => {
    const y = 70 + 30 * i, add = (attributes) => node.appendChild(svg("text", { y, "text-anchor": "end", ...attributes }));
    if (i < 2) node.append(svg("rect", { x: left, y: y - 12, width: 14, height: 14, fill: fills[i], class: "attn-line-plain" }));
    write(add({ x: 24, "text-anchor": "start" }), name);
    return [add({ x: 270 }), add({ x: WIDTH - 2 })];
  });
  return { ...made, show({ n, d_model, output_projection }) {
    const parts = Object.values(work(n, d_model, output_projection)), sum = parts[0] + parts[1];
    const texts = [...parts, sum].map((part) => [count(part), percent(part / sum)]);
    rows.forEach((row, i) => row.forEach((node, k) => write(node, texts[i][k])));
    pieces.forEach((piece, i) => set(piece, { x: left + (i ? (parts[0] / sum) * wide : 0), width: (parts[i] / sum) * wide }));
    made.describe(() => texts.map((row, i) => `${names[i]} ${row.join(", ")}`).join("; "));
  } };
}

/** Three amounts of memory on a logarithmic ruler; a ring where all weights would be, if only some are held. */
function amounts() {
  const made = picture(WIDTH, 152, "内存（对数刻度，每格 32 倍）", "memory (logarithmic, each step 32-fold)"), { node } = made;
  const left = 18, right = 332, base = 132, x = (bytes) => left + ((Math.log2(bytes) - 10) / 33) * (right - left); // 1 KiB to 8 TiB
  for (let p = 10; p <= 43; p += 5) {
    node.append(svg("line", { x1: x(2 ** p), x2: x(2 ** p), y1: 0, y2: base, class: "attn-grid" }));
    if (p % 10 === 0) node.append(svg("text", { x: x(2 ** p), y: base + 15, "text-anchor": "middle", class: "attn-tick" }, size(2 ** p)));
  }
  const rows = ["a", "plain", "plain"].map((role, i) => {
    const y = 44 * i + 15, add = (attributes) => node.appendChild(svg("text", { y, class: "attn-number", ...attributes }));
    const row = { name: add({ x: left }), number: add({ x: right, "text-anchor": "end" }) };
    row.stem = node.appendChild(svg("rect", { x: left, y: y + 12, height: 4, class: `attn-${role}` }));
    row.ring = i ? null : node.appendChild(svg("circle", { cy: y + 14, r: 5, class: `attn-hollow attn-line-${role}`, "stroke-width": 2 }));
    row.end = node.appendChild(svg("circle", { cy: y + 14, r: 6, class: `attn-${role}` }));
    return row;
  });
  return { ...made, show(state, block) {
    const { all, held, vectors, parameters } = memory(state, block), output = state.output_projection ? "Y" : "Z";
    const names = [`${say("权重", "weights")} A`, `Q, K, V, ${output}`, `${say("参数", "parameters")} W`];
    const texts = [state.by_rows ? `${size(held)} (○ ${size(all)})` : size(all), size(vectors), size(parameters)];
    [held, vectors, parameters].forEach((bytes, i) => {
      write(rows[i].name, names[i]);
      write(rows[i].number, texts[i]);
      set(rows[i].stem, { width: x(bytes) - left });
      set(rows[i].end, { cx: x(bytes) });
    });
    set(rows[0].ring, { cx: x(all) });
    made.describe(() => names.map((name, i) => `${name} ${texts[i]}`).join("; "));
  } };
}

const NOTE = ["只算一层自注意力、一个序列、一次前向计算，d_k = d_v = d / n_head。一次乘加是一次乘法和一次加法；softmax 和缩放不计。k、M、G、T 是 10³、10⁶、10⁹、10¹²；1 KiB 是 1024 字节，1 MiB 是 1024 KiB，依此类推。○：全部权重。内存只算这几个数组，各一份；中间结果还要另占内存。float16 只是存放的格式；本课程的代码用 float32 算，算完再存成 float16。",
  "Counted: one layer of self-attention, one sequence, one forward pass, d_k = d_v = d / n_head. A multiply–add is one multiplication and one addition; softmax and scaling are left out. k, M, G, T are 10³, 10⁶, 10⁹, 10¹²; 1 KiB is 1024 bytes, 1 MiB 1024 KiB, and so on. ○: all weights. Memory counts these arrays alone, once each; intermediate results take more memory. float16 means that the arrays are stored so; the course's code computes in float32 and stores its results in float16."];

// ---------------------------------------------------------------- the whole
/** The controls; show(state) moves them. */
function controls(commit, now) {
  const n = listSlider(words("label", "序列长度", "sequence length", "n"), LENGTHS, (n) => commit({ n }));
  const pairs = (list) => list.map((value) => [value, value]);
  const d = choice(wordsWithSubscripts("label", "嵌入宽度", "embedding width", "d = d_model"), pairs(WIDTHS),
    (d) => commit({ d_model: Number(d), n_head: fitting(now().n_head, Number(d)) }));
  const heads = choice(wordsWithSubscripts("label", "头数", "number of heads", "n_head"), pairs(HEADS), (heads) => commit({ n_head: Number(heads) }));
  const kinds = Object.entries(BYTES).map(([name, bytes]) => [name, `${name} (${bytes} B)`]);
  const dtype = choice(words("label", "每个数", "each number"), kinds, (dtype) => commit({ dtype }));
  const output = toggle(wordsWithSubscripts("label", "计入输出投影", "count the output projection", "W_O"), (on) => commit({ output_projection: on }));
  const byRows = toggle(words("label", "按行分块", "by rows"), (on) => commit({ by_rows: on }));
  const rows = [d, heads, dtype, output, byRows].map(({ row }) => row), isNew = differs();
  const show = (state) => {
    n.show(state.n);
    d.show(state.d_model);
    heads.show(state.n_head);
    if (isNew(state.d_model)) for (const option of heads.row.querySelectorAll("option")) option.disabled = state.d_model % option.value > 0;
    dtype.show(state.dtype);
    output.show(state.output_projection);
    byRows.show(state.by_rows);
  };
  return { nodes: [n.row, html("div", { className: "attn-switches" }, ...rows)], show };
}

function render({ model, el }) {
  const now = () => Object.fromEntries(STATE.map((name) => [name, model.get(name)]));
  const commit = committer(model), start = now(), block = model.get("_block"), said = messages(), fixtures = controls(commit, now);
  const pictures = [curves(), shares(), amounts()], [curve, ...rest] = pictures.map(({ figure }) => figure);
  const outcome = sentence(verdicts(block)), note = Object.assign(wordsWithSubscripts("p", ...NOTE), { className: "attn-note" });
  const reset = html("div", { className: "attn-bar" }, button("重置", "Reset", () => commit(start)));
  const panes = (...nodes) => html("div", { className: "attn-panes" }, ...nodes);
  const root = html("div", { className: "attn-widget attn-laboratory attn-cost" }, panes(html("div", {}, ...fixtures.nodes, reset), curve), outcome.node, panes(...rest), note, said.told);

  function draw() {
    const state = now();
    fixtures.show(state);
    pictures.forEach(({ show }) => show(state, block));
    outcome.show(...verdict(state, block));
  }

  return live({ model, el }, root, STATE, draw, () => said.tell(say(...verdict(now(), block))));
}

export default { render };
