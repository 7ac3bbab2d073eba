import { button, cells, choice, committer, distance, fixed, html, legendHeight, live, messages, picture, say, sentence, set, share, stacks, svg, toggle, words } from "./core.js";

const STATE = ["query", "heads"];
export const HEADS = [["前一个词元", "previous token"], ["第一个词元", "first token"], ["同一个词", "same word"], ["全句平均", "broad average"]];
const WIDTH = 346, ROW = 66, BAR = 22, SMALL = 164; // of the pictures, their rows and bars, and of a small picture

/** Contributions (4, d) of one query, and which heads are on -> their sum. */
export const mixture = (contributions, on) =>
  contributions[0].map((_, c) => contributions.reduce((sum, part, r) => (on[r] ? sum + part[c] : sum), 0));

/** What the output did, in both languages. */
export function verdict(token, on, moved) {
  const off = HEADS.filter((_, r) => !on[r]);
  if (!off.length) return [`四个头全开：${token}的输出是四份贡献之和。`, `All four heads on: the output of ${token} is the sum of four contributions.`];
  return [`关掉 ${off.length} 个头（${off.map(([zh]) => zh).join("、")}）：${token}的输出移动了 ${fixed(moved)}。`,
    `${off.length} off (${off.map(([, en]) => en).join(", ")}): the output of ${token} moved by ${fixed(moved)}.`];
}

/** A frame around a cell or a row of cells, in the query's colour; move(x, y) puts it elsewhere. */
function frame(node, width, height) {
  const ring = svg("rect", { width, height, class: "attn-frame attn-line-q" });
  node.append(ring);
  return (x, y) => set(ring, { x, y });
}

/** The weights of one query in every head, each on the sentence. */
function attending(tokens) {
  const made = picture(WIDTH, ROW * HEADS.length, "查询的注意力权重", "attention weights of the query", "a", "a"), { node } = made;
  const wide = (WIDTH - 2) / Math.max(tokens.length, 5);
  const rows = HEADS.map((names, r) => {
    node.append(svg("text", { x: 2, y: ROW * r + 14 }, `${r} ${say(...names)}`));
    const [row] = cells(node, [""], tokens, { left: 1, top: ROW * r + 34, wide, high: 28, role: "a" });
    return { row, move: frame(node, wide, 29) };
  });
  return { ...made, show(weights, query, on) {
    rows.forEach(({ row, move }, r) => {
      weights[r].forEach((a, j) => row.set(j, a, share(a)));
      row.group.classList.toggle("attn-off", !on[r]);
      move(1 + wide * query, ROW * r + 33.5);
    });
    made.describe(() => weights.map((row, r) => `${say(...HEADS[r])}: ${row.map((a, j) => `${tokens[j]} ${share(a)}`).join(", ")}`).join("; "));
  } };
}

/** All weights of one head as a small matrix, drawn once; show frames the query's row. */
function small(names, r, weights, tokens) {
  const left = 46, size = (SMALL - left - 2) / tokens.length;
  const made = picture(SMALL, SMALL - left + 4, ...names, String(r), "a");
  const rows = cells(made.node, tokens, tokens.map(() => ""), { left, top: 2, wide: size, high: size, role: "a", most: 1 });
  weights.forEach((row, i) => row.forEach((a, j) => rows[i].set(j, a)));
  const move = frame(made.node, size * tokens.length + 2, size);
  return { ...made, show(query, on) {
    move(left - 1, 2 + size * query);
    rows.forEach(({ group }) => group.classList.toggle("attn-off", !on));
    made.describe(() => `${tokens[query]}: ${weights[query].map(share).join(", ")}`);
  } };
}

/** The output in bars stacked from the heads' contributions; a pin at where all four heads put it. */
function reading(tokens, contributions) {
  const place = (j) => `${say("位置", "position").replace(" · ", " ")} ${j}`;
  const names = [...new Set(tokens), ...tokens.map((_, j) => place(j))], heads = HEADS.map((texts, r) => `${r} ${say(...texts)}`);
  const all = tokens.map((_, i) => mixture(contributions.map((rows) => rows[i]), heads));
  const high = Math.ceil(2 * Math.max(...all.flat())) / 2;
  const made = picture(WIDTH, legendHeight(heads, 1) + BAR * names.length + 24, "输出", "output", "y", "z");
  const draw = stacks(made.node, names, heads, { low: 0, high, left: 104, right: 282, row: BAR, gap: 3, columns: 1, role: "z", pin: "plain" });
  return { ...made, all, show(parts, query, output) {
    draw(parts, all[query], output);
    made.describe(() => names.map((name, c) => `${name} ${fixed(output[c])}`).join(", "));
  } };
}

const NOTE = ["这四个头的参数是手工写出来的，不是训练出来的：用来看清多头怎样合成一个输出，不说明真实模型的头做什么。“同一个词”取位置，其余三个头取词；“前一个词元”在句首看自己。小三角：四个头全开时的输出。",
  "The parameters of these four heads are written by hand, not trained: they show how heads make one output, not what heads of real models do. The values of “same word” are positions, those of the other three are words; in the first position, “previous token” looks at itself. Pins: the output with all four heads."];

function render({ model, el }) {
  const { tokens, query: first, weights, contributions } = model.get("_frames"), said = messages(), commit = committer(model);
  const all = HEADS.map(() => true), now = () => [model.get("query"), model.get("heads")], bar = (...nodes) => html("div", { className: "attn-bar" }, ...nodes);
  const query = choice(words("label", "查询", "Query", "q", "q"), tokens.map((token, i) => [i, `${i} ${token}`]), (i) => commit({ query: Number(i) }));
  const numbered = (label, r) => (label.prepend(`${r} `), label);
  const switches = HEADS.map((names, r) => toggle(numbered(words("label", ...names), r),
    (on) => commit({ heads: model.get("heads").map((old, k) => (k === r ? on : old)) })));
  const reset = button("重置", "Reset", () => commit({ query: first, heads: all }));
  const attended = attending(tokens), output = reading(tokens, contributions);
  const pictures = HEADS.map((names, r) => small(names, r, weights[r], tokens));
  const heads = html("fieldset", { className: "attn-switches" }, words("legend", "头", "heads"), ...switches.map(({ row }) => row));
  const column = (...nodes) => html("div", { className: "attn-column" }, ...nodes);
  const panes = html("div", { className: "attn-panes" }, column(heads, attended.figure), column(output.figure));
  const on = (bits) => HEADS.map((_, r) => Boolean((bits >> r) & 1)), name = (token) => `“${token}”`;
  const outcome = sentence(tokens.flatMap((token) => Array.from({ length: 2 ** HEADS.length }, (_, bits) => verdict(name(token), on(bits), 1)))), note = Object.assign(words("p", ...NOTE), { className: "attn-note" });
  const matrices = html("div", { className: "attn-small" }, ...pictures.map(({ figure }) => figure));
  const root = html("div", { className: "attn-widget attn-head-mixer" }, bar(query.row, reset), outcome.node, panes, matrices, note, said.told);

  function results() {
    const [i, on] = now(), parts = contributions.map((rows) => rows[i]), y = mixture(parts, on);
    return { y, parts: parts.map((part, r) => (on[r] ? part : part.map(() => 0))), moved: distance(y, output.all[i]) };
  }
  const told = (moved) => verdict(name(tokens[now()[0]]), now()[1], moved);

  function draw() {
    const [i, on] = now(), { y, parts, moved } = results();
    query.show(i);
    switches.forEach(({ show }, r) => show(on[r]));
    attended.show(weights.map((rows) => rows[i]), i, on);
    pictures.forEach(({ show }, r) => show(i, on[r]));
    output.show(parts, i, y);
    outcome.show(...told(moved));
  }

  const announce = () => said.tell(say(...told(results().moved)));
  return live({ model, el }, root, STATE, draw, announce);
}

export default { render };
