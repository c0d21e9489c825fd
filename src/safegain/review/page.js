// The page: which rows, which is shown, and decisions on their way to the disk.
import { advance, count, say, trouble } from "./status.js";
import { preferred } from "./conflict.js";
import { asked, describe, fill, order } from "./filters.js";
import { importFile, openFinish, watch } from "./finish.js";
import { isDigit, meaning } from "./keys.js";
import { Gone, ask, carry, get } from "./server.js";
import { end, grid, single, told } from "./view.js";

const $ = (id) => document.getElementById(id);
const PAGE = 60; // rows of one request
const POLL = 2000; // milliseconds
const who = crypto.randomUUID(); // this tab
let about = null; // what does not change
let rows = []; // those of the list that are known, in order; a decided one stays where it was
let more = false; // whether the list goes on
let generation = 0; // of requests for rows: only the last one counts
let loading = null; // that one, while it is under way
let at = 0; // the row that is shown
let view = "single";
let last = 0; // the number of the last decision that is known
let gone = null; // why the server cannot be reached
let failing = null; // why it cannot write decisions down
let beginning = false;
let sending = false;
let byMouse = false; // how the page was last used
let filtering = null; // the timer of a filter that is being typed
const queue = []; // decisions that are not on the disk yet, oldest first
const past = []; // what can be undone
const own = new Map(); // the version that this tab's last decision gave a row, by number
const details = new Map(); // rows in full, by number

// Runs something that needs the server, and says so if it is not there.
async function trying(work) {
  try {
    await work();
    reach(null);
  } catch (error) {
    reach(error instanceof Gone ? error.message : null);
    if (!(error instanceof Gone)) say(error.message);
  }
}

function reach(why) {
  gone = why;
  const text = trouble(gone, failing, queue, about);
  $("banner").hidden = text === null;
  if (text && $("banner").textContent !== text) $("banner").textContent = text;
  count(queue.length);
}

// --- the list

// One request at a time: the next rows are asked for once, however often the end is reached; a new list replaces it.
function load(anew) {
  if (loading && !anew) return loading;
  const mine = ++generation;
  loading = fetchRows(anew, mine).finally(() => { if (mine === generation) loading = null; });
  return loading;
}

async function fetchRows(anew, mine) {
  const query = asked();
  query.set("limit", PAGE);
  if (!anew && rows.length) query.set("after", rows.at(-1).row);
  const found = await get(`/api/rows?${query}`);
  if (mine !== generation) return; // another list is wanted by now
  if (anew) [rows, at] = [[], 0];
  rows.push(...found.rows);
  more = found.more;
}

async function reload() {
  details.clear();
  await load(true);
  describe(about);
  show();
  await changes();
}

async function go(step) {
  const list = rows;
  if (at + step >= rows.length && more) await trying(() => load(false));
  if (list !== rows) return; // the step was made in another list
  at = Math.max(0, Math.min(rows.length, at + step)); // one past the end: the list is done
  if (view === "grid") at = Math.min(at, Math.max(0, rows.length - 1));
  show();
}

// --- what is shown

const act = {
  accept: () => decide("accept"), keep: () => decide("keep"), skip: () => decide("skip"),
  other: (choice) => decide("other", choice),
};

function show() {
  const row = rows[at];
  $("to-grid").firstElementChild.textContent = view === "grid" ? "One by one" : "Grid";
  if (!rows.length || (view === "single" && !row)) showEnd();
  else if (view === "grid") showGrid();
  else showRow(row);
}

function turn(to) {
  view = to;
  at = Math.min(at, Math.max(0, rows.length - 1));
  window.scrollTo(0, 0);
  show();
}

function showRow(row) {
  $("main").replaceChildren(single({ ...row, ...details.get(row.row), state: row.state }, about, act));
  focus($("main"));
  const wanted = rows.slice(at, at + 4).filter(({ row: number }) => !details.has(number)); // this one, and ahead
  for (const next of wanted) {
    details.set(next.row, null); // asked for
    trying(async () => details.set(next.row, await get(`/api/rows/${next.row}?order=${order()}`))).then(() => {
      if (!details.get(next.row)) details.delete(next.row);
      else if (rows[at] === next && view === "single" && !typing()) showRow(next);
    });
  }
}

function showGrid() {
  const open = (place) => { at = place; turn("single"); };
  const nodes = grid(rows, at, open, more ? () => trying(() => load(false)).then(show) : null);
  $("main").replaceChildren(...nodes);
  focus(nodes[0].children[at]);
}

function showEnd() {
  $("main").replaceChildren(end(rows.length > 0, finish));
  focus($("main"));
}

// Whoever is typing into a filter goes on; whoever chose one with the mouse means the rows next.
function focus(node) {
  if (!typing() || byMouse) node.focus({ preventScroll: node === $("main") });
}

// --- decisions

function decide(verdict, choice = null) {
  const row = rows[at];
  if (!row) return;
  if (verdict === "accept" && row.suggested == null) return say("No suggestion is shown for this row: press K if its label is right.");
  if (verdict === "keep" && row.given == null) return say("This row has no label to keep.");
  const label = { accept: row.suggested, keep: row.given, other: about.classes ? about.classes[choice] : String(choice) }[verdict];
  past.push({ row, before: row.state });
  put(row, verdict, choice, label);
  say(`Row ${row.row}: ${told(row.state)}.`);
  go(1);
}

// Shown at once, and sent in turn. The version is that on which it was decided.
function put(row, verdict, choice, label, version = row.state.version) {
  own.set(row.row, version + 1);
  row.state = { version: version + 1, verdict: verdict === "undo" ? null : verdict, label: label ?? null, choice };
  queue.push({ row, verdict, choice, version, label, words: verdict === "undo" ? "undo" : told(row.state) });
  count(queue.length);
  flush();
}

function undo() {
  const latest = past.pop();
  const row = latest?.row ?? rows[at];
  if (!latest && !row?.state.verdict) return say("There is nothing to undo.");
  const before = latest?.before ?? { verdict: null };
  const version = latest ? own.get(row.row) : row.state.version; // what another tab has decided since is asked about
  put(row, before.verdict ?? "undo", before.choice ?? null, before.label, version);
  if (rows.includes(row)) at = rows.indexOf(row);
  say(`Row ${row.row}: undone.`);
  show();
}

async function flush() {
  if (sending) return;
  sending = true;
  await trying(async () => {
    while (queue.length) {
      const { row, verdict, choice, version } = queue[0];
      const { status, answer } = await ask("/api/decide", { row: row.row, verdict, choice, version, who, order: order() });
      const taken = [200, 400, 409].includes(status);
      failing = taken ? null : answer.error;
      if (!taken) return; // it stays in the queue, and the next poll sends it again
      const mine = queue.shift();
      if (status === 200) disclose(row, answer);
      else await refused(mine, status, answer);
    }
    await changes();
  });
  sending = false;
}

// What was hidden until the row had a label.
function disclose(row, { state, ...more }) {
  Object.assign(row, more);
  details.delete(row.row);
  adopt(row, state);
}

function adopt(row, state) {
  if (state.version >= row.state.version && !queue.some((one) => one.row === row)) row.state = state;
}

async function refused(mine, status, answer) {
  const { row } = mine;
  for (let i = queue.length; i--;) if (queue[i].row === row) queue.splice(i, 1); // they build on the refused one
  for (let i = past.length; i--;) if (past[i].row.row === row.row) past.splice(i, 1); // nothing is left to undo
  if (status !== 409) {
    row.state = (await get(`/api/rows/${row.row}?order=${order()}`)).state;
    say(`Row ${row.row}: ${answer.error}.`);
    return show();
  }
  row.state = answer.state;
  if (await preferred(mine, answer.state) === "mine") {
    past.push({ row, before: row.state });
    put(row, mine.verdict, mine.choice, mine.label);
  } else say(`Row ${row.row}: kept as the other tab decided.`);
  show();
}

async function changes() {
  const query = asked();
  query.set("since", last);
  const found = await get(`/api/changes?${query}`);
  last = found.last;
  const here = new Map(rows.map((row) => [row.row, row]));
  const changed = found.changes.filter(({ row, state }) => here.has(row) && state.version > here.get(row).state.version);
  for (const { row, state } of changed) adopt(here.get(row), state);
  advance(found.progress);
  if (changed.length && (view === "grid" || changed.some(({ row }) => row === rows[at]?.row)) && !typing()) {
    say(`Row ${changed[0].row} was decided in another tab.`);
    show();
  }
}

async function poll() {
  if (about) return flush();
  if (beginning) return;
  beginning = true;
  await trying(begin);
  beginning = false;
}

async function finish() {
  await flush();
  await trying(() => openFinish(about, queue.length, trying));
}

// --- keys

const typing = () => document.activeElement?.matches("input, select, textarea");

function columns() {
  return getComputedStyle($("main").firstElementChild).gridTemplateColumns.split(" ").length;
}

const KEYS = {
  a: act.accept, k: act.keep, s: act.skip, z: undo, Backspace: undo, j: () => go(1), ArrowRight: () => go(1), ArrowLeft: () => go(-1),
  g: () => turn(view === "grid" ? "single" : "grid"),
  o: () => $("other")?.focus(),
  f: finish,
  "/": () => $("filters").search.focus(),
  "?": () => $("help").showModal(),
};

document.addEventListener("keydown", (event) => {
  if (!about || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  byMouse = false;
  if (typing()) {
    if (event.key === "Escape" || (event.key === "Enter" && event.target.name === "search")) $("main").focus();
    return;
  }
  const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const run = meaning(name, event, { about, view, row: rows[at], act, go, columns, keys: KEYS });
  if (!run || (event.repeat && !name.startsWith("Arrow"))) return; // a key held down decides once
  if (about.classes || !isDigit(name)) event.preventDefault(); // a digit goes into the field of a number
  run();
});

// --- beginning

async function begin() {
  const found = await get("/api/about");
  fill(found);
  about = found;
  await reload();
}

$("filters").addEventListener("submit", (event) => event.preventDefault());
$("filters").addEventListener("input", () => {
  clearTimeout(filtering);
  filtering = setTimeout(() => trying(reload), 200);
});
$("to-grid").addEventListener("click", KEYS.g);
$("to-finish").addEventListener("click", finish);
$("to-help").addEventListener("click", KEYS["?"]);
carry($("to-prove"), "/prove");
$("copy").addEventListener("click", () => navigator.clipboard.writeText($("command").textContent).then(() => ($("copy").textContent = "Copied")));
$("refit").addEventListener("click", () => trying(() => watch(about, trying, "/api/refit", {})));
$("import").addEventListener("change", (event) => event.target.files[0] && trying(() => importFile(event.target.files[0]).then(changes)));
window.addEventListener("hashchange", poll);
window.addEventListener("pointerdown", () => (byMouse = true));
window.addEventListener("beforeunload", (event) => queue.length && event.preventDefault());
poll();
setInterval(poll, POLL);
