/** Pages of a site that show what is chosen: two systems of a leaderboard, or the items of one of its categories. */
const ITEMS_PER_PAGE = 25;
const DIFFERENT = 5;
const ITEM_COLUMNS = ["item", "low", "mean", "high"];
const loadBoards = once(async () => JSON.parse(await unpack("boards")));

/** The items of a category, and the score of each system on each, as people read them. */
const loadRows = async (category) => (category.rows ??= JSON.parse(await unpack(`rows-${category.number}`)));

/** What was asked at an item, and the responses; null if they are not published. */
async function loadItemTexts({ number, starts }, place) {
  const part = starts.findLastIndex((start) => start <= place);
  return part < starts.length - 1 ? (await loadTexts(`${number}-${part}`))[place - starts[part]] : null;
}

/** The entry that an address names, or the first. */
const chosen = (entries, key, text) => entries.find((entry) => entry[key] === text) ?? entries[0];
const pathOf = (...parts) => parts.map(encodeURIComponent).join("/");

/** Fill a menu with entries and choose one. */
function fillMenu(menu, entries, key, label, value, onchange) {
  menu.replaceChildren(...entries.map((entry) => h("option", { value: entry[key], textContent: entry[label], title: entry[key] })));
  Object.assign(menu, { value, onchange });
  menu.closest(".field").hidden = entries.length < 2;
}

const numberCell = (text, ...below) => h("td", { className: "number", "data-sort": text === NONE ? "" : text.replace("\u2212", "-") }, text, ...below);
const withMinus = (value, digits = 2) => fixed(value, digits).replace("-", "\u2212");
const signed = (value) => (value > 0 ? "+" : "") + withMinus(value);

/** A score over its interval, or a word instead of one. */
function scoreCell(score) {
  if (!Array.isArray(score)) return numberCell(score ?? NONE);
  const [value, low, high] = score;
  return numberCell(withMinus(value), low === null ? null : h("small", {}, `${withMinus(low, 1)} to ${withMinus(high, 1)}`));
}

async function showPair([title, nameA, nameB]) {
  const boards = await loadBoards();
  const board = chosen(boards, "title", title);
  const a = chosen(board.systems, "name", nameA);
  const b = board.systems.find(({ name }) => name === nameB) ?? board.systems.find((one) => one !== a) ?? a;
  const go = (...parts) => { writeAddress(`#compare/${pathOf(...parts)}`); return showPair(parts); };
  fillMenu($("compare-board"), boards, "title", "title", board.title, () => go($("compare-board").value));
  for (const [id, system] of [["compare-a", a], ["compare-b", b]]) {
    fillMenu($(id), board.systems, "name", "label", system.name, () => go(board.title, $("compare-a").value, $("compare-b").value));
  }
  $("compare-swap").onclick = () => go(board.title, b.name, a.name);
  $("compare-tools").hidden = false;
  const [left, right] = [a, b].map((system) => board.systems.indexOf(system));
  const pairs = await Promise.all(board.categories.map(async (category) => pairOf(category, await loadRows(category), left, right)));
  const haveSiq = [a, b].every(({ siq }) => Array.isArray(siq));
  const siq = a.siq || b.siq ? [pairRow("Speech IQ", a.siq, b.siq, haveSiq && { value: a.siq[0] - b.siq[0] })] : [];
  $("compare-table").tBodies[0].replaceChildren(...siq, ...pairs.map(({ category, a, b, difference, counts }) => pairRow(`${category.title}, ${category.unit}`, a, b, difference, counts)));
  $("compare-items").replaceChildren(...pairs.filter(({ items }) => items.length).map((pair) => differentItems(board, pair)));
}

/** Fewest clusters for an interval, and for which all flips of signs are tried; flips that are drawn otherwise. */
const [FEWEST, EXACT, FLIPS] = [5, 12, 4000];

/** The quantile .975 of Student's t, by the expansion 26.7.5 of Abramowitz and Stegun; to .003 from 4 degrees on. */
function quantileOfT(degrees) {
  const z = 1.959964;
  const terms = [
    (z ** 3 + z) / 4,
    (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96,
    (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384,
  ];
  return terms.reduce((sum, term, i) => sum + term / degrees ** (i + 1), z);
}

/** Random numbers from 0 to 1, the same in every browser (mulberry32). */
function seededRandom(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** How often a sum of signed numbers is at least as far from 0 if each sign is a coin's: all signs of few, else drawn ones. */
function shareOfFlips(sums) {
  const random = seededRandom(0);
  const exact = sums.length <= EXACT;
  const tries = exact ? 2 ** sums.length : FLIPS;
  const far = Math.abs(sums.reduce((total, sum) => total + sum, 0)) * (1 - 1e-9);
  let farther = 0;
  for (let flip = 0; flip < tries; flip++) {
    const total = sums.reduce((sum, one, i) => sum + ((exact ? (flip >> i) & 1 : random() < 0.5) ? one : -one), 0);
    if (Math.abs(total) >= far) farther++;
  }
  return exact ? farther / tries : (farther + 1) / (tries + 1);
}

/** The mean of A - B over items, its 95 % interval and its p over clusters of clips; no interval of few clusters. */
function differenceOf(both) {
  const clusters = new Map();
  for (const { a, b, cluster } of both) {
    const one = clusters.get(cluster) ?? { sum: 0, count: 0 };
    clusters.set(cluster, { sum: one.sum + a - b, count: one.count + 1 });
  }
  const parts = [...clusters.values()];
  const value = parts.reduce((total, { sum }) => total + sum, 0) / both.length;
  if (parts.length < FEWEST) return { value };
  const squares = parts.reduce((total, { sum, count }) => total + (sum - value * count) ** 2, 0);
  const half = (quantileOfT(parts.length - 1) * Math.sqrt((squares * parts.length) / (parts.length - 1))) / both.length;
  return { value, low: value - half, high: value + half, p: shareOfFlips(parts.map(({ sum }) => sum)) };
}

/** Two systems in a category: their scores, who is better on how many items, and the items with the largest differences. */
function pairOf(category, { items, values, clusters }, left, right) {
  const both = items.map((item, i) => ({ item, cluster: clusters[i], a: values[left][i], b: values[right][i] })).filter(({ a, b }) => a !== null && b !== null);
  for (const one of both) one.gain = category.lower ? one.b - one.a : one.a - one.b;
  const counts = both.length ? [1, -1, 0].map((side) => both.filter(({ gain }) => Math.sign(gain) === side).length) : undefined;
  const different = both.filter(({ gain }) => gain).sort((one, other) => Math.abs(other.gain) - Math.abs(one.gain));
  const difference = both.length ? differenceOf(both) : null;
  return { category, a: category.scores[left], b: category.scores[right], difference, counts, items: different.slice(0, DIFFERENT) };
}

function pairRow(head, a, b, difference, counts = ["", "", ""]) {
  return h("tr", {}, h("th", { scope: "row" }, head), scoreCell(a), scoreCell(b), differenceCell(difference), ...counts.map((count) => numberCell(String(count))));
}

/** A difference over its interval and p. */
function differenceCell(difference) {
  if (!difference) return numberCell(NONE);
  const { value, low, high, p } = difference;
  if (low === undefined) return numberCell(signed(value));
  const shown = p < 0.001 ? "p < 0.001" : `p = ${fixed(p, 3)}`;
  return numberCell(signed(value), h("small", {}, `${withMinus(low)} to ${withMinus(high)}`), h("small", {}, shown));
}

const itemLink = (board, category, item) => h("a", { href: `clips.html#clips/${pathOf(board.title, category.name)}?item=${encodeURIComponent(item)}` }, name(item));

function differentItems(board, { category, items }) {
  const rows = items.map(({ item, a, b }) => h("tr", {}, h("th", { scope: "row" }, itemLink(board, category, item)), numberCell(withMinus(a)), numberCell(withMinus(b))));
  const head = h("tr", {}, h("th", { scope: "col" }, category.title), ...["A", "B"].map((text) => h("th", { scope: "col", className: "number" }, text)));
  const table = h("table", {}, h("thead", {}, head), h("tbody", {}, ...rows));
  const place = h("div", {}, table);
  addDownloads(table, [saveButton("CSV", `Save the items of ${category.title} as CSV`, () => save(`${category.name}.csv`, "text/csv", csv(tableRows(table))))]);
  return place;
}

/** The rows that the table of items lists, on all of its pages. */
let listedItems = [];
if ($("clips")) {
  addDownloads($("clip-table").closest(".scroll"), [
    saveButton("CSV", "Save the table of items as CSV", () =>
      save("items.csv", "text/csv", csv([headOf($("clip-table")), ...listedItems.map((row) => ITEM_COLUMNS.map((column) => row[column]))]))),
  ]);
}

async function showItems([title, categoryName], query) {
  const boards = await loadBoards();
  const board = chosen(boards, "title", title);
  const category = chosen(board.categories, "name", categoryName);
  const view = {
    q: query.get("q") ?? "",
    sort: ITEM_COLUMNS.includes(query.get("sort")) ? query.get("sort") : "item",
    order: query.get("order") === "descending" ? "descending" : "ascending",
    page: Math.max(1, Math.floor(Number(query.get("page"))) || 1),
    item: query.get("item") ?? "",
  };
  const path = pathOf(board.title, category.name);
  const go = async (changes, options) => {
    writeAddress(addressWith(`clips/${path}`, { ...view, ...changes }), options);
    await showItems(readAddress().parts, readAddress().query);
  };
  const other = (...parts) => { writeAddress(`#clips/${pathOf(...parts)}`); return showItems(parts, new URLSearchParams()); };
  fillMenu($("clip-board"), boards, "title", "title", board.title, () => other($("clip-board").value));
  fillMenu($("clip-category"), board.categories, "name", "title", category.name, () => other(board.title, $("clip-category").value));
  if (document.activeElement !== $("clip-search")) $("clip-search").value = view.q;
  $("clip-search").oninput = () => go({ q: $("clip-search").value.trim(), page: 1 }, { replace: true });
  $("clip-tools").hidden = false;

  const { items, values } = await loadRows(category);
  const listening = values.filter((_, i) => !board.systems[i].control);
  const rows = items.map((item, place) => {
    const known = (listening.length ? listening : values).map((row) => row[place]).filter((value) => value !== null);
    return { item, place, mean: mean(known), low: known.length ? Math.min(...known) : null, high: known.length ? Math.max(...known) : null };
  });
  const listed = rows.filter(({ item }) => item.toLowerCase().includes(view.q.toLowerCase()))
    .sort((one, another) => order(one[view.sort], another[view.sort], view.order === "ascending" ? 1 : -1));
  listedItems = listed;
  const named = listed.findIndex(({ item }) => item === view.item);
  const page = query.has("page") || named < 0 ? view.page - 1 : Math.floor(named / ITEMS_PER_PAGE);
  const texts = named < 0 ? null : await loadItemTexts(category, listed[named].place);
  makeSortable($("clip-table"), (column, order) => go({ sort: ITEM_COLUMNS[column], order, page: 1 })).mark(ITEM_COLUMNS.indexOf(view.sort), view.order);
  $("clip-count").textContent = `${listed.length} of ${rows.length} items, ${category.unit}, ${category.lower ? "lower" : "higher"} is better`;
  const shown = listed.slice(page * pageSize(ITEMS_PER_PAGE), (page + 1) * pageSize(ITEMS_PER_PAGE));
  const toggle = async (item) => {
    await go({ item: item === view.item ? "" : item, page: page + 1 });
    $("clip-table").querySelector(`[data-clip="${CSS.escape(item)}"]`).focus();
  };
  $("clip-table").tBodies[0].replaceChildren(...shown.flatMap((row) => itemRows(row, row.item === view.item, board, values, texts, toggle)));
  paginate($("clip-pages"), page, Math.ceil(listed.length / pageSize(ITEMS_PER_PAGE)), (to) => go({ page: to + 1 }));
}

function itemRows(row, open, board, values, texts, toggle) {
  const button = h("button", { type: "button", "aria-expanded": open, "data-clip": row.item, onclick: () => toggle(row.item) }, name(row.item));
  const head = h("tr", { className: open ? "open" : "" }, h("th", { scope: "row" }, button), ...ITEM_COLUMNS.slice(1).map((column) => numberCell(fixed(row[column], 2))));
  return open ? [head, h("tr", {}, h("td", { colSpan: ITEM_COLUMNS.length }, itemDetail(row.place, board, values, texts)))] : [head];
}

/** Field of a doc -> what it is called. */
const FIELDS = { text: "Reference", question: "Question", options: "Options", answer: "Right answer" };
const fieldText = (value) => (Array.isArray(value) ? value.map((option, i) => `(${"ABCDEFGHIJ"[i]}) ${option}`).join("  ") : String(value));
/** The distinct texts of a response. */
const responseText = (response) => [...new Set([response].flat(Infinity))].join(" | ") || "(empty)";

/** What was asked at an item, and the score and response of each system. */
function itemDetail(place, board, values, texts) {
  const asked = Object.entries(texts?.asked ?? {}).flatMap(([field, value]) => [h("dt", {}, FIELDS[field]), h("dd", {}, fieldText(value))]);
  const lines = board.systems.map((system, i) => h("tr", {},
    h("th", { scope: "row" }, h("a", { href: system.page, title: system.name }, name(system.label))),
    numberCell(fixed(values[i]?.[place], 2)),
    texts ? h("td", { className: "words" }, texts.by[i] === null ? NONE : responseText(texts.given[texts.by[i]])) : null));
  const head = h("tr", {}, ...["System", "Score", ...(texts ? ["Response"] : [])].map((text) => h("th", { scope: "col", className: text === "Score" ? "number" : "" }, text)));
  return h("div", { className: "detail" }, h("dl", { className: "facts" }, ...asked),
    texts ? null : h("p", { className: "note" }, "No system published texts of this item."),
    h("table", {}, h("thead", {}, head), h("tbody", {}, ...lines)));
}

/** Section of this page -> what shows it, also without an address. */
for (const [section, show] of Object.entries({ compare: showPair, clips: showItems })) {
  if (!$(section)) continue;
  routes[section] = show;
  if (readAddress().section !== section) show([], new URLSearchParams());
}
