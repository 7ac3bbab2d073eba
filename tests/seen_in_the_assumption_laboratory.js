// What the picture of the assumption laboratory shows, read back through its ticks: evaluated by tests/test_assumption_laboratory.py.
(widget) => {
  const svg = widget.querySelector("svg"), number = (node, name) => Number(node.getAttribute(name));
  const value = (text) => Number(text.replaceAll("\u202f", "").replace("−", "-"));
  const ticks = [...svg.querySelectorAll(".attn-tick")].filter((t) => /^−?[\d\u202f]+$/.test(t.textContent));
  const heights = [...new Set(ticks.map((t) => number(t, "y")))].sort((a, b) => a - b); // of the scale above, and the one below
  const ends = heights.map((y) => ticks.filter((t) => number(t, "y") === y)).map((row) => [row[0], row.at(-1)]);
  const [[p0, v0], [p1, v1]] = ends[1].map((t) => [number(t, "x"), value(t.textContent)]);
  const x = (p) => v0 + ((p - p0) / (p1 - p0)) * (v1 - v0);
  const shape = svg.querySelector("path.attn-plain").getAttribute("d"), base = Number(shape.match(/^M[\d.]+ ([\d.]+)/)[1]);
  const tops = [...shape.matchAll(/V([\d.]+)h/g)].map((m) => base - Number(m[1])), high = Math.max(...tops);
  const outside = [...svg.querySelectorAll(".attn-tick")].find((t) => t.textContent.startsWith("outside"));
  return {
    reach: v1,
    above: value(ends[0][1].textContent),
    intervals: [...svg.querySelectorAll("path.attn-line-plain")].map((path) => path.getAttribute("d").match(/M([-\d.]+) \d+H([-\d.]+)/).slice(1).map(Number).map(x)),
    heights: tops.map((top) => top / high),
    outside: outside ? Number(outside.textContent.match(/\d+/)[0]) : 0,
  };
}
