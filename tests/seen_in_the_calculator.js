// Where the bars and marks of the attention calculator stand, read back through its scales: evaluated by tests/test_site.py.
(widget) => {
  const [weights, output] = widget.querySelectorAll("svg");
  const number = (node, name) => Number(node.getAttribute(name));
  const scale = (svg) => { // from pixels to numbers, by the two outermost ticks
    const ticks = [...svg.querySelectorAll(".attn-tick")];
    const [[x0, v0], [x1, v1]] = [ticks[0], ticks.at(-1)].map((t) => [number(t, "x"), Number(t.textContent.replace("−", "-"))]);
    return (x) => v0 + ((x - x0) / (x1 - x0)) * (v1 - v0);
  };
  const a = scale(weights), z = scale(output);
  const span = (rect) => [number(rect, "x"), number(rect, "x") + number(rect, "width")];
  const tip = (mark) => Number(mark.getAttribute("d").match(/M([-.\d]+)/)[1]) + 5;
  const stacked = (rect) => number(rect, "height") > 14; // the others are the legend's
  return {
    bars: [...weights.querySelectorAll("rect.attn-a")].map((rect) => span(rect).map(a)),
    pieces: [...output.querySelectorAll("rect.attn-line-v")].filter(stacked).map((rect) => span(rect).map(z)),
    marks: [...output.querySelectorAll("path.attn-z")].map((mark) => z(tip(mark))),
  };
}
