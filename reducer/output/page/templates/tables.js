/** Sorting by a column's button; `sort(column, direction)`, "ascending" or "descending", puts the rows in order. */
function makeSortable(table, sort) {
  const heads = [...table.tHead.rows[0].cells];
  const mark = (column, direction) => {
    heads.forEach((head) => head.hasAttribute("aria-sort") && head.setAttribute("aria-sort", "none"));
    heads[column].setAttribute("aria-sort", direction);
  };
  const by = (column, direction) => {
    mark(column, direction);
    sort(column, direction);
  };
  heads.forEach((head, column) => {
    const button = head.querySelector("button");
    if (!button) return;
    button.onclick = () => {
      const now = head.getAttribute("aria-sort");
      const opposite = now === "ascending" ? "descending" : "ascending";
      by(column, now === "none" ? head.dataset.first : opposite);
    };
  });
  return { heads, mark };
}

/** Sort the rows of each body of a table: those of controls stay apart. */
function sortRows(table, column, direction) {
  const key = (row) => {
    const text = valueIn(row.cells[column]);
    return text === "" || Number.isNaN(Number(text)) ? text : Number(text);
  };
  for (const body of table.tBodies) body.append(...[...body.rows].sort((a, b) => order(key(a), key(b), direction === "ascending" ? 1 : -1)));
}

for (const table of document.querySelectorAll("table.sortable:not(#clip-table)")) {
  const tools = document.querySelector(`[data-for="${table.id}"]`);
  if (tools) makeTools(table, tools);
  else makeSortable(table, (column, direction) => sortRows(table, column, direction));
}

/** Whether the cell of a field lets a row stay: it has the words, a day from that on, a number in (low, high], or the text. */
function keepsRow(field, row) {
  if (field.value === "") return true;
  if (field.type === "search") return row.textContent.toLowerCase().includes(field.value.trim().toLowerCase());
  const cell = row.querySelector(`td.${field.dataset.filter}`);
  if (field.type === "date") return cell.textContent.trim() >= field.value;
  const [low, high] = field.selectedOptions[0].dataset.range?.split(" ").map(Number) ?? [];
  return low === undefined ? cell.textContent.trim() === field.value : cell.dataset.sort !== "" && cell.dataset.sort > low && cell.dataset.sort <= high;
}

/** A leaderboard's search, filters and order, which its address holds: `#leaderboard?q=word&type=Cascade&sort=Remember`. */
function makeTools(table, tools) {
  const section = table.closest("section").id;
  const rows = [...table.tBodies].flatMap((body) => [...body.rows]);
  const fields = [...tools.querySelectorAll("[data-filter]")];
  const sortBy = tools.querySelector("[data-sort-by]");
  const nothing = h("p", { className: "empty", hidden: true }, "No system matches. Clear the search or choose other filters.");
  table.after(nothing);
  const filter = () => {
    for (const row of rows) row.hidden = !fields.every((field) => keepsRow(field, row));
    const shown = rows.filter((row) => !row.hidden).length;
    nothing.hidden = shown > 0;
    tools.querySelector(".count").textContent = `${shown} of ${rows.length} systems`;
  };
  const sorted = { column: 0, direction: "ascending" };
  const sort = (column, direction) => {
    Object.assign(sorted, { column, direction });
    sortBy.value = column;
    sortRows(table, column, direction);
  };
  const share = ({ replace = false } = {}) => {
    const order = sorted.direction === heads[sorted.column].dataset.first ? "" : sorted.direction;
    const sortedBy = titles[sorted.column] === titles[0] ? "" : titles[sorted.column];
    const values = Object.fromEntries(fields.map((field) => [field.dataset.filter, field.value.trim()]));
    writeAddress(addressWith(section, { ...values, sort: sortedBy, order }), { replace });
  };
  const { heads, mark } = makeSortable(table, (column, direction) => { sort(column, direction); share(); });
  const titles = heads.map((head) => head.querySelector("span").textContent);
  sortBy.append(...titles.map((title, column) => h("option", { value: column, textContent: title })));
  sortBy.onchange = () => { mark(sortBy.value, heads[sortBy.value].dataset.first); sort(Number(sortBy.value), heads[sortBy.value].dataset.first); share(); };
  for (const field of fields) field.oninput = () => { filter(); share({ replace: field.type === "search" }); };
  routes[section] = (_, query) => {
    for (const field of fields) field.value = query.get(field.dataset.filter) ?? "";
    const column = Math.max(0, titles.indexOf(query.get("sort")));
    const direction = ["ascending", "descending"].includes(query.get("order")) ? query.get("order") : heads[column].dataset.first;
    mark(column, direction);
    sort(column, direction);
    filter();
    land($(section));
  };
  mark(0, "ascending");
  tools.hidden = false;
  filter();
}
