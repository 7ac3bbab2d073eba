import { attend, button, cell, cells, committer, dot, fixed, hatches, html, live, messages, picture, say, sentence, short, svg, toggle, words, write } from "./core.js";

const STATE = ["order", "positions", "causal"];
const LEFT = 46, TOP = 42, HIGH = 32, WIDE = 36, GAP = 12, WIDE_Z = 46, WIDTH = 346; // of a picture and its cells
export const TOLERANCE = 1e-9; // a row has changed if a number in it has moved by more: less is rounding

// ---------------------------------------------------------------- orders
/** The order with places i and i + 1 exchanged. */
export const swapped = (order, i) => order.map((token, place) => order[place === i ? i + 1 : place === i + 1 ? i : place]);

/** The order before this one in the dictionary; before the first comes the last, which is the sentence backwards. */
export function otherOrder(order) {
  const n = order.length, i = order.findLastIndex((token, place) => place + 1 < n && token > order[place + 1]);
  if (i < 0) return [...order].reverse();
  const rest = order.slice(i).sort((a, b) => b - a), next = rest[rest.indexOf(order[i]) + 1];
  return [...order.slice(0, i), next, ...rest.filter((token) => token !== next)];
}

const isOriginal = (order) => order.every((token, place) => token === place);

// ---------------------------------------------------------------- attention
const times = (M, W) => M.map((row) => W[0].map((_, c) => row.reduce((sum, x, k) => sum + x * W[k][c], 0)));

/** Self-attention on the tokens in this order -> for each place the weights a and the output z; the positional encoding
    belongs to the places, and with `causal` a place sees itself and those before it. */
export function attention({ X, W_Q, W_K, W_V, P }, { order, positions, causal }) {
  const input = order.map((token, place) => X[token].map((x, c) => (positions ? x + P[place][c] : x)));
  const [Q, K, V] = [W_Q, W_K, W_V].map((W) => times(input, W));
  return Q.map((q, place) => {
    const seen = causal ? place + 1 : order.length, scores = K.slice(0, seen).map((k) => dot(q, k));
    const { a, z } = attend(scores, V.slice(0, seen), q.length);
    return { a: order.map((_, j) => a[j] ?? 0), z };
  });
}

/** Both orders, and for each present place the largest difference between its row and the same token's in the original order. */
export function results(start, state) {
  const before = attention(start, { ...state, order: start.tokens.map((_, place) => place) }), after = attention(start, state);
  const moved = after.map(({ z }, place) => Math.max(...z.map((x, c) => Math.abs(x - before[state.order[place]].z[c]))));
  return { before, after, moved };
}

// ---------------------------------------------------------------- words
/** A difference with two decimals; one that is there, but small, says so. */
export const difference = (x) => (x > TOLERANCE && x < 0.005 ? "<0.01" : fixed(x, 2));

/** Why the row in this place has not changed under the causal mask, in both languages; nothing where that is not why. */
function reason({ order, positions, causal }, place) {
  const same = order[place] === place && order.slice(0, place).every((token, i) => (positions ? token === i : token < place));
  if (!causal || !same) return ["", ""];
  return place ? ["（看到的词元与原来相同）", " (sees the same tokens as before)"] : ["（仍然只看到自己）", " (still sees only itself)"];
}

/** What has changed, in both languages. */
export function verdict(tokens, state, moved) {
  const { order } = state, most = Math.max(...moved), name = (place) => `“${short(tokens[order[place]], 8)}”`;
  if (isOriginal(order)) return ["词元仍是原来的次序：没有一行变了。", "The tokens are in their original order: no row has changed."];
  if (most <= TOLERANCE) return [`还是那几行，只是换了次序：什么也没察觉（最大的差 ${difference(most)}）。`,
    `The same rows in another order: attention noticed nothing (largest difference ${difference(most)}).`];
  const kept = moved.flatMap((x, place) => (x > TOLERANCE ? [] : [place])), which = name(moved.indexOf(most));
  const [zh, en] = [0, 1].map((lang) => kept.map((place) => name(place) + reason(state, place)[lang]));
  const n = order.length, m = n - kept.length;
  return [`察觉到了：${n} 行里变了 ${m} 行，${which}的那一行变得最多，差 ${difference(most)}。${m < n ? `没变的：${zh.join("、")}。` : ""}`,
    `Noticed: ${m} of ${n} rows changed; the row of ${which} changed most, by ${difference(most)}.${m < n ? ` Unchanged: ${en.join(", ")}.` : ""}`];
}

/** What the verdict comes to in each order, with each setting. */
function verdicts(start) {
  const first = start.tokens.map((_, place) => place), orders = [first];
  for (let order = otherOrder(first); !isOriginal(order); order = otherOrder(order)) orders.push(order);
  const states = orders.flatMap((order) => [false, true].flatMap((positions) => [false, true].map((causal) => ({ order, positions, causal }))));
  return states.map((state) => verdict(start.tokens, state, results(start, state).moved));
}

const NOTE = ["每行是一个词元，各列按同样的次序排。Δ：同一词元的输出行，现在的次序与原来的次序相比，各数之差里最大的一个。≠ 和填色的格：这一行变了（差大于 10⁻⁹；更小的只是舍入误差）。斜线格：被因果掩码屏蔽。",
  "Each row is a token; the columns follow the same order. Δ: the largest difference between this output row and the same token’s row in the original order. ≠ and filled cells: this row changed (by more than 10⁻⁹; less is rounding). Hatched: blocked by the causal mask."];

// ---------------------------------------------------------------- controls and pictures
/** The sentence as it stands, with a button between neighbours that exchanges them: swap(i), i and i + 1. */
function sentenceRow(tokens, swap) {
  const names = tokens.map(() => html("span", { className: "attn-name" }));
  const buttons = tokens.slice(1).map((_, i) => html("button", { type: "button", textContent: "⇄", onclick: () => swap(i) }));
  const node = html("div", { className: "attn-swaps" }, ...names.flatMap((name, i) => (i ? [buttons[i - 1], name] : [name])));
  return { node, show(order) {
    order.forEach((token, place) => (write(names[place], tokens[token]), (names[place].title = tokens[token])));
    const [zh, en] = [" 和 ", " and "].map((and) => buttons.map((_, i) => tokens[order[i]] + and + tokens[order[i + 1]]));
    buttons.forEach((button, i) => (button.title = button.ariaLabel = say(`交换 ${zh[i]}`, `swap ${en[i]}`)));
  } };
}

/** A name that fits beside and above the cells. */
const label = (name) => short(name, /[\u2e80-\uffff]/.test(name) ? 3 : name.length > 5 ? 4 : 5);

/** Weights and output in one order; show(order, rows, causal, moved) fills them in, and says what has moved if that is given. */
function panel({ tokens, W_V }, ...title) {
  const { figure, node, describe } = picture(WIDTH, TOP + HIGH * tokens.length + 2, ...title);
  const blank = tokens.map(() => ""), left = LEFT + WIDE * 4 + GAP, [, hatched] = hatches(node, 2, "plain");
  const text = (x, y, content = "", more = {}) => node.appendChild(svg("text", { x, y, ...more }, content));
  const A = cells(node, blank, blank, { left: LEFT, top: TOP, wide: WIDE, high: HIGH, role: "a" });
  const Z = cells(node, blank, W_V[0].map((_, c) => `z[${c}]`), { left, top: TOP, wide: WIDE_Z, high: HIGH, role: "z" });
  const heads = tokens.map((_, j) => text(LEFT + WIDE * (j + 0.5), TOP - 7, "", { "text-anchor": "middle", class: "attn-tick" }));
  text(LEFT, 14, `${say("权重", "weights")} A`);
  text(left, 14, `${say("输出", "output")} Z`);
  const end = { "text-anchor": "end" }, delta = text(WIDTH, TOP - 7, "", end);
  const changes = tokens.map((_, i) => text(WIDTH, TOP + HIGH * (i + 0.5) + 4.5, "", end));
  return { figure, show(order, rows, causal, moved) {
    write(delta, moved ? "Δ" : "");
    const said = rows.map(({ a, z }, i) => {
      const name = tokens[order[i]], changed = moved?.[i] > TOLERANCE, numbers = [a.map(cell), z.map((x) => fixed(x, 2))];
      [A[i].name, heads[i]].forEach((node) => write(node, label(name)));
      a.forEach((x, j) => (causal && j > i ? A[i].set(j, 0, "0", hatched) : A[i].set(j, x, numbers[0][j])));
      z.forEach((_, c) => Z[i].set(c, changed ? 1 : 0, numbers[1][c]));
      const by = moved && difference(moved[i]);
      write(changes[i], moved ? `${changed ? "≠" : "="} ${by}` : "");
      changes[i].classList.toggle("attn-strong", changed ?? false);
      const change = !moved ? "" : changed ? say(`，变了 ${by}`, `, changed by ${by}`) : say("，没变", ", unchanged");
      return `${name}: a ${numbers[0].join(", ")}, z ${numbers[1].join(", ")}${change}`;
    });
    describe(() => said.join("; "));
  } };
}

// ---------------------------------------------------------------- the whole
function render({ model, el }) {
  const start = model.get("_start"), { tokens } = start, original = tokens.map((_, place) => place), said = messages();
  const now = () => Object.fromEntries(STATE.map((name) => [name, model.get(name)])), commit = committer(model);
  const row = sentenceRow(tokens, (i) => commit({ order: swapped(now().order, i) }));
  const another = button("换一种次序", "another order", () => commit({ order: otherOrder(now().order) }));
  const back = button("回到原来的次序", "back in order", () => commit({ order: original }));
  const positions = toggle(words("label", "加上位置编码", "add positional encoding", "P"), (on) => commit({ positions: on }));
  const causal = toggle(words("label", "因果掩码", "causal mask"), (on) => commit({ causal: on }));
  const outcome = sentence(verdicts(start));
  const controls = html("fieldset", {}, words("legend", "现在的次序（⇄ 交换相邻的两个）", "current order (⇄ swaps two neighbours)"), row.node,
    html("div", { className: "attn-bar" }, another, back, positions.row, causal.row));
  const [before, after] = [panel(start, "原来的次序", "original order"), panel(start, "现在的次序", "current order")];
  const panes = html("div", { className: "attn-panes" }, before.figure, after.figure);
  const note = Object.assign(words("p", ...NOTE), { className: "attn-note" });
  const root = html("div", { className: "attn-widget attn-shuffled-tokens" }, controls, outcome.node, panes, note, said.told);

  function draw() {
    const state = now(), found = results(start, state);
    row.show(state.order);
    positions.show(state.positions);
    causal.show(state.causal);
    before.show(original, found.before, state.causal);
    after.show(state.order, found.after, state.causal, found.moved);
    outcome.show(...verdict(tokens, state, found.moved));
  }

  const announce = () => said.tell(`${now().order.map((token) => tokens[token]).join(" ")}. ${say(...verdict(tokens, now(), results(start, now()).moved))}`);
  return live({ model, el }, root, STATE, draw, announce);
}

export default { render };
