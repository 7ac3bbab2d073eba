// What juts out of a widget, and its smallest control: evaluated by the tests of single widgets.
(widget) => {
  const home = widget.getBoundingClientRect(), all = (selector) => [...widget.querySelectorAll(selector)];
  const size = (e) => e.getBoundingClientRect(), range = document.createRange();
  const written = (e) => (range.selectNodeContents(e), range.getBoundingClientRect());
  const out = ({ left, right, width }) => width && (left < home.left - 1 || right > home.right + 1);
  const cut = all("th, td").filter((e) => written(e).right > size(e).right + 1 || written(e).left < size(e).left - 1);
  return {
    out: [...all("th, td, svg text, p:not(.attn-told)").filter((e) => out(written(e))), ...all("input, select, svg rect").filter((e) => out(size(e))), ...cut]
      .map((e) => e.outerHTML.slice(0, 120)),
    least: Math.min(...all("input, select, button, .attn-picked").flatMap((e) => [size(e).width, size(e).height])),
  };
}
