import { button, committer, fixed, html, inSight, interval, listSlider, live, messages, outline, picture, say, sentence, set, slider, subscripts, svg, toggle, words, wordsWithSubscripts, write } from "./core.js";

export const WIDTHS = [4, 16, 64, 256];
export const SAMPLES = 1000; // pairs of vectors
const SEED = 1; // of the first sample; “draw again” takes the next
const STATE = ["rho", "mu_q", "mu_k", "d_k", "tied", "repeated"];

// ---------------------------------------------------------------- what theory says
/** rho, mu_q and mu_k as they count: k = q means a correlation of 1 and one mean. */
export const effective = ({ rho, mu_q, mu_k, tied }) => (tied ? { rho: 1, mu_q, mu_k: mu_q } : { rho, mu_q, mu_k });

/** Mean and variance of the score q kᵀ, for normal components of variance 1. */
export function predict(state) {
  const { rho, mu_q, mu_k } = effective(state), d = state.d_k;
  const variance = 1 + rho ** 2 + mu_q ** 2 + mu_k ** 2 + 2 * rho * mu_q * mu_k; // of one product
  return { mean: d * (rho + mu_q * mu_k), variance: (state.repeated ? d * d : d) * variance };
}

// ---------------------------------------------------------------- what a simulation says
/** Independent standard normal numbers, one at a time: the generator mulberry32, then Box and Muller, who make two at once. */
export function normals(seed) {
  let state = seed, kept = null;
  const uniform = () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), bits | 61)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
  return () => {
    if (kept !== null) {
      const second = kept;
      kept = null;
      return second;
    }
    const radius = Math.sqrt(-2 * Math.log(1 - uniform())), angle = 2 * Math.PI * uniform();
    kept = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  };
}

/** [Σa², Σab, Σa, Σb] over the first d of independent normal components a and b: for d = 1 and each width, one row a sample. */
export function sums(count, seed) {
  const next = normals(seed), steps = [1, ...WIDTHS], rows = Object.fromEntries(steps.map((d) => [d, []]));
  for (let i = 0; i < count; i++) {
    let [aa, ab, sumA, sumB, done] = [0, 0, 0, 0, 0];
    for (const d of steps) {
      for (; done < d; done++) {
        const a = next(), b = next();
        aa += a * a;
        ab += a * b;
        sumA += a;
        sumB += b;
      }
      rows[d].push([aa, ab, sumA, sumB]);
    }
  }
  return rows;
}

/** The score of each sample, where q = a + mu_q and k = rho a + √(1 − rho²) b + mu_k; all equal: d times the first product. */
export function scores(state, rows) {
  const { rho, mu_q, mu_k } = effective(state), rest = Math.sqrt(1 - rho * rho), ofA = mu_k + mu_q * rho, ofB = mu_q * rest;
  const [terms, times] = state.repeated ? [1, state.d_k] : [state.d_k, 1], always = terms * mu_q * mu_k;
  return rows[terms].map((row) => times * (rho * row[0] + rest * row[1] + ofA * row[2] + ofB * row[3] + always));
}

/** Mean and variance of numbers, each with its standard error. */
export function moments(numbers) {
  const n = numbers.length, mean = numbers.reduce((sum, x) => sum + x, 0) / n;
  let squares = 0, fourths = 0;
  for (const x of numbers) {
    const square = (x - mean) * (x - mean);
    squares += square;
    fourths += square * square;
  }
  const variance = squares / (n - 1);
  return { mean, variance, meanError: Math.sqrt(variance / n), varianceError: Math.sqrt((fourths / n - variance * variance) / n) };
}

/** How many numbers fall into each of `bins` equal parts of −reach to reach. */
export function histogram(numbers, reach, bins) {
  const counts = Array(bins).fill(0);
  for (const x of numbers) {
    const bin = Math.floor(((x + reach) / (2 * reach)) * bins);
    if (bin >= 0 && bin < bins) counts[bin]++;
  }
  return counts;
}

// ---------------------------------------------------------------- numbers and sentences
/** A number with at most so many decimals, thin spaces between thousands. */
export function number(x, digits, least = digits) {
  const [whole, rest = ""] = fixed(x, digits).split(".");
  const kept = rest.slice(0, least) + rest.slice(least).replace(/0+$/, "");
  return whole.replace(/\B(?=(\d{3})+$)/g, "\u202f") + (kept && `.${kept}`);
}

const exact = (x) => number(x, [4, 1, 0][(Math.abs(x) >= 1000) + (Math.abs(x) >= 1e5)], 0);

/** A number with its standard error, which has two digits: "63.1 ± 2.9", "408 000 ± 34 000". */
export function measured(x, error) {
  const digits = 1 - Math.floor(Math.log10(error)), unit = 10 ** Math.max(0, -digits);
  return [x, error].map((each) => number(digits < 0 ? Math.round(each / unit) * unit : each, Math.max(0, digits))).join(" ± ");
}

/** The assumptions of the theorem that do not hold, each in both languages. */
export function failing(state) {
  const { rho, mu_q, mu_k } = effective(state), found = [];
  const because = state.tied ? "q = k" : `ρ = ${exact(rho)}`;
  if (rho) found.push([`q 与 k 不独立（${because}）`, `q and k are not independent (${because})`]);
  const means = Object.entries({ "μ_q": mu_q, "μ_k": mu_k }).filter(([, mean]) => mean).map(([name, mean]) => `${name} = ${exact(mean)}`);
  if (means.length) found.push([`均值不是 0（${means.join("，")}）`, `the means are not 0 (${means.join(", ")})`]);
  if (state.repeated) found.push(["各自的分量相关（全都相等）", "the components within q and k are correlated (all are equal)"]);
  return found;
}

/** Whether the theorem holds, which condition fails, and what the division still leaves. */
export function verdict(state) {
  const { mean, variance } = predict(state), d = state.d_k, failed = failing(state);
  if (!failed.length) {
    return [`假设都成立：均值是 0，方差是 d_k = ${d}，如定理所说；除以 √d_k 之后，方差是 1。`,
      `All assumptions hold: the mean is 0 and the variance d_k = ${d}, as the theorem says; after the division by √d_k, the variance is 1.`];
  }
  const [zh, en] = [0, 1].map((language) => failed.map((texts) => texts[language])), still = Math.abs(mean) > 1e-9;
  const m = exact(mean / Math.sqrt(d)), v = exact(variance / d);
  return [
    `定理不适用：${zh.join("；")}。方差是 ${exact(variance)}，不是 d_k = ${d}。除以 √d_k 之后，`
      + `${still ? `均值是 ${m}，与 √d_k 成正比` : "均值是 0"}；方差是 ${v}，${state.repeated ? "与 d_k 成正比" : "与 d_k 无关"}。`,
    `The theorem does not apply: ${en.join("; ")}. The variance is ${exact(variance)}, not d_k = ${d}. After the division by √d_k, `
      + `${still ? `the mean is ${m}, proportional to √d_k` : "the mean is 0"}; the variance is ${v}, ${state.repeated ? "proportional to d_k" : "whatever d_k is"}.`,
  ];
}

/** What the verdict may come to: no value makes it longer than these. */
function verdicts() {
  const each = (name, values, states) => states.flatMap((state) => values.map((value) => ({ ...state, [name]: value })));
  const signs = [-0.95, 0, 0.95], yes = [false, true], names = { rho: signs, mu_q: signs, mu_k: signs, tied: yes, repeated: yes, d_k: WIDTHS.slice(-2) };
  return Object.entries(names).reduce((states, [name, values]) => each(name, values, states), [{}]).map(verdict);
}

// ---------------------------------------------------------------- picture and table
const WIDTH = 346, LEFT = 14, RIGHT = 332, TOP = 34, BASE = 150, BINS = 64;
const LINES = [["定理", "theorem"], ["预测", "predicted"], ["模拟", "simulated"]];

/** How far the axis reaches: a power of 2, so that it changes in steps. */
export function reachOf(mean, deviation) {
  let reach = 4;
  while (reach < Math.abs(mean) + 3.5 * deviation) reach *= 2;
  return reach;
}

/** The simulated scores over one axis with two scales: the score above, the scaled score below; then three intervals. */
function distribution() {
  const made = picture(WIDTH, 288, "分数的分布（模拟），均值 ± 标准差", "distribution of the scores (simulated), mean ± standard deviation"), { node } = made;
  const bottom = BASE + 104, quarter = (RIGHT - LEFT) / 4;
  const label = (text, y, attributes = {}) => {
    const made = svg("text", { x: LEFT, y, class: "attn-tick", ...attributes }, text);
    node.append(made);
    return made;
  };
  const ticks = [-2, -1, 0, 1, 2].map((step) => {
    const x = LEFT + (step + 2) * quarter, at = { x, "text-anchor": { "-2": "start", 2: "end" }[step] ?? "middle" };
    node.append(svg("line", { x1: x, x2: x, y1: TOP, y2: bottom, class: "attn-grid" }));
    return { step, above: label("", TOP - 6, at), below: label("", bottom + 14, at) };
  });
  label("q kᵀ", 12);
  label("q kᵀ / √dₖ", bottom + 30);
  const outside = label("", 12, { x: RIGHT, "text-anchor": "end" });
  const shape = svg("path", { class: "attn-plain", "fill-opacity": 0.55 });
  node.append(shape);
  const lines = LINES.map((texts, i) => {
    label(say(...texts), BASE + 22 + 32 * i);
    const line = svg("path", { class: "attn-line-plain", "stroke-width": 2, "stroke-opacity": i ? 1 : 0.55 });
    node.append(line);
    return line;
  });
  return { ...made, show(list, intervals, root) {
    const [mean, deviation] = intervals[1], reach = reachOf(mean, deviation);
    const x = (value) => (LEFT + RIGHT) / 2 + (value / reach) * 2 * quarter;
    const counts = histogram(list, reach * root, BINS), left = list.length - counts.reduce((a, b) => a + b);
    set(shape, { d: outline(counts, { left: LEFT, wide: (RIGHT - LEFT) / BINS, base: BASE, high: BASE - TOP - 6 }) });
    lines.forEach((line, i) => set(line, { d: interval(x(intervals[i][0] - intervals[i][1]), x(intervals[i][0] + intervals[i][1]), BASE + 32 + 32 * i) }));
    for (const { step, above, below } of ticks) {
      write(above, number((step * reach * root) / 2, 0));
      write(below, number((step * reach) / 2, 0));
    }
    write(outside, left ? `${say("图外", "outside")}: ${left}` : "");
  } };
}

/** What the theorem says, what is predicted, what the simulation gives. */
function numbers() {
  const line = (...given) => {
    const cells = LINES.map(() => html("td"));
    return { cells, node: html("tr", {}, Object.assign(words("th", ...given), { scope: "row" }), ...cells) };
  };
  const rows = ["q kᵀ", "q kᵀ / √dₖ"].flatMap((symbol) => [line("均值", "mean", symbol), line("方差", "variance", symbol)]);
  const head = html("tr", {}, html("td"), ...LINES.map((texts) => Object.assign(words("th", ...texts), { scope: "col" })));
  const node = html("table", {}, html("thead", {}, head), html("tbody", {}, ...rows.map((row) => row.node)));
  return { node, show: inSight(node, (texts) => rows.forEach(({ cells }, i) => cells.forEach((cell, j) => write(cell, texts[i][j])))) };
}

const NOTE = [`q 和 k 的分量服从正态分布，方差都是 1；ρ 是 q 和 k 同一位置的分量之间的相关系数。模拟抽 ${SAMPLES} 对 q、k；± 后面是一个标准误。线段从均值向两边各伸出一个标准差。横轴不够长时，范围加倍。`,
  `The components of q and k are normal with variance 1; ρ is the correlation of the components of q and k at the same place. The simulation draws ${SAMPLES} pairs of q and k; the number after ± is one standard error. Each line reaches one standard deviation to either side of the mean. Where the axis is too short, its range doubles.`];

// ---------------------------------------------------------------- the whole
const bar = (...nodes) => html("div", { className: "attn-bar" }, ...nodes);

/** The controls; show(state) moves them. */
function controls(commit) {
  const range = { min: -1, max: 1, step: 0.05 };
  const between = (name, ...label) => slider(wordsWithSubscripts("label", ...label), range, (x) => commit({ [name]: x }));
  const d_k = listSlider(words("label", "键的分量数", "key width", "dₖ"), WIDTHS, (d) => commit({ d_k: d }));
  const mu_q = between("mu_q", "q 的分量的均值", "mean of q's components", "μ_q");
  const mu_k = between("mu_k", "k 的分量的均值", "mean of k's components", "μ_k");
  const rho = between("rho", "q 与 k 的相关系数", "correlation of q and k", "ρ");
  const tied = toggle(subscripts(html("label", { textContent: "q = k (ρ = 1, μ_k = μ_q)" })), (on) => commit({ tied: on }));
  const repeated = toggle(words("label", "所有分量都相等", "all components equal"), (on) => commit({ repeated: on }));
  const free = html("fieldset", {}, mu_k.row, rho.row);
  const show = (state) => {
    const counted = effective(state);
    d_k.show(state.d_k);
    for (const [name, { show }] of Object.entries({ mu_q, mu_k, rho })) show(counted[name], fixed(counted[name], 2));
    tied.show(state.tied);
    repeated.show(state.repeated);
    free.disabled = state.tied;
  };
  return { nodes: [d_k.row, mu_q.row, free, bar(tied.row), bar(repeated.row)], show };
}

/** The picture in words; given are the table's lines of the scaled score. */
const describe = ([, mean, seenMean], [, variance, seenVariance]) => say(
  `q kᵀ / √dₖ：均值 ${mean}，模拟得 ${seenMean}；方差 ${variance}，模拟得 ${seenVariance}`,
  `q kᵀ / √dₖ: mean ${mean}, simulated ${seenMean}; variance ${variance}, simulated ${seenVariance}`);

function render({ model, el }) {
  const now = () => Object.fromEntries(STATE.map((name) => [name, model.get(name)]));
  const commit = committer(model), start = now(), said = messages(), fixtures = controls(commit), shape = distribution(), table = numbers();
  const outcome = sentence(verdicts(), true);
  let seed = SEED, drawn = sums(SAMPLES, seed);

  function draw() {
    const state = now(), root = Math.sqrt(state.d_k), { mean, variance } = predict(state);
    const list = scores(state, drawn), seen = moments(list);
    const row = (theorem, predicted, name, by) => [theorem, exact(predicted / by), measured(seen[name] / by, seen[`${name}Error`] / by)];
    const texts = [row("0", mean, "mean", 1), row(String(state.d_k), variance, "variance", 1),
      row("0", mean, "mean", root), row("1", variance, "variance", state.d_k)];
    const spread = ({ mean, variance }) => [mean / root, Math.sqrt(variance) / root];
    fixtures.show(state);
    table.show(texts);
    shape.show(list, [[0, 1], spread({ mean, variance }), spread(seen)], root);
    shape.describe(() => describe(texts[2], texts[3]));
    outcome.show(...verdict(state));
  }

  function sample(next) {
    [seed, drawn] = [next, next === seed ? drawn : sums(SAMPLES, next)];
    draw();
  }

  const again = button("重新抽样", "Draw again", () => sample(seed + 1));
  const reset = button("重置", "Reset", () => {
    commit(start);
    sample(SEED);
  });
  const left = html("div", {}, ...fixtures.nodes, bar(again, reset));
  const note = Object.assign(words("p", ...NOTE), { className: "attn-note" });
  const root = html("div", { className: "attn-widget attn-laboratory attn-assumptions" }, html("div", { className: "attn-panes" }, left, shape.figure), outcome.node, table.node, note, said.told);
  return live({ model, el }, root, STATE, draw, () => said.tell(say(...verdict(now())).replaceAll("_", " ")));
}

export default { render };
