/** Shared by all widgets: words in the page's language, elements, labelled controls, pictures, messages. */

/** On the site "zh", "en" or "both" (the body says so); anywhere else, Jupyter included, both. */
export const view = () => globalThis.document?.body?.dataset.bilingual ?? "both";

/** The words for this page, as plain text. */
export const say = (zh, en, lang = view()) => ({ zh, en })[lang] ?? `${zh} · ${en}`;

/** A number as text: fixed decimals, a true minus sign, never "−0". */
export function fixed(x, digits = 4) {
  const text = x.toFixed(digits);
  return text.replace("-", Number(text) === 0 ? "" : "−");
}

/** A share from 0 to 1 with four decimals; one that is close to an end, but not there, says so. */
export const share = (a) => (a > 0 && a < 5e-5 ? "<0.0001" : a < 1 && a >= 1 - 5e-5 ? ">0.9999" : fixed(a));

/** A weight with two decimals, as a small cell shows it. */
export const cell = (a) => (a > 0 && a < 0.005 ? "<.01" : a < 1 && a >= 0.995 ? ">.99" : a.toFixed(2));

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

/** Writes a text unless it stands there already, as most do, and says whether it did; to ask the page for it would take
    as long as to write it. */
export function write(node, text) {
  if (node.written === text) return false;
  node.written = text;
  if (node.letters?.parentNode === node) node.letters.data = text; // a new text node would cost more
  else {
    node.textContent = text;
    node.letters = node.firstChild;
  }
  return true;
}

/** Sets those attributes that this has not set to the same before. */
export function set(node, attributes) {
  const known = (node.known ??= {});
  for (const key in attributes) if (known[key] !== attributes[key]) node.setAttribute(key, (known[key] = attributes[key]));
}

/** A test whether a key differs from the one before: what has not changed is not drawn again. */
export const differs = (last) => (key) => key !== last && ((last = key), true);

/** The words for this page in an element, each language in a span that names it; then a symbol, in its role's colour. */
export function words(tag, zh, en, symbol = "", role = "") {
  const parts = [["zh-Hans", zh], ["en", en]].filter(([lang]) => view() === "both" || lang.startsWith(view()));
  const spans = parts.map(([lang, textContent]) => html("span", { lang, textContent }));
  if (symbol) spans.push(html("span", { className: role && `attn-text-${role}`, textContent: symbol }));
  return html(tag, {}, ...spans.flatMap((span, i) => (i ? [" ", span] : [span])));
}

/** How much room a text takes, in halves of a Chinese character. */
const room = (text) => [...text].reduce((sum, letter) => sum + (letter < "\u2e80" ? 1 : 2), 0);

/** A paragraph whose words change: show(zh, en) writes those of the page's languages, with subscripts if `low`.
    Its place is always as high as its longest text: the two longest of `cases`, each [zh, en], stand in it unseen. */
export function sentence(cases, low = false) {
  const node = Object.assign(words("p", "", ""), { className: "attn-verdict" });
  const places = [...node.children].map((span) => {
    const language = span.lang === "en" ? 1 : 0, texts = new Set(cases.map((both) => both[language].replaceAll("_", "")));
    [span.dataset.longest, span.dataset.second = ""] = [...texts].sort((a, b) => room(b) - room(a));
    return { language, text: span.appendChild(html("span")) };
  });
  return { node, show: (...both) => places.forEach(({ language, text }) => {
    if (write(text, both[language]) && low && both[language].includes("_")) subscripts(text);
  }) };
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

/** An input or select that keeps its keys in JupyterLab, which would take the arrows for itself. */
function control(tag, properties) {
  const node = html(tag, { id: fresh(), ...properties });
  node.dataset.lmSuppressShortcuts = "true";
  return node;
}

export function button(zh, en, onclick) {
  return Object.assign(words("button", zh, en), { type: "button", onclick });
}

/** A list to choose from; options are [value, text, its language if it is not the page's]; show(value) moves it from
    outside, and adds what it lacks; fill(options) gives it others. */
export function menu(options, onChange, properties = {}) {
  let values = [], chosen = 0; // of the options, and which one is chosen: to ask the page for it goes through all of them
  const node = control("select", { onchange: () => ((chosen = node.selectedIndex), onChange(node.value)), ...properties });
  const add = ([value, textContent, lang]) =>
    values.push(String(value)) && node.append(html("option", { value, textContent, ...(lang && { lang }) }));
  const fill = (others) => {
    node.replaceChildren();
    [values, chosen] = [[], 0];
    others.forEach(add);
  };
  fill(options);
  const show = (value) => {
    if (values[chosen] === String(value)) return;
    if (!values.includes(String(value))) add([value, value]);
    node.selectedIndex = chosen = values.indexOf(String(value));
  };
  return { node, show, fill };
}

/** The same in a row with its label. */
export function choice(label, options, onChange) {
  const { node, ...rest } = menu(options, onChange);
  return { row: html("div", { className: "attn-field" }, Object.assign(label, { htmlFor: node.id }), node), ...rest };
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
    if (input.ariaInvalid !== "false") input.ariaInvalid = "false";
  };
  return { node: input, show };
}

/** A row of label, range input and value; arrows move by `key`, with Shift by the range's own step. */
export function slider(label, { key, ...range }, onInput) {
  let current, shown; // exact, where the input itself rounds to its step; and what the input was last set to
  const input = control("input", { type: "range", ...range });
  const output = html("output", { htmlFor: input.id, ariaLive: "off" }); // the slider says its value itself
  const row = html("div", { className: "attn-row" }, Object.assign(label, { htmlFor: input.id }), input, output);
  input.addEventListener("input", () => onInput((shown = Number(input.value))));
  input.addEventListener("keydown", (event) => {
    const way = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
    if (!key || !way || event.shiftKey || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    onInput(Number(Math.min(range.max, Math.max(range.min, current + way * key)).toPrecision(12)));
    input.dispatchEvent(new Event("change", { bubbles: true }));
  });
  const show = (value, text, spoken = text) => {
    current = value;
    if (shown !== value) input.valueAsNumber = shown = value; // a string would take twice as long
    write(output, text);
    set(input, { "aria-valuetext": spoken });
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
  const isNew = differs("");
  const warn = (zh, en) => isNew(zh) && warned.replaceChildren(...(zh ? [words("span", zh, en)] : []));
  return { told, warned, tell, warn };
}

const late = new Map(); // what is done at the end of a movement, or when it comes near: by the element that shows it
function finish(...nodes) {
  for (const node of nodes.length ? nodes : late.keys()) {
    late.get(node)?.();
    late.delete(node);
  }
}

const far = new WeakSet(); // the elements that are outside the window
let seeing; // made in the page: the tests of pure functions have no window
function watch(node) {
  seeing ??= new IntersectionObserver((entries) => entries.forEach(({ target, isIntersecting }) => {
    if (isIntersecting) far.delete(target), finish(target);
    else far.add(target);
  }));
  seeing.observe(node);
}

/** `draw`, which shows something in `node`; while that is outside the window a movement leaves it out, and its end draws it. */
export function inSight(node, draw) {
  watch(node);
  return (...given) => (far.has(node) ? late.set(node, () => draw(...given)) : (late.delete(node), draw(...given)));
}

/** A picture with a visible caption and a title; describe(() => text) says what it shows now. */
export function picture(width, height, zh, en, symbol, role) {
  const [title, desc] = [svg("title", { id: fresh(), class: "nohighlight" }, say(zh, en)), svg("desc", { id: fresh(), class: "nohighlight" })];
  const node = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", class: "attn-svg" });
  node.setAttribute("aria-labelledby", title.id);
  node.setAttribute("aria-describedby", desc.id);
  node.append(title, desc);
  const caption = words("figcaption", zh, en, symbol, role);
  caption.ariaHidden = "true"; // the title says it already
  return { figure: html("figure", {}, caption, node), node, describe: (text) => late.set(desc, () => write(desc, text())) }; // nobody hears it in the midst of a movement
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
    set(bar, { width: x(shares[j]) - left });
    set(number, { x: x(shares[j]) + 6 });
    write(number, share(shares[j]));
  });
}

/** A matrix of numbers with names: filled in its role's colour where positive, striped where negative, the stronger the
    closer to `limit`; with `zeros`, dashed where it is 0. show(M, limit) redraws it, mark(row, column, rows, columns) frames a part; onPick(row, column) hears of a click. */
export function numberGrid(node, [rowNames, columnNames], { left, top, width = 46, height = 30, role, sums, zeros, onPick }) {
  const [, stripes] = hatches(node, 2, "plain");
  const label = (x, y, anchor, text = "") => node.appendChild(svg("text", { x, y, "text-anchor": anchor, class: "attn-tick" }, text));
  const end = left + width * columnNames.length;
  const rows = rowNames.map((name, i) => {
    const y = top + height * i, base = y + height / 2 + 4;
    label(left - 6, base, "end", name);
    const cells = columnNames.map((_, j) => {
      const x = left + width * j, area = svg("rect", { x: x + 1, y: y + 1, width: width - 2, height: height - 2, rx: 2, fill: stripes });
      const number = svg("text", { x: x + width / 2, y: base, "text-anchor": "middle", class: "attn-tick" });
      const cell = svg("g", { class: onPick ? "attn-picked" : "" });
      cell.append(area, number);
      node.append(cell);
      if (onPick) cell.addEventListener("click", () => (onPick(i, j), node.dispatchEvent(new Event("change", { bubbles: true }))));
      return { area, number };
    });
    return { cells, sum: sums && label(end + 48, base, "end") };
  });
  columnNames.forEach((name, j) => label(left + width * (j + 0.5), top - 6, "middle", name));
  if (sums) label(end + 48, top - 6, "end", "Σ");
  const frame = node.appendChild(svg("rect", { rx: 4, class: "attn-frame" }));
  const fill = ({ area, number }, x, limit) => {
    const sign = zeros && Math.abs(x) < 1e-12 ? 0 : x > 0 ? 1 : -1; // less is rounding
    if (area.sign !== sign) {
      area.setAttribute("class", `attn-cell ${["", "attn-zero", `attn-${role}`][sign + 1]}`);
      number.setAttribute("class", `attn-tick ${sign < 0 ? "attn-on-stripes" : ""}`);
      area.sign = sign;
    }
    set(area, { "fill-opacity": sign && (0.35 * Math.min(1, Math.abs(x) / limit)).toFixed(3) });
    write(number, sign ? fixed(x, 3) : "0");
  };
  const show = (M, limit) => rows.forEach(({ cells, sum }, i) => {
    cells.forEach((cell, j) => fill(cell, M[i][j], limit));
    if (sums) write(sum, fixed(M[i].reduce((a, b) => a + b), 3));
  });
  const mark = (i, j, down = 1, across = 1) =>
    set(frame, { x: left + width * j, y: top + height * i, width: width * across, height: height * down });
  return { show, mark, hide: () => mark(0, 0, 0, 0) };
}

/** A table; `first` heads the column of names, which are th elements, `heads` the others. show(rows, sums) fills in texts. */
export function numberTable(first, heads, names) {
  const head = [first, ...heads].map((texts) => Object.assign(words("th", ...texts), { scope: "col" }));
  const line = (name) => {
    const cells = heads.map(() => html("td"));
    const fill = (texts) => cells.forEach((cell, k) => write(cell, texts[k]));
    return { fill, node: html("tr", {}, Object.assign(name, { scope: "row" }), ...cells) };
  };
  const rows = names.map(line), total = line(words("th", "总和", "sum")), foot = html("tfoot", {}, total.node);
  const node = html("table", {}, html("thead", {}, html("tr", {}, ...head)), html("tbody", {}, ...rows.map((row) => row.node)));
  return { node, show: inSight(node, (texts, sums) => {
    rows.forEach(({ fill }, j) => fill(texts[j]));
    if (sums) total.fill(sums);
    if (sums && !foot.parentNode) node.append(foot);
  }) };
}

/** The patterns of things, named, in columns of a picture 346 wide. */
function legend(node, names, fills, columns, role) {
  const wide = 342 / columns;
  names.forEach((name, j) => {
    const x = 2 + wide * (j % columns), y = 4 + 22 * Math.floor(j / columns);
    node.append(svg("rect", { x, y, width: 14, height: 14, fill: fills[j], class: `attn-line-${role}` }));
    node.append(svg("text", { x: x + 20, y: y + 12 }, short(name, Math.floor(wide / 11))));
  });
}

/** How high the legend is above the first bar of `stacks`. */
export const legendHeight = (names, columns) => 22 * Math.ceil(names.length / columns) + 8;

/** A bar for each name, stacked from one part for each of `parts`: negative ones to the left of zero. The returned
    function draws parts[j][c], a pin at each mark[c], and the number total[c]. */
export function stacks(node, names, parts, { low, high, left, right, row, gap, columns, role, pin }) {
  const x = (value) => left + ((value - low) / (high - low)) * (right - left);
  const fills = hatches(node, parts.length, role), top = legendHeight(parts, columns);
  legend(node, parts, fills, columns, role);
  scale(node, [...new Set([low, 0, high])], x, top, top + row * names.length);
  const rows = names.map((name, c) => {
    const y = top + row * c, base = y + row / 2 + 5;
    const pieces = fills.map((fill) => svg("rect", { y: y + gap, height: row - 2 * gap, fill, class: `attn-line-${role}` }));
    const mark = svg("path", { class: `attn-${pin}` });
    const number = svg("text", { x: right + 64, y: base, "text-anchor": "end" });
    node.append(svg("text", { x: left - 10, y: base, "text-anchor": "end" }, name), ...pieces, mark, number);
    return { pieces, mark, number, y };
  });
  return (given, marks, totals) => rows.forEach(({ pieces, mark, number, y }, c) => {
    const ends = { true: 0, false: 0 }; // how far the negative and the positive stack reach
    pieces.forEach((piece, j) => {
      const part = given[j][c], from = ends[part < 0];
      ends[part < 0] += part;
      set(piece, { x: x(Math.min(from, from + part)), width: x(Math.abs(part)) - x(0) });
    });
    set(mark, { d: `M${x(marks[c]) - 5} ${y + 1}h10l-4 5v${row - 8}h-2v${8 - row}z` });
    write(number, fixed(totals[c]));
  });
}

/** A matrix in cells of one size under the names of its columns; the returned rows have group, name, and
    set(j, share, text, fill): how dark cell j is from 0 to 1, what stands in it, and what fills it in place of `role`. */
export function cells(node, rows, columns, { left, top, wide, high, role, most = 0.4 }) {
  const text = (x, y, content, more) => svg("text", { x, y, "text-anchor": "middle", ...more }, content);
  columns.forEach((name, j) => node.append(text(left + wide * (j + 0.5), top - 7, short(name, Math.floor(wide / 6.5)), { class: "attn-tick" })));
  return rows.map((title, i) => {
    const group = svg("g"), y = top + high * i, base = y + high / 2 + 4.5;
    const name = text(left - 7, base, title, { "text-anchor": "end", class: "attn-tick" });
    const boxes = columns.map((_, j) => svg("rect", { x: left + wide * j + 1, y: y + 1, width: wide - 2, height: high - 2, class: "attn-box" }));
    const shades = columns.map((_, j) => svg("rect", { x: left + wide * j + 1, y: y + 1, width: wide - 2, height: high - 2, class: `attn-${role}` }));
    const texts = columns.map((_, j) => text(left + wide * (j + 0.5), base, ""));
    group.append(name, ...boxes, ...shades, ...texts);
    node.append(group);
    const [isDark, isFilled] = [0, 1].map(() => columns.map(() => differs()));
    return { group, name, set(j, share, content = "", fill = "") {
      const dark = fill ? 0.4 : most * share;
      write(texts[j], content);
      if (isDark[j](dark)) shades[j].style.fillOpacity = dark;
      if (!isFilled[j](fill)) return;
      set(texts[j], { class: fill ? "attn-hatched" : "" });
      shades[j].style.fill = fill;
    } };
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
  const { node, show } = numberTable(first, SCORE_HEADS, names);
  return { node, show(scores, seen, a) {
    const texts = scores.map((s, j) => [fixed(s), seen ? fixed(seen[j]) : "—", share(a[j])]);
    show(texts, ["", "", fixed(a.reduce((x, y) => x + y))]);
  } };
}

export const dot = (a, b) => a.reduce((sum, x, c) => sum + x * b[c], 0);

/** How far apart two rows are. */
export const distance = (a, b) => Math.hypot(...a.map((x, c) => x - b[c]));

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

let waiting = null; // what is to be drawn once all traits of a change are set, not after each of them

/** What gives several traits of the model a new value at once. */
export const committer = (model) => (changes) => {
  const draws = (waiting = new Set());
  for (const [name, value] of Object.entries(changes)) model.set(name, value);
  waiting = null;
  draws.forEach((draw) => draw());
  model.save_changes();
};

/** Show `root`; draw now and whenever one of the traits changes; announce and describe a movement when it is finished,
    not each step of it. */
export function live({ model, el }, root, traits, draw, announce) {
  const end = () => (finish(), announce());
  let steps = 0, rests = true; // a change from Python has no end that one hears of: at rest after a while without a step
  const wait = (before) => setTimeout(() => ((rests = steps === before) ? finish() : wait(steps)), 300);
  const step = () => {
    if (waiting) return waiting.add(step);
    draw();
    steps += 1;
    if (rests) rests = !wait(steps); // one timer for a movement, not one for each step of it
  };
  root.addEventListener("change", end);
  root.addEventListener("click", (event) => event.target.closest("button") && end());
  const watched = traits.map((name) => `change:${name}`);
  watched.forEach((name) => model.on(name, step));
  draw();
  finish();
  el.append(root);
  return () => watched.forEach((name) => model.off(name, step));
}
