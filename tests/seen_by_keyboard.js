// What takes the focus and does not show it: evaluated by tests/test_accessibility.py.  It shows by an outline, or by a shadow
// like one, of contrast 3 (WCAG 2.2, 1.4.11); in forced colours there are no shadows.
(forced) => {
  const channels = (colour) => colour.match(/[\d.]+/g).map(Number);
  const linear = (v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const luminance = (colour) => {
    const [r, g, b] = channels(colour).map(linear);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const colour = getComputedStyle(e).backgroundColor;
      if ((channels(colour)[3] ?? 1) === 1) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const contrast = (one, other) => {
    const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a);
    return (light + 0.05) / (dark + 0.05);
  };
  for (const fold of document.querySelectorAll("details")) fold.open = true;
  const weak = [];
  for (const e of document.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']")) {
    if (!e.checkVisibility({ visibilityProperty: true }) || e.disabled) continue;
    e.focus({ focusVisible: true, preventScroll: true });
    const style = getComputedStyle(e), outlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
    const shadow = style.boxShadow.match(/(rgba?\([^)]*\)) 0px 0px 0px [2-9]px(?! inset)/);
    const colour = outlined ? style.outlineColor : !forced && shadow?.[1];
    const ratio = colour ? contrast(colour, ground(e.parentElement)) : 0;
    if (document.activeElement !== e || ratio < 3) weak.push(`${ratio.toFixed(2)} ${e.outerHTML.slice(0, 90)}`);
  }
  return weak;
}
