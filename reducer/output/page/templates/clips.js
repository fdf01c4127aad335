const PER_PAGE = 25;
const COLUMNS = [...$("clip-table").tHead.rows[0].cells].map((head) => head.dataset.column);
const FIRST_VIEW = { query: "", set: "", system: "", level: "", sort: "id", order: "ascending", page: 0, open: null };
const view = { ...FIRST_VIEW };
/** Level of the address -> column of its scores, and whether a score leaves something to gain. */
const LEVELS = { remember: ["wer", (score) => score > 0], understand: ["sim", (score) => score < 99.995], apply: ["acc", (score) => score < 99.995] };

const clipList = once(async () => {
  const { systems, clips } = await loadClips();
  const rows = clips.map((clip) => ({
    clip,
    id: clip.id,
    seconds: clip.seconds,
    weight: clip.weight,
  }));
  const sets = [...new Set(clips.map((clip) => clip.set))].sort();
  $("clip-set").append(...sets.map((set) => h("option", { value: set, textContent: set })));
  $("clip-set-field").hidden = sets.length < 2;
  $("clip-system").append(...systems.map((system) => systemOption(system.name, system)));
  $("clip-level").append(...Object.keys(LEVELS).filter((level) => COLUMNS.includes(LEVELS[level][0]))
    .map((level) => h("option", { value: level, textContent: level[0].toUpperCase() + level.slice(1) })));
  $("clip-search").oninput = () => choose({ query: $("clip-search").value.trim(), page: 0 }, { replace: true });
  for (const key of ["set", "system", "level"]) $(`clip-${key}`).onchange = () => choose({ [key]: $(`clip-${key}`).value, page: 0 });
  addDownloads($("clip-table").closest(".scroll"), [
    saveButton("CSV", "Save the table of clips as CSV", () =>
      save("clips.csv", "text/csv", csv([headOf($("clip-table")), ...found(systems, rows).map((row) => COLUMNS.map((column) => row[column]))]))),
  ]);
  $("clip-tools").hidden = false;
  return { systems, rows };
});

/** Give each row the text that is searched, part by part. */
const readTexts = once(async () => {
  const [{ parts }, { rows }] = [await loadClips(), await clipList()];
  for (const row of rows) {
    if (row.clip.place === 0) $("clip-count").textContent = `Reading the texts: ${Math.round(100 * row.clip.part / parts)} %`;
    const { text, written, questions } = await textsOf(row.clip);
    row.text = [row.id, text, ...written.map(([words]) => words), ...questions.flatMap((asked) => [asked.text, ...asked.options])].join("\n").toLowerCase();
  }
});

const { mark: markSorted } = makeSortable($("clip-table"), (column, direction) => choose({ sort: COLUMNS[column], order: direction, page: 0 }));

/** Show another view of the clips and put it into the address. */
function choose(changes, { replace = false } = {}) {
  Object.assign(view, changes);
  const { query, open, page, ...rest } = view;
  const shown = Object.entries({ q: query, ...rest, page: page + 1, clip: open }).filter(([key, value]) => !(key === "page" && value === 1) && value !== FIRST_VIEW[key]);
  writeAddress(addressWith("clips", Object.fromEntries(shown)), { replace });
  return showClips();
}

/** `#clips?q=word&set=NAME&system=NAME&level=apply&sort=wer&order=descending&page=2&clip=ID`. */
routes.clips = async (_, query) => {
  const text = (key) => query.get(key) ?? FIRST_VIEW[key];
  const page = Math.max(1, Math.floor(Number(query.get("page"))) || 1) - 1;
  const sort = COLUMNS.includes(query.get("sort")) ? query.get("sort") : FIRST_VIEW.sort;
  const order = query.get("order") === "descending" ? "descending" : "ascending";
  const level = Object.hasOwn(LEVELS, query.get("level")) ? query.get("level") : "";
  Object.assign(view, { query: query.get("q") ?? "", set: text("set"), system: text("system"), level, sort, order, page, open: query.get("clip") });
  $("clip-missing").hidden = true;
  land($("clips"));
  await showClips();
  settle();
};

function found(systems, rows) {
  const system = systems.findIndex((one) => one.name === view.system);
  for (const row of rows) for (const score of ["wer", "sim", "acc"]) row[score] = valueOf(row.clip[score], system, systems);
  const [column, loses] = LEVELS[view.level] ?? ["", () => true];
  const words = view.query.toLowerCase();
  return rows
    .filter((row) => (words === "" || row.text.includes(words)) && (view.set === "" || row.clip.set === view.set) && loses(row[column]))
    .sort((a, b) => order(a[view.sort], b[view.sort], view.order === "ascending" ? 1 : -1));
}

async function showClips() {
  const { systems, rows } = await clipList();
  if (document.activeElement !== $("clip-search")) $("clip-search").value = view.query;
  for (const key of ["set", "system", "level"]) $(`clip-${key}`).value = view[key];
  markSorted(COLUMNS.indexOf(view.sort), view.order);
  if (view.query) await readTexts();
  const open = rows.find((row) => row.id === view.open);
  if (open) open.texts = await textsOf(open.clip);
  const listed = found(systems, rows);
  const pages = Math.max(1, Math.ceil(listed.length / pageSize(PER_PAGE)));
  view.page = Math.min(view.page, pages - 1);
  const shown = listed.slice(view.page * pageSize(PER_PAGE), (view.page + 1) * pageSize(PER_PAGE));
  $("clip-count").textContent = `${listed.length} of ${rows.length} clips`;
  const empty = h("tr", {}, h("td", { colSpan: COLUMNS.length }, h("p", { className: "empty" }, "No clip matches. Clear the search or choose other filters.")));
  $("clip-table").tBodies[0].replaceChildren(...(shown.length ? shown.flatMap((row) => clipRow(row, systems)) : [empty]));
  paginate($("clip-pages"), view.page, pages, (page) => choose({ page }).then(() => land($("clips"))));
}

const startClips = once(showClips);
onPaper.lists.push(showClips);
onPaper.work.push(startClips);

function clipRow(row, systems) {
  const open = view.open === row.id;
  const toggle = () => choose({ open: open ? null : row.id }).then(() => $("clip-table").querySelector(`[data-clip="${CSS.escape(row.id)}"]`).focus());
  const button = h("button", { type: "button", "aria-expanded": open, "data-clip": row.id, onclick: toggle }, name(row.id));
  const cells = COLUMNS.slice(1).map((column) => h("td", { className: "number" }, fixed(row[column], column === "weight" ? 2 : 1)));
  const head = h("tr", { className: open ? "open" : "" }, h("th", { scope: "row" }, button), ...cells);
  return open ? [head, h("tr", {}, h("td", { colSpan: COLUMNS.length }, detail(row.clip, row.texts, systems)))] : [head];
}

function detail(clip, texts, systems) {
  const wanted = systems.map((_, i) => i).filter((i) => texts.by[i] !== null && (view.system === "" || view.system === systems[i].name));
  return h(
    "div",
    { className: "detail" },
    player(clip.id),
    h("h3", {}, "Reference"),
    h("p", { className: "reference" }, texts.text || NONE),
    wanted.length ? h("h3", {}, "What was written, normalized as the word error rate counts it") : null,
    h("ol", { className: "plain" }, ...wanted.map((i) => h("li", {}, transcriptOf(clip, texts, i, systems[i])))),
    h("div", { className: "questions" }, ...texts.questions.map((asked) => answers(asked, systems, wanted))),
  );
}

/** What one system wrote, marked against the reference, with its scores. */
function transcriptOf(clip, texts, i, system) {
  const [text, steps] = texts.written[texts.by[i]];
  const facts = [["WER", clip.wer, 1], ["similarity", clip.sim, 1], ["accuracy", clip.acc, 0]]
    .flatMap(([score, values, digits]) => (values ? [`${score} ${fixed(values[i], digits)} %`] : []));
  if (texts.coverage[i] !== null && texts.coverage[i] < 0.995) facts.push(`audio coverage ${fixed(100 * texts.coverage[i], 0)} %`);
  if (texts.repetition[i]) facts.push("repetition");
  const written = h("details", {}, h("summary", {}, "As written"), h("p", {}, text || NONE));
  return h(
    "div",
    { className: "transcript" },
    h("header", {}, h("a", { href: systemAddress(system.name) }, name(system.name)), ...facts.map((fact) => h("span", {}, fact))),
    h("p", { className: "words" }, ...marked(texts.words.split(" "), steps)),
    written,
  );
}

/** The words of the reference, with missing and inserted words marked. */
function marked(words, ops) {
  let at = 0;
  const parts = ops.map((step) => {
    if (typeof step === "string") return h("ins", {}, step);
    const text = words.slice(at, (at += Math.abs(step))).join(" ");
    return step > 0 ? text : h("del", {}, text);
  });
  return parts.flatMap((part) => [part, " "]);
}

const SIGNS = "not heard: right, but no word of the right option is in the system's own transcript; not offered: an option that the question does not have";

function answers(asked, systems, wanted) {
  const letters = [...asked.options, "None of the above"].map((option, i) => ["ABCDE"[i], option]);
  const count = (letter) => wanted.filter((i) => asked.votes[i][0] === letter).length;
  const options = letters.map(([letter, option]) =>
    h("li", { className: letter === asked.answer ? "right" : "" }, `(${letter}) ${option}${letter === asked.answer ? " \u2713" : ""}`, h("span", { className: "small" }, ` \u00a0${count(letter)}`)));
  const rows = wanted.map((i) => {
    const right = asked.votes[i][0] === asked.answer;
    const vote = h("td", { className: right ? "right-answer" : "wrong-answer" }, `${asked.votes[i][0]} ${right ? "\u2713" : "\u2717"}`);
    const letters = h("td", { className: "letters" }, asked.votes[i].slice(1));
    if (asked.signs?.[i]) letters.append(h("span", { className: "small warn", title: SIGNS }, ` ${asked.signs[i]}`));
    const replies = asked.replies ? h("td", { className: "replies" }, ...asked.replies[i].map(replyText)) : null;
    return h("tr", {}, h("th", { scope: "row", title: systems[i].name }, name(systems[i].label)), vote, letters, ...(replies ? [replies] : []));
  });
  const columns = ["System", "Vote", "Letters", ...(asked.replies ? ["Replies, word for word"] : [])];
  const head = h("tr", {}, ...columns.map((text) => h("th", { scope: "col" }, text)));
  return h(
    "div",
    {},
    h("h3", {}, asked.text),
    h("ul", { className: "options" }, ...options),
    asked.prompt ? h("details", {}, h("summary", {}, "Prompt"), h("p", { className: "prompt" }, asked.prompt)) : null,
    h("details", {}, h("summary", {}, "Answers of each system"), h("table", { className: "answers" }, h("thead", {}, head), h("tbody", {}, ...rows))),
  );
}

/** A reply of a model; of a long one the begin, and all of it on a click. */
const SHORT_REPLY = 120;
function replyText(text) {
  if (text.length <= SHORT_REPLY) return h("p", {}, text || "(empty)");
  return h("details", {}, h("summary", {}, `${text.slice(0, SHORT_REPLY)}\u2026`), h("p", {}, text));
}

/** `#clip/ID` opens that clip among all others. */
routes.clip = async (parts) => {
  const id = parts.join("/");
  $("clip-missing").hidden = true;
  const { systems, rows } = await clipList();
  Object.assign(view, FIRST_VIEW);
  const place = found(systems, rows).findIndex((row) => row.id === id);
  if (place < 0) {
    $("clip-missing").textContent = `No clip of this report is called ${id}.`;
    $("clip-missing").hidden = false;
    land($("clips"));
    await showClips();
    return;
  }
  Object.assign(view, { page: Math.floor(place / PER_PAGE), open: id });
  await showClips();
  const button = $("clip-table").querySelector(`[data-clip="${CSS.escape(id)}"]`);
  land(button);
  button.focus({ preventScroll: true });
};

function goToClip(id) {
  const address = addressOf(id);
  if (location.hash === address) followAddress();
  else location.hash = address;
}

new IntersectionObserver((entries, observer) => {
  if (!entries.some((entry) => entry.isIntersecting)) return;
  observer.disconnect();
  startClips();
}, { rootMargin: "600px" }).observe($("clips"));
