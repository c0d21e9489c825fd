// What a key does, beyond the keys that always do the same.
import { digitKeys } from "./view.js";

export const isDigit = (name) => /^[0-9.-]$/.test(name);

export function meaning(name, event, { about, view, row, act, go, columns, keys }) {
  if (view === "single" && name === "Enter" && !event.target.closest("button, a, summary")) return act.accept;
  if (view === "grid" && row && name === "ArrowDown") return () => go(columns());
  if (view === "grid" && row && name === "ArrowUp") return () => go(-columns());
  if (view === "single" && row && isDigit(name)) {
    if (!about.classes) return () => document.getElementById("other").focus();
    const digits = digitKeys(about.classes);
    if (digits.has(name)) return () => act.other(digits.get(name));
  }
  return keys[name];
}
