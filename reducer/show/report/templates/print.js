/** On paper the page is light, as wide as the sheet, and whole: every chart, question and clip. */
function setPaper(on) {
  document.documentElement.classList.toggle("printing", on);
  drawn.forEach(draw);
  showClips();
  if (candidates.length) showCards();
}

addEventListener("beforeprint", () => setPaper(true));
addEventListener("afterprint", () => setPaper(false));

/** Once the reader has the first screen: what printing needs. A page is printed without waiting for anything. */
const whenIdle = window.requestIdleCallback ?? ((work) => setTimeout(work, 200));
whenIdle(async () => {
  for (const place of document.querySelectorAll(".chart")) await drawOnce(place);
  await startClips();
});
