// What the pictures of the cost explorer show, read back through their ticks: evaluated by tests/test_cost_explorer.py.
(widget) => {
  const [curves, shares, amounts] = widget.querySelectorAll("svg"), number = (node, name) => Number(node.getAttribute(name));
  const all = (svg, selector) => [...svg.querySelectorAll(selector)];
  const units = { "": 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 };
  const amount = (text) => { const [digits, unit = ""] = text.split(" "); return Number(digits) * units[unit]; };
  const axis = (svg, anchor, name, shift = 0) => { // from pixels to numbers, by the two outermost ticks of a logarithmic axis
    const ticks = all(svg, `.attn-tick[text-anchor="${anchor}"]`);
    const [[p0, v0], [p1, v1]] = [ticks[0], ticks.at(-1)].map((t) => [number(t, name) - shift, Math.log(amount(t.textContent))]);
    return (p) => Math.exp(v0 + ((p - p0) / (p1 - p0)) * (v1 - v0));
  };
  const n = axis(curves, "middle", "x"), c = axis(curves, "end", "y", 4), bytes = axis(amounts, "middle", "x");
  const points = (path) => [...path.getAttribute("d").matchAll(/([\d.]+) ([\d.]+)/g)].map((m) => [n(Number(m[1])), c(Number(m[2]))]);
  const long = all(curves, "path.attn-line-plain").filter((path) => path.getAttribute("d").includes("L"));
  const upright = all(curves, "path.attn-line-plain").find((path) => path.getAttribute("d").includes("V"));
  const ring = curves.querySelector("circle"), bar = all(shares, "rect.attn-line-plain").filter((rect) => number(rect, "height") > 14);
  const centres = (selector) => all(amounts, selector).map((circle) => bytes(number(circle, "cx")));
  return {
    lines: long.map(points), // the sum, the projections, QKᵀ and AV
    crossing: [n(number(ring, "cx")), c(number(ring, "cy"))],
    n: n(Number(upright.getAttribute("d").match(/M([\d.]+)/)[1])),
    shares: bar.map((rect) => number(rect, "width") / bar.reduce((sum, each) => sum + number(each, "width"), 0)),
    joined: number(bar[1], "x") - number(bar[0], "x") - number(bar[0], "width"),
    memory: centres("circle:not(.attn-hollow)"),
    stems: all(amounts, "rect").map((rect) => bytes(number(rect, "x") + number(rect, "width"))),
    all: centres("circle.attn-hollow")[0],
    texts: all(widget, "svg text").map((text) => text.textContent),
  };
}
