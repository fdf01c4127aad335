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
  return { heads, by, mark };
}

function sortRows(body, column, direction) {
  const key = (row) => {
    const text = valueIn(row.cells[column]);
    return text === "" || Number.isNaN(Number(text)) ? text : Number(text);
  };
  body.append(...[...body.rows].sort((a, b) => order(key(a), key(b), direction === "ascending" ? 1 : -1)));
}

for (const table of document.querySelectorAll("table.sortable:not(#clip-table)")) {
  const tools = document.querySelector(`[data-for="${table.id}"]`);
  if (tools) makeTools(table, tools);
  else makeSortable(table, (column, direction) => sortRows(table.tBodies[0], column, direction));
}

/** The leaderboard's search, filter and order, which its address holds: `#leaderboard?q=word&type=Cascade&sort=Remember`. */
function makeTools(table, tools) {
  const rows = [...table.tBodies[0].rows];
  const [text, kind] = ["text", "kind"].map((field) => tools.querySelector(`[data-filter="${field}"]`));
  const sortBy = tools.querySelector("[data-sort-by]");
  const nothing = h("p", { className: "empty", hidden: true }, "No system matches. Clear the search or choose another type.");
  table.after(nothing);
  const filter = () => {
    const words = text.value.trim().toLowerCase();
    for (const row of rows) {
      row.hidden = !row.textContent.toLowerCase().includes(words) || (kind.value !== "" && row.querySelector(".type").textContent.trim() !== kind.value);
    }
    const shown = rows.filter((row) => !row.hidden).length;
    nothing.hidden = shown > 0;
    tools.querySelector(".count").textContent = `${shown} of ${rows.length} systems`;
  };
  const sorted = { column: 0, direction: "ascending" };
  const sort = (column, direction) => {
    Object.assign(sorted, { column, direction });
    sortBy.value = column;
    sortRows(table.tBodies[0], column, direction);
  };
  const share = ({ replace = false } = {}) => {
    const order = sorted.direction === heads[sorted.column].dataset.first ? "" : sorted.direction;
    const sortedBy = sorted.column === 0 ? "" : titles[sorted.column];
    writeAddress(addressWith("leaderboard", { q: text.value.trim(), type: kind.value, sort: sortedBy, order }), { replace });
  };
  const { heads, mark } = makeSortable(table, (column, direction) => { sort(column, direction); share(); });
  const titles = heads.map((head) => head.querySelector("span").textContent);
  sortBy.append(...titles.map((title, column) => h("option", { value: column, textContent: title })));
  sortBy.onchange = () => { mark(sortBy.value, heads[sortBy.value].dataset.first); sort(Number(sortBy.value), heads[sortBy.value].dataset.first); share(); };
  text.oninput = () => { filter(); share({ replace: true }); };
  kind.onchange = () => { filter(); share(); };
  routes.leaderboard = (_, query) => {
    [text.value, kind.value] = [query.get("q") ?? "", query.get("type") ?? ""];
    const column = Math.max(0, titles.indexOf(query.get("sort")));
    const direction = ["ascending", "descending"].includes(query.get("order")) ? query.get("order") : heads[column].dataset.first;
    mark(column, direction);
    sort(column, direction);
    filter();
    land($("leaderboard"));
  };
  mark(0, "ascending");
  tools.hidden = false;
  filter();
}
