// What the pictures of the d_k laboratory show, read back through their ticks: evaluated by tests/test_dk_laboratory.py.
(widget) => {
  const svgs = [...widget.querySelectorAll("svg")], number = (node, name) => Number(node.getAttribute(name));
  const axis = (svg, name, shift = 0) => { // from pixels to numbers, by the two outermost ticks
    const ticks = [...svg.querySelectorAll(".attn-tick")].filter((t) => /^[−\d.]+$/.test(t.textContent));
    const [[p0, v0], [p1, v1]] = [ticks[0], ticks.at(-1)].map((t) => [number(t, name) - shift, Number(t.textContent.replace("−", "-"))]);
    return (p) => v0 + ((p - p0) / (p1 - p0)) * (v1 - v0);
  };
  const path = (svg, selector) => svg.querySelector(`path${selector}`).getAttribute("d");
  const ups = (d) => [...d.matchAll(/V([\d.]+)h/g)].map((m) => Number(m[1]));
  return {
    intervals: svgs.slice(0, 2).map((svg) => path(svg, ".attn-line-plain").match(/M([-\d.]+) \d+H([-\d.]+)/).slice(1).map(Number).map(axis(svg, "x"))),
    histograms: svgs.slice(0, 2).map((svg) => {
      const d = path(svg, ".attn-plain"), [, left, base] = d.match(/^M([\d.]+) ([\d.]+)/).map(Number);
      return { left: axis(svg, "x")(left), heights: ups(d).map((top) => (base - top) / 100) };
    }),
    bars: svgs.slice(2).map((svg) => ups(path(svg, ".attn-a")).map(axis(svg, "y", 4))),
  };
}
