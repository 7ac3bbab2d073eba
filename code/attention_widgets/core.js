/** Shared by all widgets: words in the page's language, elements, labelled controls, pictures, messages. */

/** On the site "zh", "en" or "both" (the body says so); anywhere else, Jupyter included, both. */
const view = () => globalThis.document?.body?.dataset.bilingual ?? "both";

/** The words for this page, as plain text. */
export const say = (zh, en, lang = view()) => ({ zh, en })[lang] ?? `${zh} · ${en}`;

/** A number as text: fixed decimals, a true minus sign, never "−0". */
export function fixed(x, digits = 4) {
  const text = x.toFixed(digits);
  return text.replace("-", Number(text) === 0 ? "" : "−");
}

/** A share from 0 to 1 with four decimals; one that is close to an end, but not there, says so. */
export const share = (a) => (a > 0 && a < 5e-5 ? "<0.0001" : a < 1 && a >= 1 - 5e-5 ? ">0.9999" : fixed(a));

/** An id that no other widget on the page has; each module carries its own copy of this file, so the page counts. */
const fresh = () => `attn-${(globalThis.attentionIds = (globalThis.attentionIds ?? 0) + 1)}`;

/** An HTML element with properties and children. */
export function html(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}

/** An SVG element with attributes and text. */
export function svg(tag, attributes = {}, text = "") {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.textContent = text;
  return node;
}

/** The words for this page in an element, each language in a span that names it; then a symbol, in its role's colour. */
export function words(tag, zh, en, symbol = "", role = "") {
  const parts = [["zh-Hans", zh], ["en", en]].filter(([lang]) => view() === "both" || lang.startsWith(view()));
  const spans = parts.map(([lang, textContent]) => html("span", { lang, textContent }));
  if (symbol) spans.push(html("span", { className: role && `attn-text-${role}`, textContent: symbol }));
  return html(tag, {}, ...spans.flatMap((span, i) => (i ? [" ", span] : [span])));
}

/** "n_q" as n and a subscript, in an element whose text it was; classOf may give a subscript a class, by what stands before it. */
export function subscripts(node, classOf = () => "") {
  const parts = node.textContent.split(/_(\w+)/);
  const sub = (textContent, i) => html("sub", { textContent, className: classOf(parts[i - 1]) });
  node.replaceChildren(...parts.map((part, i) => (i % 2 ? sub(part, i) : part)));
  return node;
}

/** words() with subscripts. */
export function wordsWithSubscripts(tag, ...given) {
  const node = words(tag, ...given);
  [...node.children].forEach((span) => subscripts(span));
  return node;
}

/** Writes a text unless it stands there already, as most do; to ask the page for it would take as long as to write it. */
export function write(node, text) {
  if (node.written !== text) node.textContent = node.written = text;
}

/** An input or select that keeps its keys in JupyterLab, which would take the arrows for itself. */
function control(tag, properties) {
  const node = html(tag, { id: fresh(), ...properties });
  node.dataset.lmSuppressShortcuts = "true";
  return node;
}

export function button(zh, en, onclick) {
  return Object.assign(words("button", zh, en), { type: "button", onclick });
}

/** A list to choose from; options are [value, text]; show(value) moves it from outside, and adds what it lacks. */
export function choice(label, options, onChange) {
  const select = control("select", { onchange: () => onChange(select.value) });
  const add = ([value, textContent]) => select.append(html("option", { value, textContent }));
  options.forEach(add);
  const show = (value) => {
    if (select.value === String(value)) return;
    select.value = value;
    if (select.value !== String(value)) add([value, value]);
    select.value = value;
  };
  return { row: html("div", { className: "attn-field" }, Object.assign(label, { htmlFor: select.id }), select), show };
}

/** A switch. */
export function toggle(label, onChange) {
  const input = control("input", { type: "checkbox", onchange: () => onChange(input.checked) });
  const row = html("div", { className: "attn-field" }, input, Object.assign(label, { htmlFor: input.id }));
  return { row, show: (on) => (input.checked = on) };
}

/** A number field between −limit and limit; onInput gets the number, or null when there is none in the field. */
export function numberField(name, limit, onInput) {
  const input = control("input", { type: "number", step: "0.5", min: -limit, max: limit, ariaLabel: name, inputMode: "decimal" });
  const good = () => Number.isFinite(input.valueAsNumber) && Math.abs(input.valueAsNumber) <= limit;
  input.oninput = () => {
    input.ariaInvalid = String(!good());
    onInput(good() ? input.valueAsNumber : null);
  };
  const show = (value) => {
    if (input.valueAsNumber !== value) input.value = value;
    input.ariaInvalid = "false";
  };
  return { node: input, show };
}

/** A row of label, range input and value; arrows move by `key`, with Shift by the range's own step. */
export function slider(label, { key, ...range }, onInput) {
  let current; // exact, where the input itself rounds to its step
  const input = control("input", { type: "range", ...range });
  const output = html("output", { htmlFor: input.id });
  const row = html("div", { className: "attn-row" }, Object.assign(label, { htmlFor: input.id }), input, output);
  input.addEventListener("input", () => onInput(Number(input.value)));
  input.addEventListener("keydown", (event) => {
    const way = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
    if (!key || !way || event.shiftKey || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    onInput(Number(Math.min(range.max, Math.max(range.min, current + way * key)).toPrecision(12)));
    input.dispatchEvent(new Event("change", { bubbles: true }));
  });
  const show = (value, text, spoken = text) => {
    current = value;
    if (Number(input.value) !== value) input.value = value;
    output.value = text;
    input.setAttribute("aria-valuetext", spoken);
  };
  return { row, show };
}

/** A slider over a list of numbers that grow; onPick gets one of them. */
export function listSlider(label, list, onPick) {
  const { row, show } = slider(label, { min: 0, max: list.length - 1, step: 1 }, (i) => onPick(list[i]));
  return { row, show: (value, text = String(value)) => show(list.findIndex((x) => x >= value), text) };
}

/** What the widget has to say: `tell` to a screen reader, once a change is finished; `warn` to everybody, "" when all is well. */
export function messages() {
  const told = html("p", { className: "attn-told" }), warned = html("p", { className: "attn-warned" });
  told.setAttribute("aria-live", "polite");
  warned.setAttribute("aria-live", "polite");
  const tell = (text) => (told.textContent = text);
  const warn = (zh, en) => warned.replaceChildren(...(zh ? [words("span", zh, en)] : []));
  return { told, warned, tell, warn };
}

/** A picture with a visible caption and a title; describe(text) says what it shows now. */
export function picture(width, height, zh, en, symbol, role) {
  const [title, desc] = [svg("title", { id: fresh(), class: "nohighlight" }, say(zh, en)), svg("desc", { id: fresh(), class: "nohighlight" })];
  const node = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", class: "attn-svg" });
  node.setAttribute("aria-labelledby", title.id);
  node.setAttribute("aria-describedby", desc.id);
  node.append(title, desc);
  const caption = words("figcaption", zh, en, symbol, role);
  caption.ariaHidden = "true"; // the title says it already
  return { figure: html("figure", {}, caption, node), node, describe: (text) => (desc.textContent = text) };
}

/** A text cut to the room it has. */
export const short = (text, most) => ([...text].length > most ? [...text].slice(0, most - 1).join("") + "…" : text);

const HATCHES = ["", "M0 6L6 0", "M3 0V6", "M0 0L6 6", "M0 3H6", "M0 0L6 6M0 6L6 0"];

/** Fills that differ by pattern, not by colour, one for each of n things; they take the colour of `role`. */
export function hatches(node, n, role) {
  const defs = svg("defs"), ids = Array.from({ length: n }, fresh);
  ids.forEach((id, j) => {
    const pattern = svg("pattern", { id, width: 6, height: 6, patternUnits: "userSpaceOnUse" });
    const ground = svg("rect", { width: 6, height: 6, class: `attn-${role}`, "fill-opacity": j % HATCHES.length ? 0.25 : 0.7 });
    pattern.append(ground, svg("path", { d: HATCHES[j % HATCHES.length], class: `attn-line-${role}`, "stroke-width": 1.6 }));
    defs.append(pattern);
  });
  node.append(defs);
  return ids.map((id) => `url(#${id})`);
}

/** A scale along the bottom of a picture: a faint line and a number at each tick; x(value) is its place. */
export function scale(node, ticks, x, top, bottom) {
  for (const tick of ticks) {
    node.append(svg("line", { x1: x(tick), x2: x(tick), y1: top, y2: bottom, class: "attn-grid" }));
    node.append(svg("text", { x: x(tick), y: bottom + 14, "text-anchor": "middle", class: "attn-tick" }, fixed(tick, 4).replace(/\.?0+$/, "")));
  }
}

/** Horizontal bars for shares from 0 to 1, each with its name and its number; the returned function redraws them.
    A bar less `thick` than its row stands at the bottom of it, and leaves room for a line of text above. */
export function bars(node, names, { left, right, top, row, role, thick = row - 10 }) {
  const x = (share) => left + share * (right - left);
  scale(node, [0, 0.5, 1], x, top, top + row * names.length);
  const rows = names.map((name, j) => {
    const y = top + row * (j + 1) - 5 - thick, base = y + thick / 2 + 4;
    const bar = svg("rect", { x: left, y, height: thick, rx: 2, class: `attn-${role}` });
    const number = svg("text", { y: base, class: "attn-number" });
    node.append(svg("text", { x: left - 8, y: base, "text-anchor": "end" }, short(name, 8)), bar, number);
    return { bar, number };
  });
  return (shares) => rows.forEach(({ bar, number }, j) => {
    bar.setAttribute("width", x(shares[j]) - left);
    number.setAttribute("x", x(shares[j]) + 6);
    number.textContent = share(shares[j]);
  });
}

/** The path around a histogram: equal bins from `left`, each `wide`, the highest bar `high`, all standing on `base`. */
export function outline(counts, { left, wide, base, high }) {
  const unit = high / Math.max(...counts, 1);
  return `M${left} ${base}${counts.map((count) => `V${(base - count * unit).toFixed(2)}h${wide}`).join("")}V${base}Z`;
}

/** The path of an interval: a line with a stroke across at both ends, and in the middle if there is room. */
export function interval(from, to, y) {
  const strokes = to - from > 12 ? [from, (from + to) / 2, to] : [from, to];
  return `${strokes.map((x) => `M${x.toFixed(2)} ${y - 5}v10`).join("")}M${from.toFixed(2)} ${y}H${to.toFixed(2)}`;
}

const SCORE_HEADS = [
  ["分数", "score", "s"],
  ["缩放分数", "scaled score", "s / √dₖ"],
  ["注意力权重", "attention weight", "a", "a"],
];

/** A table of scores, scaled scores and weights, so that nothing hangs on colour or length; `first` heads the column of
    names, `names` are its th elements. show(scores, null, a) leaves the scaled scores out. */
export function scoreTable(first, names) {
  const head = [first, ...SCORE_HEADS].map((texts) => Object.assign(words("th", ...texts), { scope: "col" }));
  const line = (name) => {
    const cells = SCORE_HEADS.map(() => html("td"));
    return { cells, node: html("tr", {}, Object.assign(name, { scope: "row" }), ...cells) };
  };
  const rows = names.map(line), total = line(words("th", "总和", "sum"));
  const node = html("table", {}, html("thead", {}, html("tr", {}, ...head)),
    html("tbody", {}, ...rows.map((row) => row.node)), html("tfoot", {}, total.node));
  return { node, show(scores, seen, a) {
    const texts = scores.map((s, j) => [fixed(s), seen ? fixed(seen[j]) : "—", share(a[j])]);
    rows.forEach(({ cells }, j) => cells.forEach((cell, k) => (cell.textContent = texts[j][k])));
    total.cells[2].textContent = fixed(a.reduce((x, y) => x + y));
  } };
}

/** attention_mechanism.softmax of one row */
export function softmax(scores) {
  const top = Math.max(...scores);
  const e = scores.map((s) => Math.exp(s - top));
  const sum = e.reduce((a, b) => a + b);
  return e.map((x) => x / sum);
}

/** One query: scores (n), values (n, d_v) -> what the softmax sees, weights a, parts a_j v_j, their sum z. */
export function attend(scores, values, d_k, scaled = true) {
  const seen = scores.map((s) => (scaled ? s / Math.sqrt(d_k) : s));
  const a = softmax(seen);
  const parts = values.map((v, j) => v.map((x) => a[j] * x));
  const z = parts.reduce((sum, part) => sum.map((x, c) => x + part[c]));
  return { seen, a, parts, z };
}

/** What gives several traits of the model a new value at once. */
export const committer = (model) => (changes) => {
  for (const [name, value] of Object.entries(changes)) model.set(name, value);
  model.save_changes();
};

/** Show `root`; draw now and whenever one of the traits changes; announce a movement when it is finished, not each step of it. */
export function live({ model, el }, root, traits, draw, announce) {
  root.addEventListener("change", announce);
  root.addEventListener("click", (event) => event.target.closest("button") && announce());
  const watched = traits.map((name) => `change:${name}`);
  watched.forEach((name) => model.on(name, draw));
  draw();
  el.append(root);
  return () => watched.forEach((name) => model.off(name, draw));
}
