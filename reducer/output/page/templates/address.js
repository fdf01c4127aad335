/** Addresses: a section and what is shown in it, such as `#clip/ID`, `#system/NAME` or `#clips?q=word&sort=wer`. */
const decoded = (text) => { try { return decodeURIComponent(text); } catch { return text; } };

function readAddress() {
  const [path, query = ""] = location.hash.slice(1).split(/\?(.*)/s);
  const [section, ...rest] = path.split("/");
  return { section, parts: rest.map(decoded), query: new URLSearchParams(query) };
}

/** The address of a view; values that are empty, as at first, are left out. */
function addressWith(section, values) {
  const query = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== "" && value !== null).map(([key, value]) => [key, String(value)]));
  return query.size ? `#${section}?${query}` : `#${section}`;
}

/** Put a view into the address, so that it can be shared and Back returns to the one before; `replace` adds no step. */
function writeAddress(address, { replace = false } = {}) {
  if (address === location.hash) return;
  history[replace ? "replaceState" : "pushState"](null, "", address);
}

/** Section of an address -> what shows it. Other addresses name a section of the page. */
const routes = Object.create(null);

/** Keep what an address names at the top of the window while the page still grows, until the reader moves. */
let landing = null;
const settle = () => landing?.scrollIntoView({ block: "start", behavior: "instant" });

function land(node) {
  landing = node;
  settle();
}

function followAddress() {
  const { section, parts, query } = readAddress();
  if (routes[section]) routes[section](parts, query);
  else if ($(section)) land($(section));
}

for (const type of ["wheel", "touchmove", "pointerdown", "keydown"]) {
  addEventListener(type, () => { landing = null; }, { capture: true, passive: true });
}
new ResizeObserver(settle).observe(document.querySelector("main"));
document.addEventListener("click", (event) => {
  if (event.target.closest('a[href^="#"]')?.hash === location.hash) followAddress();
});
