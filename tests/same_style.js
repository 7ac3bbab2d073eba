// Which elements look different with the style `whole` than with the site's own: [what differs, …], at most ten.
async (whole) => {
  const ASPECTS = `content display position color background-color background-image border-top-width border-top-color
    border-left-width border-left-color border-bottom-width border-right-width border-radius box-shadow outline-width
    outline-style opacity visibility z-index font-family font-size font-style font-weight line-height text-align
    text-decoration-line text-transform text-indent white-space vertical-align letter-spacing list-style-type width
    height min-width min-height max-width max-height margin-top margin-bottom padding-top
    padding-right padding-bottom padding-left top right bottom left float clear overflow-x overflow-y transform filter
    flex-direction flex-grow flex-shrink flex-basis flex-wrap align-items align-self justify-content gap
    grid-template-columns order cursor pointer-events fill stroke animation-name clip-path
    break-inside word-break overflow-wrap scroll-margin-top user-select content-visibility`.split(/\s+/);
  const formulas = new Set([...document.querySelectorAll(".katex")].filter((_, i) => i % 8 === 0));
  const wanted = (e) => !e.closest("math, svg *") && (!e.closest(".katex") || formulas.has(e.closest(".katex")));
  const elements = [...document.querySelectorAll("html, body, body *")].filter(wanted);
  const parts = (e) => [null, "::before", "::after", ...(e.matches("li, summary") ? ["::marker"] : []),
    ...(e.matches("dialog, [popover]") ? ["::backdrop"] : [])];
  const look = async () => {
    document.body.offsetHeight; // with a new style fonts are asked for
    await document.fonts.ready;
    return elements.flatMap((e) => parts(e).map((part) => {
      const style = getComputedStyle(e, part), said = () => ASPECTS.map((name) => style.getPropertyValue(name)).join("|");
      const { x, y } = e.getBoundingClientRect(); // for the margins that fill what is free
      if (part === null) return [said(), x.toFixed(1), y.toFixed(1)].join("|").replaceAll(/url\([^)]*\)/g, "url()");
      return /before|after/.test(part) && style.content === "none" ? "" : said().replaceAll(/url\([^)]*\)/g, "url()");
    }));
  };
  for (const moving of document.getAnimations()) moving.finish();
  const own = document.querySelector('link[rel="stylesheet"]');
  const still = Object.assign(document.createElement("style"), { textContent: "* { transition: none !important; }" });
  document.head.append(still);
  const before = await look();
  const other = Object.assign(document.createElement("style"), { textContent: whole });
  own.after(other);
  own.disabled = true;
  const after = await look();
  own.disabled = false;
  other.remove();
  still.remove();
  const different = [...before.keys()].filter((i) => before[i] !== after[i]);
  const names = elements.flatMap((e) => parts(e).map((part) => `${e.localName}#${e.id}.${e.className} ${part ?? ""}`));
  return different.slice(0, 10).map((i) => {
    const [a, b] = [before[i].split("|"), after[i].split("|")], at = a.findIndex((value, k) => value !== b[k]);
    return `${names[i]}: ${ASPECTS[at] ?? "place"} ${a[at]} instead of ${b[at]}`;
  });
}
