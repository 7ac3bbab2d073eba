// What a page is to readers who do not see it, or see it badly: evaluated by tests/conftest.py in each page of each view,
// at the end of a visit, since it unfolds the page, takes formulas out of it and moves the widgets.  `rules`: axe's; null: all.
async (rules) => {
  const all = (selector, where = document) => [...where.querySelectorAll(selector)];
  const start = (e) => e.outerHTML.slice(0, 120).replace(/\s+/g, " ");
  for (const fold of all("details")) fold.open = true;

  // ---- contrast: each kind of text once, formulas too (WCAG 2.2, 1.4.3)
  const channels = (colour) => {
    const [r, g, b, alpha = 1] = colour.match(/[\d.]+(?:e-\d+)?/g).map(Number);
    return colour.startsWith("color(") ? [r * 255, g * 255, b * 255, alpha] : [r, g, b, alpha];
  };
  const over = ([r, g, b, a], under) => [r, g, b].map((v, i) => a * v + (1 - a) * under[i]);
  const grounds = new Map();
  const ground = (e) => {
    if (!e) return [255, 255, 255];
    if (!grounds.has(e)) grounds.set(e, over(channels(getComputedStyle(e).backgroundColor), ground(e.parentElement)));
    return grounds.get(e);
  };
  const areas = new Map(); // of a picture, in the order they are painted
  const painted = (e) => { // the ground of a text in a picture: its halo, or the page under the areas that it stands on
    const style = getComputedStyle(e), picture = e.ownerSVGElement;
    if (style.paintOrder.startsWith("stroke") && style.stroke !== "none") return over(channels(style.stroke), [255, 255, 255]);
    if (!areas.has(picture)) areas.set(picture, all("rect", picture).map((rect) => [rect, getComputedStyle(rect), rect.getBoundingClientRect()]));
    const { left, right, top, bottom } = e.getBoundingClientRect(), x = (left + right) / 2, y = (top + bottom) / 2;
    return areas.get(picture).reduce((under, [rect, { fill, fillOpacity }, box]) => {
      const below = rect.compareDocumentPosition(e) & Node.DOCUMENT_POSITION_FOLLOWING;
      if (!below || !/^(rgb|color)/.test(fill) || x < box.left || x > box.right || y < box.top || y > box.bottom) return under;
      const [r, g, b, a] = channels(fill);
      return over([r, g, b, a * fillOpacity], under);
    }, ground(picture));
  };
  const linear = (v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const contrast = (one, other) => {
    const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a);
    return (light + 0.05) / (dark + 0.05);
  };
  const kinds = new Map();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const e = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !e.checkVisibility({ visibilityProperty: true }) || e.closest(":disabled")) continue;
    const style = getComputedStyle(e), under = e.ownerSVGElement ? painted(e) : ground(e);
    const colour = over(channels(e instanceof SVGElement ? style.fill : style.color), under);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    const key = `${colour} on ${under} ${size} ${style.fontWeight}`;
    const kind = kinds.get(key) ?? { ratio: contrast(colour, under), enough: large ? 3 : 4.5, first: e };
    if (kind.first.closest(".katex") && !e.closest(".katex")) kind.first = e; // axe judges it where it can
    kinds.set(key, kind);
  }
  const faint = [...kinds.values()].filter(({ ratio, enough }) => ratio < enough).map(({ ratio, first }) => `${ratio.toFixed(2)} ${start(first)}`);

  // ---- language: what is Chinese or an English phrase says so, and so does what names a control
  const HAN = /[\u3400-\u9fff]/, PHRASE = /[A-Za-z][\w’'-]*(?:[,;:]? [A-Za-z][\w’'-]*){3,}/;
  const foreign = [];
  const judge = (text, e) => {
    const isChinese = e.closest("[lang]").lang.startsWith("zh");
    if (isChinese ? PHRASE.test(text) : HAN.test(text)) foreign.push(`${start(e)} … ${text.trim().slice(0, 80)}`);
  };
  const parts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (parts.nextNode()) {
    const e = parts.currentNode.parentElement;
    if (!e.closest("script, style, noscript, pre, code, .katex, option, svg, [aria-live]") && e.checkVisibility()) judge(parts.currentNode.data, e);
  }
  const named = ["aria-label", "title", "placeholder", "alt", "data-bs-title", "data-bs-original-title"];
  const names = all(named.map((name) => `[${name}]`).join()).filter((e) => !e.closest("article") || e.matches(".headerlink"))
    .flatMap((e) => named.map((name) => [e.getAttribute(name), e.closest("[lang]").lang])).filter(([name]) => name);

  // ---- what scrolls by itself can be scrolled by key
  const scrolls = (e) => e.scrollWidth > e.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(e).overflowX) && e.checkVisibility();
  const stuck = all("body *").filter((e) => e.clientWidth > 1 && !e.closest(".katex") && scrolls(e))
    .filter((e) => e.tabIndex < 0 && !e.querySelector("a[href], button, input, select, [tabindex='0']")).map(start);

  // ---- axe: contrast of one text of each kind; it would take minutes over the thousands of parts of the formulas
  for (const { first } of kinds.values()) if (!first.closest(".katex")) first.dataset.kind = "";
  for (const formula of all(".katex")) formula.replaceWith("x"); // KaTeX's MathML is for screen readers, its HTML is hidden from them
  axe.configure({ rules: [{ id: "color-contrast", selector: "[data-kind]" }] });
  const options = rules ? { runOnly: rules } : { rules: { "target-size": { enabled: true } } };
  const { violations } = await axe.run(document, { resultTypes: ["violations"], ...options });
  const found = violations.flatMap(({ id, nodes }) => nodes.map((n) => `${id}: ${n.target.join(" ")}: ${n.failureSummary.replace(/\s+/g, " ")}`));

  // ---- pictures of widgets say their numbers, and others when a control has moved
  const told = (widget) => all("svg desc, table, output:not(.attn-row > output)", widget).map((e) => e.textContent).join(); // less a slider's own number
  const move = (widget) => {
    const control = widget.querySelector("input[type=range]:enabled, input[type=checkbox]:enabled, select:enabled, button:enabled");
    if (control.matches("button, [type=checkbox]")) return control.click();
    if (control.matches("select")) control.selectedIndex = (control.selectedIndex + 1) % control.length;
    else control.value = control.valueAsNumber > (Number(control.min) + Number(control.max)) / 2 ? control.min : control.max;
    for (const type of ["input", "change"]) control.dispatchEvent(new Event(type, { bubbles: true }));
  };
  const widgets = all(".afm-view").map((widget) => {
    const pictures = all("svg", widget).filter((e) => e.checkVisibility());
    const silent = pictures.filter((e) => !e.querySelector("title")?.textContent || !/\d/.test(e.querySelector("desc")?.textContent));
    const before = told(widget);
    move(widget);
    return { kind: widget.firstElementChild.className, silent: silent.map(start), numbers: /\d/.test(before), moved: told(widget) !== before };
  });
  return { axe: found, faint, foreign, names, stuck, widgets };
}
