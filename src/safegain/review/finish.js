// The last window: what was written, the next fit, and decisions from Label Studio.
import { ask } from "./server.js";
import { el, verdicts } from "./view.js";

const $ = (id) => document.getElementById(id);
let watching = null; // the timer of a fit that is going on

export async function openFinish(about, unsaved, trying) {
  const { status, answer } = await ask("/api/finish", {});
  if (status !== 200) throw new Error(answer.error);
  $("written").textContent = answer.rows
    ? `Wrote ${answer.rows} checked row${answer.rows === 1 ? "" : "s"} to ${answer.file}. ${answer.sample
      ? `${answer.sample} of them are a random sample: models are compared on these.`
      : "None of them are a random sample: they put their own label right, and models are not compared on them."}`
    : "Nothing has been checked yet.";
  if (unsaved) $("written").textContent += ` ${unsaved} not saved yet and left out.`;
  $("next").hidden = answer.command === null || !answer.rows;
  $("command").textContent = answer.command ?? "";
  await watch(about, trying);
  if (!$("finish").open) $("finish").showModal();
}

export async function watch(about, trying, path = "/api/refits", body) {
  const { status, answer } = await ask(path, body);
  if (status !== 200) return void $("verdicts").replaceChildren(el("p", { class: "none" }, answer.error));
  const cancel = () => trying(() => watch(about, trying, "/api/cancel", {}));
  $("verdicts").replaceChildren(...verdicts(about, answer, cancel));
  $("refit").disabled = answer.refits.some(({ state }) => state === "running");
  clearTimeout(watching);
  if ($("refit").disabled) watching = setTimeout(() => trying(() => watch(about, trying)), 1000);
}

export async function importFile(file) {
  const { status, answer } = await ask("/api/import", file);
  $("imported").textContent = status === 200 ? `Imported ${answer.imported} decisions.` : answer.error;
}
