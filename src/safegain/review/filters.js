// What the list is filtered and ordered by, and the parts of the page that follow from the run.
import { digitKeys, el } from "./view.js";

const $ = (id) => document.getElementById(id);
const filters = $("filters");

export const order = () => filters.order.value;

export function asked() {
  const form = new FormData(filters);
  const share = (name) => (form.get(name) === "" ? "" : Number(form.get(name)) / 100);
  return new URLSearchParams({ ...Object.fromEntries(form), least: share("least"), most: share("most") });
}

export function fill(about) {
  const option = (value, text, off) => el("option", { value, disabled: off }, text);
  filters.order.append(...about.orders.map(({ name, title, rows: n }) => option(name, `${title} (${n})`, n === 0)));
  for (const list of [filters.given, filters.suggested]) list.append(...(about.classes ?? []).map((text, i) => option(i, text)));
  const absent = about.classes ? (about.classes.length > digitKeys(about.classes).size ? ".of-numbers" : ".of-numbers, .of-many") : ".of-classes, .of-many";
  for (const node of document.querySelectorAll(absent)) node.hidden = true;
  $("orders").append(...about.orders.flatMap(({ title, sentence }) => [el("dt", {}, title), el("dd", {}, sentence)]));
  $("caveat").textContent = about.caveat;
  $("folder").textContent = about.folder;
}

export function describe(about) {
  const chosen = about.orders.find(({ name }) => name === order());
  $("sentence").replaceChildren(chosen.sentence, " ", el("span", { class: "small" }, about.caveat));
}
