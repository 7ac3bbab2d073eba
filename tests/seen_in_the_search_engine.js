// Where the arrows and marks of the search engine stand, read back through their ticks: evaluated by tests/test_search_engine_page.py.
(widget) => {
  const [match, weights, read] = widget.querySelectorAll("svg");
  const number = (node, name) => Number(node.getAttribute(name));
  const ends = (svg, anchor, name) => { // pixel and number of the first and last tick of an axis
    const ticks = [...svg.querySelectorAll(`.attn-tick[text-anchor="${anchor}"]`)];
    return [ticks[0], ticks.at(-1)].map((t) => [number(t, name), Number(t.textContent.replace("−", "-"))]);
  };
  const along = ([[x0, v0], [x1, v1]]) => (x) => v0 + ((x - x0) / (x1 - x0)) * (v1 - v0);
  const axes = (svg) => {
    const x = along(ends(svg, "middle", "x")), y = along(ends(svg, "end", "y").map(([at, value]) => [at - 4, value]));
    return ([px, py]) => [x(px), y(py)];
  };
  const k = axes(match), v = axes(read), a = along(ends(weights, "middle", "x"));
  const points = (text) => [...text.matchAll(/(-?[\d.]+)[ ,](-?[\d.]+)/g)].map((m) => [Number(m[1]), Number(m[2])]);
  const corners = (path) => points(path.getAttribute("d"));
  const tip = (path) => path.getAttribute("d") && k(corners(path)[2]);
  const start = (path) => path.getAttribute("d") && k(corners(path)[0]);
  const all = (svg, selector) => [...svg.querySelectorAll(selector)];
  return {
    keys: all(match, "path.attn-line-k").map(tip),
    starts: all(match, "path.attn-line-k, path.attn-line-q").map(start),
    query: tip(match.querySelector("path.attn-line-q")),
    handle: k(["cx", "cy"].map((name) => number(match.querySelector(".attn-handle"), name))),
    feet: all(match, "path.attn-foot").filter((path) => path.getAttribute("d")).map((path) => k(corners(path)[1])),
    bars: all(weights, "rect.attn-a").map((rect) => [number(rect, "x"), number(rect, "x") + number(rect, "width")].map(a)),
    values: all(read, "path.attn-line-v").map((path) => corners(path)[0]).map(([x, y]) => v([x + 5, y + 5])),
    output: corners(read.querySelector("path.attn-z")).map(([x, y]) => v([x, y + 9]))[0],
    hull: points(read.querySelector("polygon").getAttribute("points")).map(v),
    bands: all(read, "path.attn-line-a").map((path) => [number(path, "stroke-width"), corners(path).map(v)]),
  };
}
