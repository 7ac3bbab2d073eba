import { cell, committer, differs, html, live, messages, say, slider, words, write } from "./core.js";

const named = (step) => say(`第 ${step} 步`, `step ${step}`);

/** A table of one film: rows are queries, columns are keys; the returned function shows a frame. */
function screen(name, queries, keys) {
  const corner = words("th", "查询 \\ 键", "query \\ key");
  const heads = keys.map((key) => html("th", { scope: "col", textContent: key }));
  const rows = queries.map((query) => ({ query: html("th", { scope: "row", textContent: query }), cells: keys.map(() => html("td")) }));
  const table = html("table", { className: "attn-film" }, html("caption", { textContent: name }),
    html("thead", {}, html("tr", {}, corner, ...heads)),
    html("tbody", {}, ...rows.map(({ query, cells }) => html("tr", {}, query, ...cells))));
  const isNew = queries.map(() => keys.map(() => differs()));
  const show = (A) => rows.forEach(({ cells }, i) => cells.forEach((td, j) => {
    write(td, cell(A[i][j]));
    const dark = `${(50 * A[i][j]).toFixed(1)}%`;
    if (isNew[i][j](dark)) td.style.setProperty("--attn-weight", dark);
  }));
  return { table, show };
}

/** For a screen reader: where each query looks most, in each film. */
export function summary(names, frames, queries, keys) {
  const most = (row) => {
    const a = Math.max(...row);
    return a > 0 ? `${keys[row.indexOf(a)]} ${cell(a)}` : cell(0);  // a query that sees no key looks nowhere
  };
  return names.map((name, f) => `${name}: ` + frames[f].map((row, i) => `${queries[i]} → ${most(row)}`).join(", ")).join("; ");
}

function render({ model, el }) {
  const { steps, queries, keys, names, films } = model.get("_reel");
  const said = messages(), commit = committer(model);
  const screens = names.map((name) => screen(name, queries, keys));
  const range = { key: 1, min: 0, max: steps.length - 1, step: 1 };
  const control = slider(words("label", "步", "step"), range, (frame) => commit({ frame }));
  const panes = html("div", { className: "attn-panes" }, ...screens.map(({ table }) => table));
  const root = html("div", { className: "attn-widget attn-weights-film" }, control.row, panes, said.told);
  const frames = () => films.map((film) => film[model.get("frame")]);

  function draw() {
    const step = steps[model.get("frame")];
    control.show(model.get("frame"), String(step), named(step));
    frames().forEach((A, f) => screens[f].show(A));
  }

  const announce = () => said.tell(`${named(steps[model.get("frame")])}. ${summary(names, frames(), queries, keys)}`);
  return live({ model, el }, root, ["frame"], draw, announce);
}

export default { render };
