import { attend, bars, button, choice, committer, dot, fixed, html, inSight, live, messages, picture, say, scoreTable, set, share, short, slider, svg, toggle, words, write } from "./core.js";

export const REACH = 3; // of both planes, in either direction
const UNIT = 50, MID = 173, TOP = 22, SIDE = 2 * REACH * UNIT; // of their pictures
export const LETTERS = [..."ABCDEF"]; // of the pages
const STATE = ["query", "K", "V", "tied"];

/** Scores of the query against each key, and what attention makes of them. */
export function search(query, K, V) {
  const scores = K.map((k) => dot(query, k));
  return { scores, ...attend(scores, V, query.length) };
}

/** The corners of the smallest convex shape around points of the plane, in order. */
export function hull(points) {
  const sorted = [...points].sort(([a, b], [c, d]) => a - c || b - d);
  const turn = ([a, b], [c, d], [e, f]) => (c - a) * (f - b) - (d - b) * (e - a);
  const half = (row) => row.reduce((corners, point) => {
    while (corners.length > 1 && turn(corners.at(-2), corners.at(-1), point) <= 0) corners.pop();
    return [...corners, point];
  }, []);
  return [...half(sorted).slice(0, -1), ...half(sorted.reverse()).slice(0, -1)];
}

/** Where the point k falls at a right angle onto the line through q and the origin; null where q gives no line. */
export function foot(q, k) {
  const square = q[0] ** 2 + q[1] ** 2;
  return square ? q.map((x) => (x * (q[0] * k[0] + q[1] * k[1])) / square) : null;
}

const place = ([x, y]) => [MID + UNIT * x, TOP + SIDE / 2 - UNIT * y];

/** The direction from the origin to a point, on the screen; up, where there is none. */
function outward([x, y]) {
  const far = Math.hypot(x, y);
  return far ? [x / far, -y / far] : [0, -1];
}

/** The path of an arrow from the origin; its head is the only part that a fill shows in. */
function arrow(point) {
  const [x0, y0] = place([0, 0]), [x, y] = place(point), [ux, uy] = outward(point), length = Math.hypot(x - x0, y - y0);
  if (!length) return "";
  const head = Math.min(13, length), wide = 0.42 * head, [bx, by] = [x - head * ux, y - head * uy];
  return `M${x0} ${y0}L${bx} ${by}M${x} ${y}L${bx - wide * uy} ${by + wide * ux}L${bx + wide * uy} ${by - wide * ux}Z`;
}

/** A plane with its grid; `symbols` are letters of roles for the caption; name([x, y]) writes what the axes are. */
function plane(zh, en, symbols) {
  const made = picture(2 * MID, TOP + SIDE + 36, zh, en), { node } = made;
  for (const role of symbols) made.figure.firstChild.append(" ", html("span", { className: `attn-text-${role}`, textContent: role }));
  const line = (from, to, name) => {
    const [[x1, y1], [x2, y2]] = [place(from), place(to)];
    node.append(svg("line", { x1, y1, x2, y2, class: name }));
  };
  const tick = (text, x, y, anchor) => node.append(svg("text", { x, y, "text-anchor": anchor, class: "attn-tick" }, text));
  for (let i = -REACH; i <= REACH; i++) {
    line([i, -REACH], [i, REACH], i ? "attn-grid" : "attn-axis");
    line([-REACH, i], [REACH, i], i ? "attn-grid" : "attn-axis");
    tick(fixed(i, 0), place([i, 0])[0], TOP + SIDE + 14, "middle");
    tick(fixed(i, 0), MID - SIDE / 2 - 4, place([0, i])[1] + 4, "end");
  }
  const across = svg("text", { x: MID + SIDE / 2, y: TOP + SIDE + 32, "text-anchor": "end" });
  const up = svg("text", { x: MID, y: 13, "text-anchor": "middle" });
  node.append(across, up);
  return { ...made, name([x, y]) {
    across.textContent = `${say(x.zh, x.en)} →`;
    up.textContent = `↑ ${say(y.zh, y.en)}`;
  } };
}

/** A letter near a point of a plane; the returned function puts it so far outside of the point and to the right of that. */
function letter(node, name) {
  const text = svg("text", { "text-anchor": "middle", class: "attn-number" }, name);
  node.append(text);
  return (point, outside, aside) => {
    const [x, y] = place(point), [ux, uy] = outward(point);
    set(text, { x: x + outside * ux - aside * uy, y: y + outside * uy + aside * ux + 5 });
  };
}

/** Letters outside of points; one whose point lies on an earlier one stands farther outside. */
function letters(node, names) {
  const put = names.map((name) => letter(node, name));
  const near = (p, q) => Math.hypot(p[0] - q[0], p[1] - q[1]) < 0.25;
  return (points) => points.forEach((point, j) => put[j](point, 16 + 13 * points.slice(0, j).filter((p) => near(p, point)).length, 0));
}

/** A handle that is dragged over a plane; at() is where it is, onMove gets where it shall go. */
function draggable(handle, node, at, onMove) {
  let grip; // from the pointer to the handle, so that it does not jump when it is taken
  const under = (event) => {
    const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(node.getScreenCTM().inverse());
    return [(x - MID) / UNIT, (TOP + SIDE / 2 - y) / UNIT];
  };
  const onto = (x) => Math.round(Math.min(REACH, Math.max(-REACH, x)) * 20) / 20;
  handle.addEventListener("pointerdown", (event) => {
    event.preventDefault(); // no text is marked
    handle.setPointerCapture(event.pointerId);
    grip = under(event).map((x, c) => at()[c] - x);
  });
  handle.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false }); // else the page scrolls
  handle.addEventListener("pointermove", (event) => {
    if (handle.hasPointerCapture(event.pointerId)) onMove(under(event).map((x, c) => onto(x + grip[c])));
  });
  handle.addEventListener("lostpointercapture", () => handle.dispatchEvent(new Event("change", { bubbles: true })));
}

/** Keys as hollow arrows, the query as a solid one with a handle; dotted, how far each key reaches along the query. */
function matching(names, at, onMove) {
  const made = plane("查询与键", "query and keys", "qk"), { node } = made;
  const feet = names.map(() => svg("path", { class: "attn-foot" }));
  const keys = names.map(() => svg("path", { class: "attn-line-k attn-hollow" }));
  const query = svg("path", { class: "attn-line-q attn-q", "stroke-width": 3 });
  const ring = svg("circle", { r: 11, class: "attn-line-q attn-q attn-faint" });
  const handle = svg("circle", { r: 24, fill: "transparent", class: "attn-handle" });
  node.append(...feet, ...keys, query, ring);
  const nameKeys = letters(node, names), nameQuery = letter(node, "q");
  node.append(handle);
  draggable(handle, node, at, onMove);
  const setKeys = (K, chosen) => {
    keys.forEach((key, j) => {
      set(key, { d: arrow(K[j]), "stroke-width": j === chosen ? 3.5 : 2 });
    });
    nameKeys(K);
  };
  const setQuery = (q, K) => {
    K.map((k) => foot(q, k)).forEach((onto, j) => set(feet[j], { d: onto ? `M${place(K[j])}L${place(onto)}` : "" }));
    set(query, { d: arrow(q) });
    const [cx, cy] = place(q);
    for (const circle of [ring, handle]) set(circle, { cx, cy });
    nameQuery(q, 0, 21); // a key may lie on the same line
  };
  return { ...made, setKeys, setQuery };
}

/** Values as squares, the output as a diamond inside their hull; each weight is the width of a band that pulls it. */
function reading(names) {
  const made = plane("值与输出", "values and output", "vz"), { node } = made;
  const shape = svg("polygon", { class: "attn-line-v attn-v attn-faint", "stroke-dasharray": "5 4" });
  const bands = names.map(() => svg("path", { class: "attn-line-a", "stroke-opacity": 0.55 }));
  const squares = names.map(() => svg("path", { class: "attn-line-v attn-hollow" }));
  const output = svg("path", { class: "attn-z" });
  node.append(shape, ...bands, ...squares, output);
  const nameValues = letters(node, names), nameOutput = letter(node, "z");
  const setValues = (V, chosen) => {
    set(shape, { points: hull(V).map(place).join(" ") });
    V.map(place).forEach(([x, y], j) => set(squares[j], { d: `M${x - 5} ${y - 5}h10v10h-10z`, "stroke-width": j === chosen ? 3.5 : 2 }));
    nameValues(V);
  };
  const setOutput = inSight(made.figure, (z, V, a) => {
    const [x, y] = place(z);
    bands.forEach((band, j) => set(band, { d: `M${x} ${y}L${place(V[j])}`, "stroke-width": 12 * a[j] }));
    set(output, { d: `M${x} ${y - 9}l9 9l-9 9l-9-9z` });
    nameOutput(z, 0, 17);
  });
  return { ...made, setValues, setOutput };
}

/** The weights as bars, each under the name of its page. */
function shares(pages) {
  const row = 42, made = picture(2 * MID, row * pages.length + 24, "注意力权重", "attention weights", "a", "a");
  pages.forEach(({ zh, en }, j) => made.node.append(svg("text", { x: 24, y: row * j + 16, class: "attn-number" }, short(say(zh, en), 44))));
  const names = pages.map((_, j) => LETTERS[j]);
  return { ...made, show: inSight(made.figure, bars(made.node, names, { left: 24, right: 282, top: 0, row, role: "a", thick: 16 })) };
}

/** A slider for each component of a point, under a legend; show moves them and says whose it is. */
function pointRows(legend, axes, get, set) {
  const owner = html("span");
  legend.append(" ", owner);
  const range = { key: 0.1, min: -REACH, max: REACH, step: 0.01 };
  const change = (c, x) => set(get().map((old, i) => (i === c ? x : old)));
  const rows = axes.map(({ zh, en }, c) => slider(words("label", zh, en), range, (x) => change(c, x)));
  const node = html("fieldset", { className: "attn-plane-rows" }, legend, ...rows.map(({ row }) => row));
  return { node, show(name = "") {
    write(owner, name);
    rows.forEach(({ show }, c) => show(get()[c], fixed(get()[c])));
  } };
}

/** Everything that the reader moves; `chosen` is the page whose key and value the sliders hold, redraw shows another. */
function controls(model, commit, names, redraw) {
  const { pages, queries, topics, contents } = model.get("_start"), own = "own"; // a query that is none of those to choose from
  let chosen = 0;
  const ofPage = (part) => [() => model.get(part)[chosen],
    (row) => commit({ [part]: model.get(part).map((old, j) => (j === chosen ? row : old)) })];
  const query = [() => model.get("query"), (q) => commit({ query: q })];
  const start = { query: queries[0].query, K: pages.map((page) => page.key), V: pages.map((page) => page.value), tied: false };
  const reset = button("重置", "Reset", () => commit(start));
  const preset = choice(words("label", "查询", "Query", "q", "q"),
    [...queries.map(({ zh, en }, i) => [i, say(zh, en)]), [own, say("自己移动的", "moved by you")]],
    (i) => (i === own ? redraw() : commit({ query: queries[i].query })));
  const page = choice(words("label", "网页", "Page"), pages.map(({ zh, en }, j) => [j, `${names[j]} ${say(zh, en)}`]), (j) => {
    chosen = Number(j);
    redraw();
  });
  const tied = toggle(words("label", "用键代替值", "use keys as values", "V = K"), (on) => commit({ tied: on }));
  const ofQuery = pointRows(words("legend", "查询", "query", "q", "q"), topics, ...query);
  const ofKey = pointRows(words("legend", "键", "key", "k", "k"), topics, ...ofPage("K"));
  const ofValue = pointRows(words("legend", "值", "value", "v", "v"), contents, ...ofPage("V"));
  const show = (state) => {
    const at = queries.findIndex(({ query: [x, y] }) => x === state.query[0] && y === state.query[1]);
    preset.show(at < 0 ? own : at);
    tied.show(state.tied);
    ofQuery.show();
    for (const rows of [ofKey, ofValue]) rows.show(names[chosen]);
    ofValue.node.disabled = state.tied;
    return chosen;
  };
  return { query, reset, preset, page, tied, ofQuery, ofKey, ofValue, show };
}

/** The table's column of pages. */
const pageHeads = (pages) => pages.map(({ zh, en }, j) => {
  const head = words("th", zh, en);
  head.prepend(`${LETTERS[j]} `);
  return head;
});

/** On the left the query meets the keys, on the right values are read. */
function layout(moved, { match, weights, read, table }, told) {
  const part = (className, ...nodes) => html("div", { className }, ...nodes);
  const left = part("attn-column", match.figure, moved.ofQuery.node, weights.figure);
  const right = part("attn-column", read.figure, part("attn-bar", moved.page.row), moved.ofKey.node, moved.ofValue.node, moved.tied.row);
  const bar = part("attn-bar", moved.preset.row, moved.reset);
  return part("attn-widget attn-search-engine", bar, part("attn-panes", left, right), table.node, told);
}

function render({ model, el }) {
  const { pages, topics, contents } = model.get("_start"), names = LETTERS.slice(0, pages.length), said = messages();
  const moved = controls(model, committer(model), names, () => draw());
  const match = matching(names, ...moved.query), weights = shares(pages), read = reading(names);
  const table = scoreTable(["网页", "page"], pageHeads(pages));
  const point = (row) => `[${row.map((x) => fixed(x)).join(", ")}]`;
  const each = (rows) => rows.map((row, j) => `${names[j]} ${row}`).join(", ");
  const text = () => ({ a: each(now.a.map(share)), z: `z = ${point(now.z)}` });
  let now, shown = {};

  function draw() {
    const state = Object.fromEntries(STATE.map((name) => [name, model.get(name)])), { query, K } = state;
    const V = state.tied ? K : state.V, { scores, seen, a, z } = search(query, K, V), chosen = moved.show(state);
    now = { a, z };
    if (K !== shown.K || chosen !== shown.chosen) match.setKeys(K, chosen);
    if (V !== shown.V || chosen !== shown.chosen) read.setValues(V, chosen);
    if (state.tied !== shown.tied) read.name(state.tied ? topics : contents);
    shown = { K, V, chosen, tied: state.tied };
    match.setQuery(query, K);
    weights.show(a);
    read.setOutput(z, V, a);
    table.show(scores, seen, a);
    match.describe(() => `q = ${point(query)}; ${each(K.map(point))}`);
    weights.describe(() => text().a);
    read.describe(() => `${text().z}; ${each(V.map(point))}`);
  }

  match.name(topics);
  const announce = () => said.tell(say(`注意力权重：${text().a}；输出：${text().z}`, `attention weights: ${text().a}; output: ${text().z}`));
  return live({ model, el }, layout(moved, { match, weights, read, table }, said.told), STATE, draw, announce);
}

export default { render };
