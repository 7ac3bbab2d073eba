import { button, committer, dot, fixed, html, live, messages, picture, say, scale, sentence, set, share, short, slider, softmax, svg, toggle, words, wordsWithSubscripts, write } from "./core.js";

const STATE = ["factor", "direction", "identity"];
export const LONGEST = 10; // times the given s
const KINDS = [["点积", "dot", "s hᵀ"], ["缩放", "scaled", "s hᵀ / √d, d = 2"], ["一般形式", "general", "s W hᵀ"], ["加性", "additive", "tanh(s W₁ + h W₂) vᵀ"]];
const ROW = 28, TOP = 22, ZERO = 104, HALF = 48, WEIGHTS = 222; // of a panel: its rows, where they begin, the two places of its bars

/** Row times matrix. */
const times = (row, M) => M[0].map((_, c) => row.reduce((sum, x, r) => sum + x * M[r][c], 0));

/** The row of this length, at this angle in degrees. */
export const towards = (length, angle) => [Math.cos, Math.sin].map((f) => length * f((angle * Math.PI) / 180));

/** attention_mechanism.dot_scores, scaled_scores, general_scores and additive_scores of one query. */
export const dotScores = (s, h) => h.map((key) => dot(s, key));
export const scaledScores = (s, h) => dotScores(s, h).map((e) => e / Math.sqrt(s.length));
export const generalScores = (s, h, W) => dotScores(times(s, W), h);
export const additiveScores = (s, h, W_1, W_2, v) => {
  const ofQuery = times(s, W_1);
  return h.map((key) => dot(times(key, W_2).map((x, l) => Math.tanh(ofQuery[l] + x)), v));
};

/** No additive score is farther from 0. */
export const bound = (v) => v.reduce((sum, x) => sum + Math.abs(x), 0);

/** The query, and the scores and weights that the four functions give. */
export function compare({ s: given, h, W, W_1, W_2, v }, { factor, direction, identity }) {
  const s = towards(factor * Math.hypot(...given), direction), one = s.map((_, r) => s.map((_, c) => Number(r === c)));
  const scores = [dotScores(s, h), scaledScores(s, h), generalScores(s, h, identity ? one : W), additiveScores(s, h, W_1, W_2, v)];
  return { s, scores, weights: scores.map(softmax) };
}

/** The end of a scale that holds x, a round number. */
export function roundUp(x) {
  const ten = 10 ** Math.floor(Math.log10(Math.max(1, x)));
  return ten * [1, 2, 3, 4, 5, 6, 8, 10].find((k) => k * ten >= x);
}

const plain = (x) => fixed(x, 2).replace(/\.?0+$/, "");
const pair = (row) => `(${row.map((x) => fixed(x, 2)).join(", ")})`;

/** How far apart the scores are, in both languages. */
function spread(row) {
  const most = Math.max(...row) - Math.min(...row);
  if (most === 0) return ["相差 0", "by 0"];
  if (most < 5e-4) return ["相差不到 0.001", "by less than 0.001"];
  return [`最多相差 ${fixed(most, 3)}`, `by up to ${fixed(most, 3)}`];
}

/** The keys with the largest weight, several where three decimals hardly tell them apart. */
const favoured = (names, a) => names.filter((_, j) => a[j] > Math.max(...a) - 5e-4).join(" ≈ ");

/** What the numbers say, in both languages. */
export function verdict({ names, v }, { factor, identity }, { scores, weights }) {
  const chosen = weights.map((a) => favoured(names.map((name) => short(name, 8)), a));
  const largest = weights.map((a) => share(Math.max(...a))), [dots, additive] = [spread(scores[0]), spread(scores[3])];
  const list = (c) => KINDS.map((kind, i) => `${kind[c]} ${chosen[i]} ${largest[i]}`).join(["，", ", "][c]);
  const state = identity ? ["W = I：一般形式与点积完全相同。", "W = I: general and dot are the same."]
    : new Set(chosen).size === 1 ? ["四种分数看重同一个键。", "All four favour the same key."] : ["四种分数并不都看重同一个键。", "They do not all favour the same key."];
  const first = factor ? [`权重最大的键：${list(0)}。${state[0]}`, `Largest weight: ${list(1)}. ${state[1]}`]
    : [`s 的长度为 0：前三种分数全是 0，权重都是 ${largest[0]}。加性分数仍然看键 h，权重最大的是 ${chosen[3]} ${largest[3]}。`,
      `s has length 0: the first three scores are all 0, and each weight is ${largest[0]}. The additive score still looks at h; its largest weight: ${chosen[3]} ${largest[3]}.`];
  return [`${first[0]}点积分数${dots[0]}，加性分数${additive[0]}，后者不会超出 ±${plain(bound(v))}。`,
    `${first[1]} The dot scores differ ${dots[1]}, the additive ones ${additive[1]}; these cannot leave ±${plain(bound(v))}.`];
}

/** What the verdict comes to all around, for short queries and long ones. */
const verdicts = (start) => [0, 0.5, 1, 3, LONGEST].flatMap((factor) => Array.from({ length: 24 }, (_, i) => 15 * i).flatMap((direction) =>
  [false, true].map((identity) => ({ factor, direction, identity })))).map((state) => verdict(start, state, compare(start, state)));

/** The query and the keys as arrows on a round disc, with their components; a query that is too long runs off the rim. */
function disc({ names, h, s: given }) {
  const made = picture(346, 164, "查询与键", "query and keys"), { node } = made, [x0, y0, rim] = [82, 82, 80], longest = 58;
  const unit = longest / Math.max(...[given, ...h].map((row) => Math.hypot(...row)));
  const text = (x, y, more) => node.appendChild(svg("text", { x, y, ...more }));
  const angle = ([x, y]) => (Math.atan2(y, x) * 180) / Math.PI;
  for (const [role, symbol] of [["q", "s"], ["k", "h"]]) made.figure.firstChild.append(" ", html("span", { className: `attn-text-${role}`, textContent: symbol }));
  node.append(svg("circle", { cx: x0, cy: y0, r: rim, class: "attn-box" }),
    svg("path", { d: `M${x0 - rim} ${y0}h${2 * rim}M${x0} ${y0 - rim}v${2 * rim}`, class: "attn-grid" }));
  const arrow = (role, name, along, aside) => {
    const path = node.appendChild(svg("path", { fill: "none", class: `attn-line-${role}`, "stroke-width": role === "q" ? 3 : 2 }));
    const label = text(0, 0, { "text-anchor": "middle", class: "attn-number" });
    label.textContent = name;
    return (length, degrees) => {
      const end = Math.min(rim, length * unit), head = end < rim ? Math.min(9, end) : 0, [x, y] = towards(Math.min(end, longest) + along, degrees), [up, left] = towards(aside, degrees);
      set(path, { d: `M0 0H${end}m${-head} ${-head / 2}l${head} ${head / 2}l${-head} ${head / 2}`, transform: `translate(${x0} ${y0}) rotate(${-degrees})` });
      set(label, { x: x0 + x - left, y: y0 - y - up + 4 });
    };
  };
  h.forEach((key, j) => arrow("k", short(names[j], 4), 11, 0)(Math.hypot(...key), angle(key)));
  const query = arrow("q", "s", -18, 14), rows = ["s", "|s|", ...names].map((_, i) => text(172, 30 + 26 * i));
  names.forEach((name, j) => write(rows[j + 2], `${short(name, 4)} = ${pair(h[j])}`));
  return { ...made, show(s, degrees) {
    query(Math.hypot(...s), degrees);
    write(rows[0], `s = ${pair(s)}`);
    write(rows[1], `|s| = ${fixed(Math.hypot(...s), 2)}`);
    made.describe(() => rows.map((row) => row.textContent).join("; "));
  } };
}

/** One function: signed bars of its scores, bars of its weights, and lines at `limit`, if it has one. */
function panel([zh, en], names, note, limit) {
  const bottom = TOP + ROW * names.length, made = picture(346, bottom + 18, `${zh}分数`, `${en} score`), { node } = made;
  const text = (x, y, anchor, tick, content = "") => node.appendChild(svg("text", { x, y, "text-anchor": anchor, class: tick ? "attn-tick" : "" }, content));
  const upright = (x, name, more) => node.appendChild(svg("line", { x1: x, x2: x, y1: TOP, y2: bottom, class: name, ...more }));
  text(ZERO, 12, "middle", true, `${say("分数", "score")} e`);
  text(WEIGHTS + 30, 12, "middle", true, `${say("权重", "weight")} α`);
  for (const side of [-1, 0, 1]) upright(ZERO + HALF * side, side ? "attn-grid" : "attn-axis");
  text(ZERO, bottom + 14, "middle", true, "0");
  const ends = [-1, 1].map((side) => text(ZERO + HALF * side, bottom + 14, "middle", true));
  scale(node, [0, 1], (a) => WEIGHTS + 60 * a, TOP, bottom);
  const walls = limit === undefined ? [] : [-1, 1].map(() => upright(0, "attn-line-plain", { "stroke-width": 2 }));
  const rows = names.map((name, j) => {
    const y = TOP + ROW * j + 5, base = y + 14;
    const bar = (role, more) => node.appendChild(svg("rect", { x: WEIGHTS, y, height: ROW - 10, rx: 2, class: `attn-${role}`, ...more }));
    text(52, base, "end", false, short(name, 4));
    return { score: bar("plain", { "fill-opacity": 0.55 }), e: text(214, base, "end"), weight: bar("a"), a: text(345, base, "end") };
  });
  made.figure.insertBefore(note, node);
  return { ...made, show(scores, weights, reach) {
    const unit = HALF / reach;
    ends.forEach((end, i) => write(end, fixed(i ? reach : -reach, 0)));
    walls.map((wall, i) => [wall, ZERO + unit * (i ? limit : -limit)]).forEach(([wall, x]) => set(wall, { x1: x, x2: x }));
    rows.forEach(({ score, e, weight, a }, j) => {
      set(score, { x: ZERO + unit * Math.min(0, scores[j]), width: unit * Math.abs(scores[j]) });
      set(weight, { width: 60 * weights[j] });
      write(e, fixed(scores[j], 3));
      write(a, share(weights[j]));
    });
    made.describe(() => names.map((name, j) => `${name}: ${say("分数", "score")} ${fixed(scores[j], 3)}, ${say("权重", "weight")} ${share(weights[j])}`).join("; "));
  } };
}

/** What each function computes, in a span that draw() may rewrite, and how many parameters it has. */
function notes({ h, W, v }) {
  const [d_s, d_h, d_a] = [W.length, h[0].length, v.length], none = ["没有参数。", "No parameters."];
  const counts = [none, none, ...[`d_s · d_h = ${d_s * d_h}`, `d_a(d_s + d_h + 1) = ${d_a * (d_s + d_h + 1)}`].map((n) => [`参数个数：${n}`, `Parameters: ${n}`])];
  const formulas = KINDS.map(([, , formula]) => html("span", { textContent: `e = ${formula}` }));
  formulas[3].textContent += `, |e| ≤ ‖v‖₁ = ${plain(bound(v))}`;
  return counts.map((texts, i) => {
    const node = Object.assign(wordsWithSubscripts("p", ...texts), { className: "attn-note" });
    node.prepend(formulas[i]);
    return { node, formula: formulas[i] };
  });
}

const NOTE = ["四幅图的分数用同一刻度，随最大的分数而变；粗竖线是加性分数的界 ±‖v‖₁。softmax 只看分数之差：相差同样多，权重之比就相同。",
  "All four panels use one scale for the scores, which adapts to the largest of them; the thick vertical lines are the bound ±‖v‖₁ of the additive score. The softmax sees only differences of scores: equal differences give equal ratios of weights."];

function render({ model, el }) {
  const start = model.get("_start"), { names } = start, said = messages(), commit = committer(model);
  const now = () => Object.fromEntries(STATE.map((name) => [name, model.get(name)]));
  const factor = slider(words("label", "查询的长度", "length of the query", "s", "q"), { min: 0, max: LONGEST, step: 0.1 }, (x) => commit({ factor: x }));
  const direction = slider(words("label", "查询的方向", "direction of the query", "s", "q"), { min: 0, max: 360, step: 1 }, (x) => commit({ direction: x }));
  const identity = toggle(words("label", "一般形式取", "general score with", "W = I"), (on) => commit({ identity: on }));
  const reset = button("重置", "Reset", () => commit({ factor: 1, direction: start.direction, identity: false }));
  const arrows = disc(start), about = notes(start), limit = bound(start.v);
  const panels = KINDS.map((kind, i) => panel(kind, names, about[i].node, i === 3 ? limit : undefined));
  const outcome = sentence(verdicts(start)), note = Object.assign(words("p", ...NOTE), { className: "attn-note" });
  const bar = (...nodes) => html("div", { className: "attn-bar" }, ...nodes), panes = (...nodes) => html("div", { className: "attn-panes" }, ...nodes);
  const controls = html("div", {}, factor.row, direction.row, bar(identity.row, reset));
  const root = html("div", { className: "attn-widget attn-laboratory attn-scores" }, panes(arrows.figure, controls), outcome.node, panes(...panels.map(({ figure }) => figure)), note, said.told);

  function draw() {
    const state = now(), shown = compare(start, state), reach = roundUp(Math.max(limit, ...shown.scores.flat().map(Math.abs)));
    factor.show(state.factor, `× ${fixed(state.factor, 1)}`);
    direction.show(state.direction, `${fixed(state.direction, 1).replace(".0", "")}°`);
    identity.show(state.identity);
    arrows.show(shown.s, state.direction);
    panels.forEach(({ show }, i) => show(shown.scores[i], shown.weights[i], reach));
    write(about[2].formula, `e = ${KINDS[2][2]}, W = ${state.identity ? "I" : `[${start.W.map((row) => `[${row.map(plain).join(", ")}]`).join(", ")}]`}`);
    outcome.show(...verdict(start, state, shown));
  }

  return live({ model, el }, root, STATE, draw, () => said.tell(say(...verdict(start, now(), compare(start, now())))));
}

export default { render };
