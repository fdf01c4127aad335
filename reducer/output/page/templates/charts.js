const figures = JSON.parse(await unpack("charts"));
const CONFIG = { displayModeBar: false };
const drawn = new Set();

/** The figure with `var(--name)` replaced by the colors of the theme. */
function colored(value, key = "") {
  if (Array.isArray(value)) return value.map((item) => colored(item, key));
  if (value !== null && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, colored(item, name)]));
  }
  return /color$/.test(key) && String(value).startsWith("var(") ? resolve(value) : value;
}

function resolve(color) {
  const probe = h("span");
  probe.style.color = color;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

/** Charts of the scores against what a menu chooses, such as size or speed. */
for (const menu of document.querySelectorAll("[data-axes]")) {
  const places = [...menu.closest("section").querySelectorAll(".chart")];
  const choose = () => places.forEach((place) => { figures[place.id] = figures[`${place.id}-${menu.value}`]; });
  menu.onchange = () => {
    choose();
    places.forEach(draw);
  };
  choose();
}

/** Draw a chart unless that was begun. */
const begun = new Map();
function drawOnce(place) {
  near.unobserve(place);
  if (!begun.has(place)) begun.set(place, (place.id === "clips-wer" ? drawClips : draw)(place));
  return begun.get(place);
}

const draw = async (place) => drawWith(await loadPlotly(), place);

/** The first step is done before this returns, since a page that is printed waits for nothing. */
async function drawWith(plotly, place) {
  const { data, layout } = colored(figures[place.id]);
  if (place.clientWidth) layout.width = place.clientWidth;
  if (place.clientWidth < 600 && layout.meta?.rows) putNamesAbove(layout, data[1].y);
  await plotly.react(place, data, layout, CONFIG);
  await placeLabels(plotly, place);
  drawn.add(place);
}

/** On a narrow screen put a row's name above its marks: as tick labels, names would leave no room for those of Z. */
function putNamesAbove(layout, names) {
  const { rows } = layout.meta;
  const place = { xref: "paper", x: 0, xanchor: "left", yshift: 17, showarrow: false, font: layout.yaxis.tickfont };
  layout.annotations = names.map((name, y) => ({ ...place, text: name.replaceAll("%", "&#37;"), y })); // "%{x}" in a name is text
  Object.assign(layout.yaxis, { showticklabels: false, range: [rows - 0.4, -0.8] });
  layout.height += 8 * rows;
}

const POSITIONS = {
  "middle right": (x, y, w) => [x + 10, y - 8, w, 16],
  "middle left": (x, y, w) => [x - 10 - w, y - 8, w, 16],
  "top center": (x, y, w) => [x - w / 2, y - 24, w, 16],
  "bottom center": (x, y, w) => [x - w / 2, y + 8, w, 16],
  "top right": (x, y, w) => [x + 7, y - 24, w, 16],
  "top left": (x, y, w) => [x - 7 - w, y - 24, w, 16],
  "bottom right": (x, y, w) => [x + 7, y + 8, w, 16],
  "bottom left": (x, y, w) => [x - 7 - w, y + 8, w, 16],
};
const overlap = ([ax, ay, aw, ah], [bx, by, bw, bh]) => ax < bx + bw && bx < ax + aw && ay < by + bh && by < ay + ah;

/** Distances of a label from its mark in px, and directions in which it may be. */
const DISTANCES = [26, 42, 58, 74, 98, 122];
const AROUND = [[0, -1], [0, 1], [1, -1], [-1, -1], [1, 1], [-1, 1]];

/** The first free place of a label apart from its mark, which a line joins: offset of its center, and its box. */
function findFarPlace([x, y], w, isFree) {
  const places = DISTANCES.flatMap((far) => AROUND.map(([right, down]) => [right * (w / 2 + far / 2), down * far]));
  return places.map(([ax, ay]) => ({ ax, ay, box: [x + ax - w / 2, y + ay - 8, w, 16] })).find(({ box }) => isFree(box));
}

/** The boxes around a line that goes from point to point in steps, first to the side. */
const boxesOfSteps = (points) => points.slice(1).flatMap(([x, y], i) => {
  const [fromX, fromY] = points[i];
  return [
    [Math.min(x, fromX), fromY - 1, Math.abs(x - fromX), 2],
    [x - 1, Math.min(y, fromY), 2, Math.abs(y - fromY)],
  ];
});

const textOf = (label) => new DOMParser().parseFromString(label, "text/html").body.textContent;

/** Put names next to their marks, the first system first; at the end of a line where marks touch; else into a list. */
async function placeLabels(plotly, place) {
  const index = place.data.findIndex((trace) => trace.meta?.labels);
  if (index < 0) return;
  const trace = place.data[index];
  const { xaxis, yaxis, _size: size } = place._fullLayout;
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = `13px ${getComputedStyle(document.body).fontFamily}`;
  const points = trace.x.map((x, i) => [xaxis.d2p(x), yaxis.d2p(trace.y[i])]);
  const rules = (place.layout.shapes ?? []).filter(({ y0, y1 }) => y0 === y1).map(({ y0 }) => [0, yaxis.d2p(y0) - 1, size.w, 2]);
  const steps = place.data.filter(({ line }) => line?.shape === "hv").flatMap((line) => boxesOfSteps(line.x.map((x, i) => [xaxis.d2p(x), yaxis.d2p(line.y[i])])));
  const taken = [...points.map(([x, y]) => [x - 5, y - 5, 10, 10]), ...rules, ...steps];
  const isFree = (box, i) => box[0] >= 0 && box[0] + box[2] <= size.w && box[1] >= -size.t && box[1] + 16 <= size.h && !taken.some((other, j) => j !== i && overlap(box, other));
  const text = [];
  const textposition = [];
  const lines = [];
  const left = [];
  trace.meta.labels.forEach((label, i) => {
    const width = pen.measureText(textOf(label)).width + 4;
    const outward = points[i][0] < size.w / 2 ? ["middle left", "middle right"] : ["middle right", "middle left"];
    const fits = [...outward, ...Object.keys(POSITIONS).slice(2)].find((position) => isFree(POSITIONS[position](...points[i], width), i));
    const far = fits ? null : findFarPlace(points[i], width, (box) => isFree(box, -1));
    text.push(fits ? label : "");
    textposition.push(fits ?? "top center");
    if (fits) taken.push(POSITIONS[fits](...points[i], width));
    else if (far) {
      taken.push(far.box);
      lines.push({ ...LINE, x: xaxis.type === "log" ? Math.log10(trace.x[i]) : trace.x[i], y: trace.y[i], ax: far.ax, ay: far.ay, text: label.replaceAll("%", "&#37;") });
    } else left.push(textOf(label));
  });
  Object.assign(figures[place.id].data[index], { text, textposition });
  const annotations = [...(place.layout.annotations ?? []), ...colored(lines)];
  await plotly.update(place, { text: [text], textposition: [textposition] }, { annotations }, [index]);
  listUnlabeled(place, left);
}

const LINE = { arrowcolor: "var(--muted)", arrowhead: 0, arrowwidth: 1, standoff: 5, borderpad: 0, font: { color: "var(--ink)", size: 13, shadow: "0 0 3px var(--paper), 0 0 3px var(--paper)" } };

/** The names of a chart that have no room in it, below it; many of them are folded. */
const MOST_LISTED = 5;
function listUnlabeled(place, names) {
  place.parentNode.querySelector(`[data-unlabeled="${place.id}"]`)?.remove();
  if (!names.length) return;
  const summary = h("summary", {}, `${names.length} ${names.length === 1 ? "mark has" : "marks have"} no room for a label`);
  place.after(h("details", { className: "more", open: names.length <= MOST_LISTED, "data-unlabeled": place.id }, summary, h("p", { className: "note" }, `${names.join(", ")}.`)));
}

const near = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (isIntersecting) drawOnce(target);
  }
}, { rootMargin: "300px" });
document.querySelectorAll(".chart").forEach((place) => near.observe(place));
document.addEventListener("theme", () => drawn.forEach(draw));

let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth !== width) drawn.forEach(draw);
  width = innerWidth;
});

/** Draw the chart of the clips: of one system, or the mean of those that process the audio. */
async function drawClips(place) {
  const { systems, clips } = await loadClips();
  const [who, what] = [$("clips-wer-system"), $("clips-wer-score")];
  if (who.length === 1) {
    who.append(...systems.map((system, i) => systemOption(i, system)));
    who.onchange = what.onchange = () => drawClips(place);
    $("clips-wer-tools").hidden = false;
  }
  const rows = clips
    .map((clip) => ({ id: clip.id, x: valueOf(clip.wer, who.value, systems), y: valueOf(clip[what.value], who.value, systems) }))
    .filter(({ x, y }) => x !== null && y !== null);
  const { data: [points], layout } = figures[place.id];
  points.x = rows.map(({ x }) => x);
  points.y = rows.map(({ y }) => y);
  points.customdata = rows.map(({ id }) => id);
  points.hovertext = rows.map(({ id, x, y }) => escapeText(`${id}: ${fixed(x)} %, ${fixed(y)} %`));
  layout.yaxis.title.text = what.value === "sim" ? "Similarity, %" : "Accuracy, %";
  await draw(place);
  place.removeAllListeners("plotly_click");
  place.on("plotly_click", ({ points: [point] }) => goToClip(point.customdata));
}

const escapeText = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

/** One system's value, or (-1) the mean over the systems that process the audio. */
function valueOf(values, system, systems) {
  if (!values) return null;
  if (Number(system) >= 0) return values[system] ?? null;
  return mean(values.filter((_, i) => !systems[i].control || systems.every(({ control }) => control)));
}
