/** Sorting by a column's button; `sort(column, direction)` puts the rows in order. */
function makeSortable(table, sort) {
  const heads = [...table.tHead.rows[0].cells];
  const by = (column, direction) => {
    heads.forEach((head) => head.hasAttribute("aria-sort") && head.setAttribute("aria-sort", "none"));
    heads[column].setAttribute("aria-sort", direction);
    sort(column, direction === "ascending" ? 1 : -1);
  };
  heads.forEach((head, column) => {
    const button = head.querySelector("button");
    if (!button) return;
    button.onclick = () => {
      const now = head.getAttribute("aria-sort");
      const other = now === "ascending" ? "descending" : "ascending";
      by(column, now === "none" ? head.dataset.first : other);
    };
  });
  return { heads, by };
}

function sortRows(body, column, direction) {
  const key = (row) => {
    const text = row.cells[column].dataset.sort ?? row.cells[column].textContent;
    return text === "" || Number.isNaN(Number(text)) ? text : Number(text);
  };
  body.append(...[...body.rows].sort((a, b) => order(key(a), key(b), direction)));
}

for (const table of document.querySelectorAll("table.sortable")) {
  const { heads, by } = makeSortable(table, (column, direction) => sortRows(table.tBodies[0], column, direction));
  const tools = document.querySelector(`[data-for="${table.id}"]`);
  if (table.id === "standings") heads[0].setAttribute("aria-sort", "ascending");
  if (tools) makeTools(table, tools, heads, by);
}

function makeTools(table, tools, heads, by) {
  const rows = [...table.tBodies[0].rows];
  const [text, kind] = ["text", "kind"].map((name) => tools.querySelector(`[data-filter="${name}"]`));
  const sortBy = tools.querySelector("[data-sort-by]");
  const nothing = h("p", { className: "empty", hidden: true }, "No system matches. Clear the search or choose another type.");
  table.after(nothing);
  const filter = () => {
    const wanted = text.value.trim().toLowerCase();
    for (const row of rows) {
      row.hidden = !row.textContent.toLowerCase().includes(wanted) || (kind.value !== "" && row.dataset.kind !== kind.value);
    }
    const shown = rows.filter((row) => !row.hidden).length;
    nothing.hidden = shown > 0;
    tools.querySelector(".count").textContent = `${shown} of ${rows.length} systems`;
  };
  sortBy.append(...heads.map((head, column) => h("option", { value: column, textContent: head.querySelector("span").textContent })));
  sortBy.onchange = () => by(Number(sortBy.value), heads[sortBy.value].dataset.first);
  text.oninput = kind.onchange = filter;
  tools.hidden = false;
  filter();
}
