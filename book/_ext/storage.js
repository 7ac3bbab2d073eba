// Inline, first in each page: where storage is denied, a memory for this page, so that no script stops at it.
try { localStorage.length; } catch {
  const kept = new Map();
  const memory = { getItem: (k) => kept.get(k) ?? null, setItem: (k, v) => kept.set(k, `${v}`), removeItem: (k) => kept.delete(k) };
  for (const name of ["localStorage", "sessionStorage"]) Object.defineProperty(window, name, { value: memory });
}
