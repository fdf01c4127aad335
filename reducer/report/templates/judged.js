/** The filter of a judged category's items: `data-marks` of a row names why a reader may want to see it. */
for (const tools of document.querySelectorAll(".tools[data-marks]")) {
  const rows = [...$(tools.dataset.marks).tBodies[0].rows];
  const [choice, count] = [tools.querySelector("select"), tools.querySelector(".count")];
  choice.onchange = () => {
    for (const row of rows) {
      row.hidden = choice.value !== "" && !(row.dataset.marks ?? "").split(" ").includes(choice.value);
    }
    count.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} items`;
  };
  choice.onchange();
  tools.hidden = false;
}
