// What is seen of a row. Everything from files goes into the page as text: no string is ever read as HTML.

export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value !== false && value != null) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child != null)); // a string becomes a text node
  return node;
}

const key = (name) => el("kbd", {}, name);

export function label(text, kind = "") {
  if (text == null) return el("span", { class: "label none" }, "no label");
  return el("bdi", { class: `label ${kind}` }, text.trim() ? text : "(empty)");
}

export function told(state) {
  const verbs = { accept: "Accepted", keep: "Kept", other: "Set to", skip: "Skipped" };
  return state.verdict === "skip" ? "Skipped" : `${verbs[state.verdict]} “${state.label}”`;
}

function badge(state) {
  return state.verdict ? el("p", { class: `badge ${state.verdict}` }, el("bdi", {}, told(state))) : null;
}

function picture(row, size) {
  return row.picture ? el("img", { class: `picture ${size}`, src: row.picture, alt: `Picture of row ${row.row}` }) : null;
}

function values(pairs) {
  if (pairs.length === 0) return null;
  const lines = pairs.flatMap(([name, value]) => [
    el("dt", {}, el("bdi", {}, name)),
    el("dd", { class: value ? "" : "none" }, el("bdi", {}, value || "empty")),
  ]);
  return el("dl", { class: "values" }, ...lines);
}

const name = (row) => [`Row ${row.row} `, row.id == null ? null : el("bdi", { class: "id" }, row.id)];

// One row, its choices, and the trusted rows nearest to it.
export function single(row, about, act) {
  return el("div", { class: row.picture ? "single pictured" : "single" }, subject(row), choices(row, about, act), why(row));
}

export function subject(row) {
  const nothing = row.picture == null && row.values.length === 0;
  return el("article", { class: "subject", "aria-label": "The row" },
    el("h2", {}, ...name(row)), picture(row, "large"), values(row.values),
    nothing ? el("p", { class: "none" }, "The run holds no picture or values for this row: look it up by its number.") : null);
}

function choices(row, about, act) {
  const button = (kind, run, keys, ...words) =>
    el("button", { class: `choice ${kind}`, click: run }, el("span", {}, ...words), ...keys.map(key));
  const none = row.hidden ? "The suggestion is hidden until you have decided." : "No suggestion: the label looks right, or the model cannot tell.";
  const suggestion = row.suggested == null
    ? el("p", { class: "none" }, none)
    : el("p", { class: "suggestion" }, "Suggested ", label(row.suggested, "suggested"), el("br"),
      row.interval == null ? null : el("span", { class: "words" }, "90% range: ", row.interval, el("br")),
      el("span", { class: "words" }, row.confidence));
  return el("section", { class: "choices", "aria-label": "Your decision" },
    el("p", {}, "Given ", label(row.given, "given")), suggestion, badge(row.state),
    row.suggested == null ? null : button("accept", act.accept, ["A"], "Accept ", label(row.suggested, "suggested")),
    row.given == null ? null : button("keep", act.keep, ["K"], "Keep ", label(row.given, "given")),
    about.classes ? classes(about, act) : number(act),
    button("skip", act.skip, ["S"], "Skip: I cannot tell"));
}

// Digit -> number of a class: its own name where all classes are digits, else its place among the first nine.
export function digitKeys(classes) {
  const digits = classes.every((text) => /^[0-9]$/.test(text));
  return new Map(digits ? classes.map((text, i) => [text, i]) : classes.slice(0, 9).map((_, i) => [String(i + 1), i]));
}

// Every class as a button, or by its name where there are many; `chosen` is the number of the one that stands out.
export function classes(about, act, chosen = null, title = "Another label") {
  const first = [...digitKeys(about.classes)].map(([digit, number]) =>
    el("button", { class: number === chosen ? "picked" : "", click: () => act.other(number) }, key(digit), " ", label(about.classes[number])));
  const found = el("div", { class: "found" });
  const matches = (part) => about.classes.map((text, number) => ({ text, number }))
    .filter(({ text }) => part && text.toLowerCase().includes(part.toLowerCase()))
    .sort((a, b) => a.text.length - b.text.length).slice(0, 8);
  const field = el("input", {
    id: "other", type: "text", autocomplete: "off", placeholder: `search ${about.classes.length} classes`,
    "aria-label": "Another label",
    input: () => found.replaceChildren(...matches(field.value).map(({ text, number }) =>
      el("button", { click: () => act.other(number) }, label(text)))),
    keydown: (event) => {
      const [best] = matches(field.value);
      if (event.key === "Enter" && best) decided(event, () => act.other(best.number));
    },
  });
  const search = about.classes.length > first.length ? el("label", {}, key("O"), field) : null;
  return el("div", { class: "others" }, el("p", { class: "small" }, title), el("div", { class: "classes" }, ...first), search, found);
}

function decided(event, run) {
  event.stopPropagation(); // the next row is shown by then, and this key was not meant for it
  run();
}

function number(act) {
  const field = el("input", {
    id: "other", type: "number", step: "any", "aria-label": "Another number", placeholder: "then Enter",
    keydown: (event) => {
      const value = field.valueAsNumber;
      if (event.key === "Enter" && Number.isFinite(value)) decided(event, () => act.other(value));
    },
  });
  return el("div", { class: "others" }, el("label", {}, el("span", { class: "small" }, "Another number"), key("O"), field));
}

function why(row) {
  if (!row.neighbours?.length) return null;
  const near = row.neighbours.map((other) => {
    const kind = other.label === row.suggested ? "suggested" : other.label === row.given ? "given" : "";
    return el("article", { class: "card" },
      picture(other, "small"),
      el("p", {}, label(other.label, kind), kind ? el("span", { class: "small" }, ` as ${kind}`) : null),
      el("p", { class: "small" }, other.distance),
      values(other.values),
      el("p", { class: "small" }, ...name(other)));
  });
  return el("section", { class: "why" }, el("h3", {}, "Why: the most similar trusted rows"), el("div", { class: "near" }, ...near));
}

// One row among many.
function card(row, selected, open) {
  return el("button", { class: `card ${row.state.verdict ?? "open"}`, tabindex: selected ? 0 : -1, "data-row": row.row, click: open },
    picture(row, "small") ?? values(row.values.slice(0, 4)),
    el("span", { class: "change" }, label(row.given, "given"), row.suggested == null ? null : " → ",
      row.suggested == null ? null : label(row.suggested, "suggested")),
    el("span", { class: "small" }, row.hidden ? "suggestion hidden" : row.suggested == null ? "nothing suggested" : row.confidence),
    badge(row.state),
    el("span", { class: "small" }, ...name(row)));
}

export function grid(rows, at, open, more) {
  const cards = rows.map((row, place) => card(row, place === at, () => open(place)));
  const list = el("div", { class: "grid", role: "group", "aria-label": "Rows" }, ...cards);
  return more ? [list, el("button", { class: "more", click: more }, "More rows")] : [list];
}

export function end(checked, finish) {
  const text = checked ? "You have reached the end of this list." : "No row matches: change the order or the filters.";
  return el("div", { class: "end" }, el("h2", {}, text),
    el("p", {}, "Go on with another order, or finish and fit again."),
    el("button", { class: "main", click: finish }, "Finish"));
}

// What this run found, and what the fits that were started from the page did.
export function verdicts(about, found, cancel) {
  const link = (run) => (run.report ? el("p", {}, el("a", { href: run.report, target: "_blank", rel: "noopener" }, "Report")) : null);
  const box = (title, run, ...more) => el("article", { class: "card" }, el("h3", {}, title),
    run.verdict ? el("p", {}, run.verdict) : null, run.certificate ? el("p", {}, run.certificate) : null, ...more, link(run));
  const states = { running: "Fitting …", cancelled: "Cancelled.", failed: "The fit failed.", done: null };
  const later = found.refits.map((run) => box(run.state === "done" ? "After your checks" : "The new fit", run,
    el("p", { class: "small" }, el("bdi", {}, run.folder)), states[run.state] ? el("p", {}, states[run.state]) : null,
    run.state === "done" ? null : el("pre", {}, run.line),
    run.state === "running" ? el("button", { click: cancel }, "Cancel") : null));
  return [box("This run", { ...about, report: found.report }), ...later];
}
