// The evidence after each label, between the bound where the new model is certified and the one where it is worse.
const { namespaceURI } = document.getElementById("shapes"); // that of SVG
const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [640, 220, 118, 12, 14, 34];

function svg(tag, attributes, text) {
  const node = document.createElementNS(namespaceURI, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text != null) node.textContent = text;
  return node;
}

// What speaks for the new model upwards, what speaks against it downwards; on both sides as a logarithm.
export const heights = (evidence, counter) =>
  [0, ...evidence.map((e, i) => Math.max(0, Math.log(e)) - Math.max(0, Math.log(counter[i])))];

export function curve({ evidence, counter, needed, differing, more, place, certified }) {
  const line = heights(evidence, counter), bound = Math.log(needed);
  const most = Math.max(bound * 1.15, ...line), least = Math.min(-bound * 1.15, ...line);
  const ahead = certified || more == null ? place : place + more;
  const last = Math.max(10, Math.min(differing, Math.max(place * 1.15, ahead * 1.1)));
  const x = (i) => LEFT + (i / last) * (WIDTH - LEFT - RIGHT);
  const y = (h) => TOP + ((most - h) / (most - least)) * (HEIGHT - TOP - BOTTOM);
  const told = `After ${place} labels the evidence is ${(Math.exp(line.at(-1))).toFixed(1)} : 1; ${needed.toFixed(0)} : 1 certifies.`;
  const node = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": told, class: "curve" });
  const across = (h, kind, ...texts) => {
    node.append(svg("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(h), y2: y(h), class: kind }));
    texts.forEach((text, i) => node.append(svg("text", { x: LEFT - 8, y: y(h), dy: `${0.33 + 1.15 * (i - (texts.length - 1) / 2)}em`, "text-anchor": "end" }, text)));
  };
  across(bound, "bound certified", "certified", `${needed.toFixed(0)} : 1`);
  across(0, "zero", "even");
  across(-bound, "bound worse", "worse", `1 : ${needed.toFixed(0)}`);
  node.append(svg("polyline", { points: line.map((h, i) => `${x(i)},${y(h)}`).join(" "), class: "evidence" }));
  node.append(svg("circle", { cx: x(place), cy: y(line.at(-1)), r: 4, class: "now" }));
  for (const tick of ticks(last)) node.append(svg("text", { x: x(tick), y: HEIGHT - 16, "text-anchor": "middle" }, tick));
  node.append(svg("text", { x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 2, "text-anchor": "middle" }, "labels given"));
  return node;
}

function ticks(last) {
  const step = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 1e4, 2e4, 5e4, 1e5].find((s) => last / s <= 8) ?? last;
  return Array.from({ length: Math.floor(last / step) + 1 }, (_, i) => i * step);
}
