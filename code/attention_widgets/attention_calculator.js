import { attend, bars, button, choice, committer, fixed, html, legendHeight, live, messages, numberField, picture, say, scoreTable, share, slider, stacks, toggle, words, write } from "./core.js";

const LEAST = 2, MOST = 6; // tokens
const LIMIT = 99; // of a value that is typed in
const PARTS = ["tokens", "scores", "values", "d_k", "scaled"]; // what an example gives and the model holds

/** A bar for each component of z, stacked from the parts a_j v_j. */
function mixture(node, tokens, values) {
  const low = Math.min(0, ...values.flat()), high = Math.max(0, ...values.flat()) || (low < 0 ? 0 : 1); // z stays within them
  const names = values[0].map((_, c) => `z[${c}]`);
  return stacks(node, names, tokens, { low, high, left: 44, right: 282, row: 40, gap: 7, columns: 3, role: "v", pin: "z" });
}

/** A slider for each score; the returned function moves them. */
function scoreRows(pane, tokens, reach, set) {
  const range = { key: 0.1, min: -reach, max: reach, step: 0.01 };
  const rows = tokens.map((token, j) => slider(html("label", { textContent: token, title: token }), range, (s) => set(j, s)));
  pane.replaceChildren(...rows.map(({ row }) => row));
  const spoken = (s, a) => `${fixed(s)}, ${say("注意力权重", "attention weight")} ${share(a)}`;
  return (scores, a) => rows.forEach(({ show }, j) => show(scores[j], fixed(scores[j]), spoken(scores[j], a[j])));
}

/** A number field for each value; the returned function fills them. */
function valueRows(pane, tokens, d_v, set) {
  const field = (token, j, c) => numberField(`${say("值", "value")} ${token} [${c}]`, LIMIT, (x) => set(j, c, x));
  const rows = tokens.map((token, j) => Array.from({ length: d_v }, (_, c) => field(token, j, c)));
  const name = (token) => html("span", { className: "attn-name", textContent: token, title: token });
  pane.style.setProperty("--attn-columns", d_v);
  pane.replaceChildren(...rows.flatMap((fields, j) => [name(tokens[j]), ...fields.map(({ node }) => node)]));
  return (values) => rows.forEach((fields, j) => fields.forEach(({ show }, c) => show(values[j][c])));
}

/** Pictures and table for these tokens and values; the returned function draws scores and weights into them. */
function views(panes, tokens, values) {
  const weights = picture(346, 34 * tokens.length + 24, "注意力权重", "attention weights", "a", "a");
  const output = picture(346, legendHeight(tokens, 3) + 40 * values[0].length + 24, "输出", "output", "z = Σ aⱼvⱼ", "z");
  const drawWeights = bars(weights.node, tokens, { left: 66, right: 282, top: 0, row: 34, role: "a" });
  const drawOutput = mixture(output.node, tokens, values);
  const numbers = scoreTable(["词元", "token"], tokens.map((token) => html("th", { textContent: token })));
  panes.weights.replaceChildren(weights.figure);
  panes.output.replaceChildren(output.figure);
  panes.table.replaceChildren(numbers.node);
  return (state, result, text) => {
    drawWeights(result.a);
    drawOutput(result.parts, result.z, result.z);
    numbers.show(state.scores, state.scaled ? result.seen : null, result.a);
    weights.describe(() => text().a);
    output.describe(() => text().z);
  };
}

/** The controls that stay: choice of example, reset, scaling, d_k, number of tokens. */
function controls(model, commit) {
  const examples = model.get("examples");
  const parts = (index) => Object.fromEntries(PARTS.map((part) => [part, examples[index][part]]));
  const load = (index) => commit({ example: index, ...parts(index) });
  const [tokens, scores, values] = PARTS.slice(0, 3).map((part) => () => model.get(part));
  const next = () => (tokens().every((token) => /^\d+$/.test(token)) ? "" : "t") + tokens().length;
  const grow = () => commit({ tokens: [...tokens(), next()], scores: [...scores(), 0],
    values: [...values(), values()[0].map(() => 0)] });
  const shrink = () => commit({ tokens: tokens().slice(0, -1), scores: scores().slice(0, -1), values: values().slice(0, -1) });
  const widths = [...new Set([1, 2, 4, 8, 16, 32, 64, 128, ...examples.map(({ d_k }) => d_k)])].sort((a, b) => a - b);
  const names = examples.map(({ zh, en }, i) => [i, say(zh, en)]);
  const example = choice(words("label", "示例", "Example"), names, (i) => load(Number(i)));
  const scaled = toggle(words("label", "除以", "divide by", "√dₖ"), (on) => commit({ scaled: on }));
  const d_k = choice(words("label", "键的分量数", "key width", "dₖ"), widths.map((d) => [d, d]), (d) => commit({ d_k: Number(d) }));
  const more = button("添加词元", "Add token", grow), fewer = button("删除词元", "Remove token", shrink);
  const reset = button("重置", "Reset", () => load(model.get("example")));
  const root = html("span");
  const show = (state) => {
    write(root, `√dₖ = ${fixed(Math.sqrt(state.d_k), 2)}`);
    example.show(model.get("example"));
    scaled.show(state.scaled);
    d_k.show(state.d_k);
    more.disabled = state.tokens.length >= MOST;
    fewer.disabled = state.tokens.length <= LEAST;
  };
  return { example, scaled, d_k, root, more, fewer, reset, show };
}

/** On the left what the reader moves, on the right what it does. */
function layout({ example, reset, scaled, d_k, root, more, fewer }, panes, { told, warned }) {
  const bar = (...nodes) => html("div", { className: "attn-bar" }, ...nodes);
  const group = (legend, ...nodes) => html("fieldset", {}, legend, ...nodes);
  const scores = group(words("legend", "分数", "scores", "s"), panes.scores, bar(d_k.row, root), bar(scaled.row), bar(more, fewer));
  const values = group(words("legend", "值", "values", "V", "v"), panes.values, warned);
  const grid = html("div", { className: "attn-panes" }, scores, panes.weights, values, panes.output);
  return html("div", { className: "attn-widget" }, bar(example.row, reset), grid, panes.table, told);
}

function render({ model, el }) {
  const said = messages();
  const panes = { scores: html("div"), weights: html("div"), values: html("div", { className: "attn-values" }),
    output: html("div"), table: html("div") };
  const commit = committer(model);
  const setScore = (j, s) => commit({ scores: model.get("scores").map((old, i) => (i === j ? s : old)) });
  const setValue = (j, c, x) => x === null
    ? said.warn(`请输入 −${LIMIT} 到 ${LIMIT} 之间的数；输出仍按上一个有效的数计算。`,
      `Enter a number from −${LIMIT} to ${LIMIT}; the output still uses the last valid one.`)
    : commit({ values: model.get("values").map((v, i) => v.map((old, k) => (i === j && k === c ? x : old))) });
  const fixtures = controls(model, commit);
  const reach = Math.max(6, ...model.get("examples").flatMap(({ scores }) => scores.map((s) => Math.ceil(Math.abs(s)))));
  let shown = {}, text, moveScores, fillValues, paint;

  function build(tokens, values) { // only what other tokens or other values need
    const next = { rows: JSON.stringify([tokens, values[0].length]), pictures: JSON.stringify([tokens, values]) };
    if (next.rows !== shown.rows) moveScores = scoreRows(panes.scores, tokens, reach, setScore);
    if (next.rows !== shown.rows) fillValues = valueRows(panes.values, tokens, values[0].length, setValue);
    if (next.pictures !== shown.pictures) paint = views(panes, tokens, values);
    shown = next;
  }

  function draw() {
    const state = Object.fromEntries(PARTS.map((part) => [part, model.get(part)]));
    const { tokens, scores, values, d_k, scaled } = state;
    if (tokens.length !== scores.length || tokens.length !== values.length) return; // the other traits are on their way
    build(tokens, values);
    const result = attend(scores, values, d_k, scaled);
    text = () => ({ a: tokens.map((token, j) => `${token} ${share(result.a[j])}`).join(", "), z: `z = [${result.z.map((x) => fixed(x)).join(", ")}]` });
    fixtures.show(state);
    moveScores(scores, result.a);
    fillValues(values);
    paint(state, result, text);
    said.warn("");
  }

  const announce = () => said.tell(say(`注意力权重：${text().a}；输出：${text().z}`, `attention weights: ${text().a}; output: ${text().z}`));
  return live({ model, el }, layout(fixtures, panes, said), ["example", ...PARTS], draw, announce);
}

export default { render };
