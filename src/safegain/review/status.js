// What the page says of itself: how far it is, what is saved, and what is wrong with the connection or the disk.
import { token } from "./server.js";

const $ = (id) => document.getElementById(id);

const SHOWN = 3000; // milliseconds
let fading;

export function say(text) {
  $("said").textContent = text;
  clearTimeout(fading);
  fading = setTimeout(() => ($("said").textContent = ""), SHOWN);
}

export function count(unsaved) {
  $("saved").textContent = unsaved ? `${unsaved} not saved yet` : "all saved";
  $("saved").className = unsaved ? "unsaved" : "";
}

export function advance({ checked, rows, left }) {
  $("bar").value = rows ? checked / rows : 0;
  $("progress").textContent = `${checked} of ${rows} checked${left ? `, ${left}` : ""}`;
}

export function trouble(gone, failing, queue, about) {
  const unsent = queue.map(({ row, words }) => `row ${row.row}: ${words}`);
  const waiting = unsent.length ? ` Not saved yet, and kept in this tab: ${unsent.join("; ")}.` : "";
  const command = about ? `safegain review ${about.folder}` : "the command";
  if (gone === "away") {
    return `The server does not answer. Everything saved is safe in the run folder.${waiting} Start it again (${command}) and open the new address in this tab.`;
  }
  if (gone === "token") {
    const why = token() ? "The server was restarted" : "The address is incomplete";
    return `${why}. Open the full address it printed, including everything after the #, in this tab.${waiting}`;
  }
  if (failing === null) return null;
  return `Saving fails at the moment (${failing}).${waiting} The page retries every few seconds: leave this tab open.`;
}
