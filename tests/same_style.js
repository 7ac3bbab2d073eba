// Which elements look different with the style `whole` than with the site's own: [what differs, …], at most ten.
async (whole) => {
  const ASPECTS = `content display position color background-color background-image border-top-width border-top-color
    border-left-width border-left-color border-bottom-width border-right-width border-radius box-shadow outline-width
    outline-style opacity visibility z-index font-family font-size font-style font-weight line-height text-align
    text-decoration-line text-transform text-indent white-space vertical-align letter-spacing list-style-type width
    height min-width min-height max-width max-height margin-top margin-right margin-bottom margin-left padding-top
    padding-right padding-bottom padding-left top right bottom left float clear overflow-x overflow-y transform filter
    flex-direction flex-grow flex-shrink flex-basis flex-wrap align-items align-self justify-content gap
    grid-template-columns order cursor pointer-events fill stroke animation-name transition-property clip-path
    break-inside word-break overflow-wrap scroll-margin-top user-select content-visibility`.split(/\s+/);
  const elements = [...document.querySelectorAll("html, body, body *")].filter((e) => !e.closest(".katex-mathml, svg *"));
  const look = async () => {
    document.body.offsetHeight; // with a new style fonts are asked for
    await document.fonts.ready;
    return elements.flatMap((e) => [null, "::before", "::after", "::marker", "::backdrop"].map((part) => {
    const style = getComputedStyle(e, part);
    if (part && part.length < 9 && style.content === "none") return "";
    return ASPECTS.map((name) => style.getPropertyValue(name)).join("|").replaceAll(/url\([^)]*\)/g, "url()");
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
  return different.slice(0, 10).map((i) => {
    const e = elements[Math.floor(i / 5)], [a, b] = [before[i].split("|"), after[i].split("|")];
    const at = ASPECTS.findIndex((_, k) => a[k] !== b[k]);
    return `${e.localName}#${e.id}.${e.className}, part ${i % 5}: ${ASPECTS[at]} ${a[at]} instead of ${b[at]}`;
  });
}
