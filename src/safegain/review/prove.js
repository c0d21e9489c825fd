// Prove it: one differing row after the other, a label for each, and what the labels show. A label is chosen, then
// saved; it is kept in this tab until the server has it on the disk.
import { curve } from "./curve.js";
import { Gone, ask, carry, get } from "./server.js";
import { count, say, trouble } from "./status.js";
import { classes, digitKeys, el, label, subject } from "./view.js";

const $ = (id) => document.getElementById(id);
const POLL = 2000; // milliseconds
const who = crypto.randomUUID(); // this tab
let state = null; // what the server said last
let chosen; // undefined: nothing yet; null: cannot tell; else the number of a class
let unsent = null; // the label that was saved here and is not on the disk yet
let sending = false;

async function trying(work) {
  try {
    await work();
    reach(null);
  } catch (error) {
    reach(error instanceof Gone ? error.message : null, error instanceof Gone ? null : error.message);
  }
}

function reach(gone, failing = null) {
  const waiting = unsent ? [{ row: { row: unsent.row }, words: unsent.words }] : [];
  const text = trouble(gone, failing, waiting, state?.proof ? { folder: `${state.folder} --pool ${state.proof.pool}` } : state);
  $("banner").hidden = text === null;
  if (text && $("banner").textContent !== text) $("banner").textContent = text;
  count(waiting.length);
}

function adopt(found) {
  const before = state?.proof?.place;
  const same = found.proof && before === found.proof.place && state.proof.written === found.proof.written;
  if (chosen !== undefined && found.proof?.place > before) say(`Row ${state.proof.row.row} was labelled in another tab.`);
  state = found;
  if (same) return;
  chosen = undefined;
  show();
}

// --- what is shown

function show() {
  const { proof, why, folder } = state;
  $("folder").textContent = folder;
  $("stop").hidden = !proof || proof.over || proof.place === 0;
  if (!proof) return void $("main").replaceChildren(nothing(why, folder));
  $("sentence").textContent = proof.over ? "" : `The new model and the reference differ on this row. What should its ${proof.label} be?`;
  $("progress").textContent = `${proof.place} of at most ${proof.differing} labels${outlook(proof)}`;
  $("main").replaceChildren(proof.over ? verdict(proof) : question(proof));
  const sentence = proof.over ? null : el("p", { class: "small" }, proof.sentence); // what has ended says it above
  $("evidence").replaceChildren(el("div", {}, el("h2", {}, "Evidence so far"), curve(proof), claims(proof), sentence));
  if (!typing()) $("main").focus({ preventScroll: true });
}

function outlook({ over, more, place, differing, worse }) {
  if (over || place === 0) return "";
  if (worse) return ": they show that the new model is worse";
  if (more == null) return ": they do not favour the new model so far";
  return more > differing - place ? ": this pool may have too few rows" : `: about ${more} more may be enough`;
}

function nothing(why, folder) {
  return el("div", { class: "end" }, el("h2", {}, why ? "Not for this run" : "A file of fresh rows is needed"),
    ...(why ? [el("p", {}, why)] : [
      el("p", {}, "Give a table of rows that had no part in the fit. They need no labels."),
      el("pre", {}, el("code", {}, `safegain review ${folder} --pool fresh.csv`))]));
}

function question(proof) {
  const pick = (number) => { chosen = number; show(); };
  const ready = chosen !== undefined;
  const words = chosen === null ? "“I cannot tell”" : label(proof.classes[chosen]);
  const save = el("button", { class: "choice main", disabled: !ready, click: put }, el("span", {}, "Save ", ready ? words : "…"), el("kbd", {}, "Enter"));
  const hard = el("button", { class: `choice ${chosen === null ? "picked" : ""}`, click: () => pick(null) },
    el("span", {}, "I cannot tell (counts against the new model)"), el("kbd", {}, "S"));
  const side = el("section", { class: "choices", "aria-label": "Its label" },
    classes(proof, { other: pick }, chosen, "The right label"), hard, save);
  return el("div", { class: "single" }, subject(proof.row), side);
}

function verdict(proof) {
  const title = proof.certified ? "Certified" : "Not certified: no rows are left to label";
  return el("div", { class: "end" }, el("h2", {}, title), el("p", {}, proof.sentence),
    el("p", { class: "small" }, proof.written ? "The result is in the run folder and in its report." : "Saving the result …"),
    proof.certified ? null : el("p", {}, "To try again, give a pool of other fresh rows: a new test, at a smaller level."));
}

// One claim is what the sentence says already.
function claims(proof) {
  if (proof.entries.length < 2) return null;
  const cells = ({ name, won, lost, certified }) => [name, won, lost, certified ? "passed" : "not yet"].map((text) => el("td", {}, String(text)));
  return el("table", { class: "claims" }, el("tr", {}, ...["claim", "won", "lost", ""].map((text) => el("th", {}, text))),
    ...proof.entries.map((entry) => el("tr", {}, ...cells(entry))));
}

// --- labels

function put() {
  const { proof } = state;
  if (!proof || proof.over || chosen === undefined || unsent) return;
  const words = chosen === null ? "cannot tell" : `“${proof.classes[chosen]}”`;
  unsent = { place: proof.place, choice: chosen, row: proof.row.row, words };
  count(1);
  flush();
}

async function flush() {
  if (sending) return;
  sending = true;
  await trying(async () => {
    if (!unsent) return adopt(await get("/api/proof"));
    const { place, choice, row } = unsent;
    const { status, answer } = await ask("/api/proof/label", { place, choice, who });
    if (status !== 200 && status !== 409) throw new Error(answer.error); // it stays, and the next poll sends it again
    unsent = null;
    chosen = undefined; // it was this tab's own
    adopt(answer);
    say(status === 200 ? `Row ${row}: saved.` : `Row ${row} was labelled in another tab.`);
  });
  sending = false;
}

async function stop() {
  const { status, answer } = await ask("/api/proof/stop", {});
  if (status !== 200) throw new Error(answer.error);
  adopt(answer);
  say("The result so far is in the run folder. You can go on.");
}

// --- keys

const typing = () => document.activeElement?.matches("input");

document.addEventListener("keydown", (event) => {
  const proof = state?.proof;
  if (!proof || proof.over || event.ctrlKey || event.metaKey || event.altKey || event.repeat || document.querySelector("dialog[open]")) return;
  if (typing()) return void (event.key === "Escape" && $("main").focus());
  const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const digits = digitKeys(proof.classes);
  const choose = (number) => () => { chosen = number; show(); };
  const keys = { s: choose(null), Escape: choose(undefined), o: () => $("other")?.focus(), "?": () => $("help").showModal() };
  const run = name === "Enter" && !event.target.closest("button, a") ? put : digits.has(name) ? choose(digits.get(name)) : keys[name];
  if (!run) return;
  event.preventDefault();
  run();
});

$("to-help").addEventListener("click", () => $("help").showModal());
$("stop").addEventListener("click", () => trying(stop));
carry($("to-review"), "/");
window.addEventListener("hashchange", flush);
window.addEventListener("beforeunload", (event) => unsent && event.preventDefault());
flush();
setInterval(flush, POLL);
