// Whether a page fits a narrow screen and can be read there: evaluated by tests/test_site.py in each page of each view.
() => {
  const channels = (colour) => colour.match(/[\d.]+/g).map(Number);
  const linear = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); // WCAG 2.2, relative luminance
  const luminance = (colour) => {
    const [r, g, b] = channels(colour).map((v) => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const colour = getComputedStyle(e).backgroundColor;
      if ((channels(colour)[3] ?? 1) > 0.99) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const contrast = (e) => {
    const style = getComputedStyle(e);
    const [light, dark] = [luminance(e instanceof SVGElement ? style.fill : style.color), luminance(ground(e))].sort((a, b) => b - a);
    return (light + 0.05) / (dark + 0.05);
  };
  const inArticle = "p, li, td, th, h1, h2, h3, a:not(.headerlink), summary, label, .katex, .caption-text span";
  const read = [...document.querySelectorAll(`article :is(${inArticle}), .afm-view svg text, .lang-switch a, .question-form :is(strong, button, input, div)`)];
  return {
    widths: [document.documentElement.scrollWidth, document.body.scrollWidth],
    theme: document.documentElement.dataset.theme,
    faint: read.filter((e) => e.checkVisibility()).map((e) => [contrast(e), e.outerHTML.slice(0, 90)]).filter(([c]) => c < 4.5),
  };
}
