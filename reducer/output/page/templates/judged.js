/** The filter of a judged category's items by the marks of their answers. */
for (const tools of document.querySelectorAll(".tools[data-marks]")) {
  const rows = [...$(tools.dataset.marks).tBodies[0].rows];
  const [choice, count] = [tools.querySelector("select"), tools.querySelector(".count")];
  choice.onchange = () => {
    for (const row of rows) {
      row.hidden = choice.value !== "" && !row.querySelector(`[data-mark="${choice.value}"]`);
    }
    count.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} items`;
  };
  choice.onchange();
  tools.hidden = false;
}
