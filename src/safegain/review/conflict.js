// Two decisions on one row: which of them counts.
import { told } from "./view.js";

const $ = (id) => document.getElementById(id);

export async function preferred(mine, theirs) {
  const where = theirs.who === "import" ? "an import" : "another tab";
  const found = theirs.verdict ? told(theirs) : "open again";
  $("theirs").textContent = `Row ${mine.row.row} was decided in ${where} in the meantime: ${found}.`;
  $("mine").textContent = mine.verdict === "undo" ? "Undo anyway" : `Use mine: ${mine.words}`;
  $("conflict").returnValue = "theirs";
  $("conflict").showModal();
  await new Promise((resolve) => $("conflict").addEventListener("close", resolve, { once: true }));
  return $("conflict").returnValue;
}
