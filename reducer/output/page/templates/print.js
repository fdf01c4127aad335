/** On paper the page is light, as wide as the sheet, and complete: every chart, question, clip, system and table. */
const folded = "#review details, .as-table, .marks, .more";
let opened = [];

function setPaper(on) {
  document.documentElement.classList.toggle("printing", on);
  if (on) opened = [...document.querySelectorAll("details:not([open])")].filter((one) => one.matches(folded));
  for (const show of onPaper.lists) show();
  for (const one of on ? document.querySelectorAll(folded) : opened) one.open = on;
  if (window.Plotly) for (const place of drawn) drawWith(window.Plotly, place);
}

addEventListener("beforeprint", () => setPaper(true));
addEventListener("afterprint", () => setPaper(false));

/** Once the reader has the first screen: what printing needs, the clips first, since drawing takes longest. */
const whenIdle = window.requestIdleCallback ?? ((work) => setTimeout(work, 200));
whenIdle(async () => {
  for (const work of onPaper.work) await work();
  for (const place of document.querySelectorAll(".chart")) await drawOnce(place);
  document.documentElement.dataset.drawn = "";
});
