const PER_PAGE = 25;
const COLUMNS = $("clip-table").dataset.columns.split(" ");
const view = { query: "", set: "", system: -1, column: 0, direction: 1, page: 0, open: null };

const clipList = once(async () => {
  const { systems, clips } = await loadClips();
  const rows = clips.map((clip) => ({
    clip,
    id: clip.id,
    seconds: clip.seconds,
    weight: clip.weight,
    text: [clip.id, clip.text, ...clip.transcripts, ...clip.questions.flatMap((asked) => [asked.text, ...asked.options])].join("\n").toLowerCase(),
  }));
  const sets = [...new Set(clips.map((clip) => clip.set))].sort();
  $("clip-set").append(...sets.map((set) => h("option", { value: set, textContent: set })));
  $("clip-set-field").hidden = sets.length < 2;
  $("clip-system").append(...systems.map((system, i) => h("option", { value: i, textContent: system.name })));
  $("clip-search").oninput = () => change({ query: $("clip-search").value.trim().toLowerCase(), page: 0 });
  $("clip-set").onchange = () => change({ set: $("clip-set").value, page: 0 });
  $("clip-system").onchange = () => change({ system: Number($("clip-system").value) });
  const { heads } = makeSortable($("clip-table"), (column, direction) => change({ column, direction, page: 0 }));
  heads[0].setAttribute("aria-sort", "ascending");
  addDownloads($("clip-table").closest(".scroll"), [
    saveButton("CSV", "Save the table of clips as CSV", () =>
      save("clips.csv", "text/csv", csv([headOf($("clip-table")), ...found(systems, rows).map((row) => COLUMNS.map((column) => row[column]))]))),
  ]);
  $("clip-tools").hidden = false;
  return { systems, rows };
});

async function change(changes) {
  Object.assign(view, changes);
  await showClips();
}

function found(systems, rows) {
  for (const row of rows) for (const score of ["wer", "sim", "acc"]) row[score] = valueOf(row.clip[score], view.system, systems);
  const key = COLUMNS[view.column];
  return rows
    .filter((row) => row.text.includes(view.query) && (view.set === "" || row.clip.set === view.set))
    .sort((a, b) => order(a[key], b[key], view.direction));
}

const startClips = once(showClips);

async function showClips() {
  const { systems, rows } = await clipList();
  const listed = found(systems, rows);
  const pages = Math.max(1, Math.ceil(listed.length / pageSize(PER_PAGE)));
  view.page = Math.min(view.page, pages - 1);
  const shown = listed.slice(view.page * pageSize(PER_PAGE), (view.page + 1) * pageSize(PER_PAGE));
  $("clip-count").textContent = `${listed.length} of ${rows.length} clips`;
  const empty = h("tr", {}, h("td", { colSpan: COLUMNS.length }, h("p", { className: "empty" }, "No clip holds these words.")));
  $("clip-table").tBodies[0].replaceChildren(...(shown.length ? shown.flatMap((row) => clipRow(row, systems)) : [empty]));
  paginate($("clip-pages"), view.page, pages, (page) => change({ page }).then(() => land($("clips"))));
}

function clipRow(row, systems) {
  const open = view.open === row.id;
  const toggle = () => change({ open: open ? null : row.id }).then(() => $("clip-table").querySelector(`[data-clip="${CSS.escape(row.id)}"]`).focus());
  const button = h("button", { type: "button", "aria-expanded": open, "data-clip": row.id, onclick: toggle }, name(row.id));
  const cells = COLUMNS.slice(1).map((column) => h("td", { className: "number" }, fixed(row[column], column === "weight" ? 2 : 1)));
  const head = h("tr", { className: open ? "open" : "" }, h("th", { scope: "row" }, button), ...cells);
  return open ? [head, h("tr", {}, h("td", { colSpan: COLUMNS.length }, detail(row.clip, systems)))] : [head];
}

function detail(clip, systems) {
  const wanted = systems.map((_, i) => i).filter((i) => clip.transcripts[i] !== null && (view.system < 0 || view.system === i));
  return h(
    "div",
    { className: "detail" },
    player(clip.id),
    h("h3", {}, "Reference"),
    h("p", { className: "reference" }, clip.text || NONE),
    wanted.length ? h("h3", {}, "What was written, normalized as the word error rate counts it") : null,
    h("ol", { className: "plain" }, ...wanted.map((i) => said(clip, i, systems[i]))),
    h("div", { className: "questions" }, ...clip.questions.map((asked) => answers(asked, systems, wanted))),
  );
}

function said(clip, i, system) {
  const facts = [["WER", clip.wer, 1], ["similarity", clip.sim, 1], ["accuracy", clip.acc, 0]]
    .flatMap(([score, values, digits]) => (values ? [`${score} ${fixed(values[i], digits)} %`] : []));
  if (clip.share[i] !== null && clip.share[i] < 0.995) facts.push(`${fixed(100 * clip.share[i], 0)} % of the audio`);
  if (clip.repetition[i]) facts.push("repeats itself");
  const written = h("details", {}, h("summary", {}, "As written"), h("p", {}, clip.transcripts[i] || NONE));
  return h(
    "li",
    { className: "said" },
    h("header", {}, h("b", {}, name(system.name)), ...facts.map((fact) => h("span", {}, fact))),
    h("p", { className: "words" }, ...marked(clip.words.split(" "), clip.ops[i])),
    written,
  );
}

/** The words of the reference with what was left out and what was put in. */
function marked(words, ops) {
  let at = 0;
  const parts = ops.map((step) => {
    if (typeof step === "string") return h("ins", {}, step);
    const text = words.slice(at, (at += Math.abs(step))).join(" ");
    return step > 0 ? text : h("del", {}, text);
  });
  return parts.flatMap((part) => [part, " "]);
}

function answers(asked, systems, wanted) {
  const letters = [...asked.options, "None of the above"].map((option, i) => ["ABCDE"[i], option]);
  const count = (letter) => wanted.filter((i) => asked.votes[i][0] === letter).length;
  const options = letters.map(([letter, option]) =>
    h("li", { className: letter === asked.answer ? "right" : "" }, `(${letter}) ${option}${letter === asked.answer ? " \u2713" : ""}`, h("span", { className: "small" }, ` \u00a0${count(letter)}`)));
  const rows = wanted.map((i) => {
    const right = asked.votes[i][0] === asked.answer;
    const vote = h("td", { className: right ? "right-answer" : "wrong-answer" }, `${asked.votes[i][0]} ${right ? "\u2713" : "\u2717"}`);
    return h("tr", {}, h("th", { scope: "row", title: systems[i].name }, name(systems[i].label)), vote, h("td", { className: "letters" }, asked.votes[i].slice(1)));
  });
  const head = h("tr", {}, ...["System", "Vote", "Letters"].map((text) => h("th", { scope: "col" }, text)));
  return h(
    "div",
    {},
    h("h3", {}, asked.text),
    h("ul", { className: "options" }, ...options),
    h("details", {}, h("summary", {}, "Answers of each system"), h("table", { className: "answers" }, h("thead", {}, head), h("tbody", {}, ...rows))),
  );
}

/** The clip that the address names; null if it names none. */
function addressedClip() {
  if (!location.hash.startsWith("#clip/")) return null;
  try { return decodeURIComponent(location.hash.slice(6)); } catch { return location.hash.slice(6); }
}

/** `#clip/ID` in the address opens that clip. */
async function openAddressed() {
  const id = addressedClip();
  $("clip-missing").hidden = true;
  if (id === null) return;
  await startClips();
  const { systems, rows } = await clipList();
  $("clip-search").value = $("clip-set").value = "";
  Object.assign(view, { query: "", set: "" });
  const place = found(systems, rows).findIndex((row) => row.id === id);
  if (place < 0) {
    $("clip-missing").textContent = `No clip of this report is called ${id}.`;
    $("clip-missing").hidden = false;
    land($("clips"));
    return;
  }
  await change({ page: Math.floor(place / PER_PAGE), open: id });
  const button = $("clip-table").querySelector(`[data-clip="${CSS.escape(id)}"]`);
  land(button);
  button.focus({ preventScroll: true });
}

function goToClip(id) {
  const address = addressOf(id);
  if (location.hash === address) openAddressed();
  else location.hash = address;
}

addEventListener("hashchange", openAddressed);
document.addEventListener("click", (event) => {
  const link = event.target.closest('a[href^="#clip/"]');
  if (link && link.hash === location.hash) openAddressed();
});
new IntersectionObserver((entries, observer) => {
  if (!entries.some((entry) => entry.isIntersecting)) return;
  observer.disconnect();
  startClips();
}, { rootMargin: "600px" }).observe($("clips"));
openAddressed();
