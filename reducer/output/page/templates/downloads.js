/** Offer a file for download. */
function save(name, type, ...parts) {
  const link = h("a", { href: URL.createObjectURL(new Blob(parts, { type })), download: name });
  link.click();
  URL.revokeObjectURL(link.href);
}

/** A cell of a CSV file; text that a spreadsheet would compute gets a quote in front. */
function csvCell(value) {
  const text = String(value ?? "");
  const safe = /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

const csv = (rows) => rows.map((row) => `${row.map(csvCell).join(",")}\r\n`).join("");

/** The names of a table's columns, with the units of the numbers that `valueIn` returns. */
const headOf = (table) => [...table.tHead.rows[0].cells].filter((head) => !head.hidden).map((head) => head.dataset.heading ?? head.textContent.trim());

/** The content of a cell: an unrounded number, a whole name, or a text; empty if it is not known. */
function valueIn(cell) {
  if (cell.querySelector(".unknown")) return "";
  const named = cell.querySelector(".to-system, .to-clip");
  return cell.dataset.sort ?? named?.title ?? (cell.querySelector("bdi") ?? cell).textContent.trim().replace(/\s+/g, " ");
}

/** The rows of a table as sorted and filtered now, with unrounded numbers. */
function tableRows(table) {
  const rows = [...table.tBodies].flatMap((body) => [...body.rows]).filter((row) => !row.hidden);
  return [headOf(table), ...rows.map((row) => [...row.cells].filter((cell) => !cell.hidden).map(valueIn))];
}

const saveButton = (text, label, onclick) => h("button", { type: "button", className: "save", textContent: text, "aria-label": label, onclick });

/** Put a button per format below a table or chart. */
function addDownloads(place, buttons) {
  place.after(h("p", { className: "saves" }, h("span", {}, "Save as"), ...buttons));
}

for (const table of document.querySelectorAll("table[data-name]:not(#clip-table)")) {
  const { name } = table.dataset;
  addDownloads(table.closest(".scroll"), [
    saveButton("CSV", `Save the table ${name} as CSV`, () => save(`${name}.csv`, "text/csv", csv(tableRows(table)))),
  ]);
}

for (const place of document.querySelectorAll(".chart")) {
  addDownloads(place, ["png", "svg"].map((format) =>
    saveButton(format.toUpperCase(), `Save the chart ${place.id} as ${format.toUpperCase()}`, async () => {
      await drawOnce(place);
      const plotly = await loadPlotly();
      await plotly.downloadImage(place, { format, filename: place.id, width: place.clientWidth, height: place.clientHeight, scale: 2 });
    })));
}
