import { button, committer, fixed, html, interval, listSlider, live, messages, outline, picture, say, scale, set, share, softmax, svg, words, write } from "./core.js";

const WIDTH = 346, LEFT = 16, RIGHT = 330, MIDDLE = 173; // of the pictures
const SIDES = [0, 1]; // without scaling, and with it

/** What is shown at these places of the sliders; two of each, without scaling and with it. */
export function frame(frames, d_k, n_k) {
  const at = frames.widths.indexOf(d_k), n = frames.counts.indexOf(n_k), scores = frames.scores[at].slice(0, n_k);
  const weights = [1, Math.sqrt(d_k)].map((by) => softmax(scores.map((s) => s / by)));
  const [spread, histogram, saturated] = ["spread", "histogram", "saturated"].map((name) => frames[name][at]);
  return { spread, histogram, weights, largest: weights.map((a) => Math.max(...a)), saturated: saturated.map((counts) => counts[n]) };
}

/** A share of the rows in percent with its standard error; "" where none or all are counted, which has no such error. */
export function percent(count, rows) {
  const part = count / rows, error = Math.sqrt((part * (1 - part)) / rows);
  return error ? `${fixed(100 * part, 1)}% ± ${fixed(100 * error, 1)}%` : "";
}

/** A histogram on an axis that does not move; below it one standard deviation to either side of 0. */
function distribution(zh, en, symbol, reach) {
  const made = picture(WIDTH, 146, zh, en, symbol), { node } = made, wide = (RIGHT - LEFT) / (2 * reach + 1);
  scale(node, [-64, -32, 0, 32, 64], (value) => MIDDLE + value * wide, 0, 130);
  const shape = svg("path", { class: "attn-plain", "fill-opacity": 0.55 }), line = svg("path", { class: "attn-line-plain", "stroke-width": 2 });
  node.append(shape, line);
  return { ...made, show(counts, spread) {
    set(shape, { d: outline(counts, { left: MIDDLE - (counts.length / 2) * wide, wide, base: 108, high: 100 }) });
    set(line, { d: interval(MIDDLE - spread * wide, MIDDLE + spread * wide, 120) });
  } };
}

/** The weights of one row as upright bars. */
function rowOfWeights(zh, en) {
  const made = picture(WIDTH, 136, zh, en, "a", "a"), { node } = made, left = LEFT + 18, y = (a) => 110 - 102 * a;
  for (const tick of [0, 0.5, 1]) {
    node.append(svg("line", { x1: left, x2: RIGHT, y1: y(tick), y2: y(tick), class: "attn-grid" }));
    node.append(svg("text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end", class: "attn-tick" }, String(tick)));
  }
  const shape = svg("path", { class: "attn-a" }), keys = svg("text", { x: (left + RIGHT) / 2, y: 128, "text-anchor": "middle", class: "attn-tick" });
  node.append(shape, keys);
  return { ...made, show(a) {
    const slot = (RIGHT - left) / a.length, wide = Math.min(24, 0.8 * slot);
    const bar = (share, j) => `M${(left + (j + 0.5) * slot - wide / 2).toFixed(2)} ${y(0)}V${y(share).toFixed(2)}h${wide.toFixed(2)}V${y(0)}z`;
    set(shape, { d: a.map(bar).join("") });
    write(keys, a.length > 2 ? `j = 0 … ${a.length - 1}` : "j = 0, 1");
  } };
}

/** The numbers, unscaled beside scaled. */
function numbers() {
  const line = (...given) => {
    const cells = SIDES.map(() => html("td"));
    return { cells, node: html("tr", {}, Object.assign(words("th", ...given), { scope: "row" }), ...cells) };
  };
  const rows = [line("分数的标准差", "standard deviation of the scores"), line("理论值", "in theory"),
    line("这一行的最大权重", "largest weight in the row below"), line("饱和的行（最大权重 > 0.99）", "saturated rows (largest weight > 0.99)"),
    line("饱和行占比", "share of saturated rows")];
  const heads = [["不缩放", "unscaled"], ["除以 √dₖ", "divided by √dₖ"]];
  const head = html("tr", {}, html("td"), ...heads.map((texts) => Object.assign(words("th", ...texts), { scope: "col" })));
  const node = html("table", {}, html("thead", {}, head), html("tbody", {}, ...rows.map((row) => row.node)));
  return { node, show(lines) {
    rows.forEach(({ cells }, i) => cells.forEach((cell, side) => write(cell, lines[i][side])));
  } };
}

/** How the numbers came about. */
function note({ rows, counts, reach }) {
  const keys = Math.max(...counts);
  const node = words("p",
    `只抽一次样：${rows} 个查询，各有 ${keys} 个键，分量都服从标准正态分布；滑块取前 dₖ 个分量、前 nₖ 个键。直方图用全部 ${rows * keys} 个分数，横轴相同，最高处画得一样高；±${reach} 以外的少数分数没有画出。下方线段从 0 向两边各伸出一个标准差。± 后面是一个标准误。`,
    `Drawn once: ${rows} queries with ${keys} keys each, all components standard normal; the sliders take the first dₖ components and the first nₖ keys. The histograms use all ${rows * keys} scores, share one axis and are drawn to one height; the few scores beyond ±${reach} are left out. The line below reaches one standard deviation to either side of 0. The number after ± is one standard error.`);
  return Object.assign(node, { className: "attn-note" });
}

function render({ model, el }) {
  const frames = model.get("_frames"), commit = committer(model), said = messages(), table = numbers();
  const start = { d_k: model.get("d_k"), n_k: model.get("n_k") };
  const d_k = listSlider(words("label", "键的分量数", "key width", "dₖ"), frames.widths, (d) => commit({ d_k: d }));
  const n_k = listSlider(words("label", "键的个数", "number of keys", "nₖ"), frames.counts, (n) => commit({ n_k: n }));
  const spreads = [distribution("分数的分布", "distribution of the scores", "s", frames.reach),
    distribution("缩放分数的分布", "distribution of the scaled scores", "s / √dₖ", frames.reach)];
  const rows = [rowOfWeights("不缩放：一行的注意力权重", "unscaled: attention weights of one row"),
    rowOfWeights("除以 √dₖ：同一行的注意力权重", "divided by √dₖ: weights of the same row")];
  let shown;

  function draw() {
    const now = { d_k: model.get("d_k"), n_k: model.get("n_k") };
    shown = frame(frames, now.d_k, now.n_k);
    d_k.show(now.d_k);
    n_k.show(now.n_k);
    const theory = [Math.sqrt(now.d_k), 1].map((x) => fixed(x, 2)), deviations = shown.spread.map((x) => fixed(x, 2));
    table.show([deviations, theory, shown.largest.map(share), shown.saturated.map((count) => `${count} / ${frames.rows}`),
      shown.saturated.map((count) => percent(count, frames.rows) || "—")]);
    for (const side of SIDES) {
      spreads[side].show(shown.histogram[side], shown.spread[side]);
      rows[side].show(shown.weights[side]);
      spreads[side].describe(() => `${say("标准差", "standard deviation")} ${deviations[side]}`);
      rows[side].describe(() => `${say("最大权重", "largest weight")} ${share(shown.largest[side])}`);
    }
  }

  function announce() {
    const [largest, counts] = [shown.largest.map(share), shown.saturated];
    said.tell(say(`不缩放：最大权重 ${largest[0]}，${frames.rows} 行中饱和 ${counts[0]} 行；缩放：${largest[1]}，饱和 ${counts[1]} 行。`,
      `Unscaled: largest weight ${largest[0]}, ${counts[0]} of ${frames.rows} rows saturated; scaled: ${largest[1]}, ${counts[1]} rows.`));
  }

  const panes = (...nodes) => html("div", { className: "attn-panes" }, ...nodes);
  const figures = [...spreads, ...rows].map(({ figure }) => figure);
  const reset = html("div", { className: "attn-bar" }, button("重置", "Reset", () => commit(start)));
  const root = html("div", { className: "attn-widget attn-laboratory" }, panes(d_k.row, n_k.row), reset, table.node, panes(...figures), note(frames), said.told);
  return live({ model, el }, root, ["d_k", "n_k"], draw, announce);
}

export default { render };
