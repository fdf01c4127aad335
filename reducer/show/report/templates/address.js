/** Keeps what an address names at the top of the window while the page still grows, until the reader moves. */
let landing = null;
const settle = () => landing?.scrollIntoView({ block: "start", behavior: "instant" });

function land(node) {
  landing = node;
  settle();
}

/** The section that the address names; addresses of clips are read by `openAddressed`. */
function landOnSection() {
  const section = $(location.hash.slice(1));
  if (section) land(section);
}

for (const type of ["wheel", "touchmove", "pointerdown", "keydown"]) {
  addEventListener(type, () => { landing = null; }, { capture: true, passive: true });
}
new ResizeObserver(settle).observe(document.querySelector("main"));
document.addEventListener("click", (event) => {
  if (event.target.closest('a[href^="#"]')?.hash === location.hash) landOnSection();
});
addEventListener("hashchange", landOnSection);
landOnSection();
