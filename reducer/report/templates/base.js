const $ = (id) => document.getElementById(id);
const NONE = "\u2014";

/** An element; text goes in as text, so nothing a model wrote becomes markup. */
function h(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (key in node) node[key] = value;
    else node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

/** A name that may break after an owner or a stage. */
const name = (text) => h("bdi", {}, ...text.split(/(?<=[/+:])/).flatMap((part) => [part, h("wbr")]));

/** A choice of a system: its short name, and the full one on hover. */
const systemOption = (value, { name, label }) => h("option", { value, textContent: label, title: name });

const addressOf = (id) => `#clip/${encodeURIComponent(id)}`;
const fixed = (value, digits = 1) => (value === null || value === undefined ? NONE : value.toFixed(digits));
/** Rows per page of a list; on paper a list has one page. */
const pageSize = (usual) => (document.documentElement.classList.contains("printing") ? 1e6 : usual);

/** What a printed page needs: lists to show again without pages, and work to do first. */
const onPaper = { lists: [], work: [] };

/** The text that was deflated into an element of the page. */
async function unpack(id) {
  const coded = atob($(`data-${id}`).textContent);
  const bytes = new Uint8Array(coded.length);
  for (let i = 0; i < coded.length; i++) bytes[i] = coded.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).text();
}

/** A function that does its work once, however often it is called. */
const once = (work) => {
  let done;
  return () => (done ??= work());
};

const loadClips = once(async () => JSON.parse(await unpack("clips")));
const loadPlotly = once(async () => {
  document.head.append(h("script", { textContent: await unpack("plotly") }));
  return window.Plotly;
});

/** Compare two values for sorting; unknown values come last in both directions. */
function order(value, other, direction) {
  const [a, b] = [value, other].map((one) => (one === "" || one === null || one === undefined ? null : one));
  if (a === null || b === null) return (a === null) - (b === null);
  return direction * (typeof a === "string" ? a.localeCompare(b, undefined, { numeric: true }) : a - b);
}

const mean = (values) => {
  const known = values.filter((value) => value !== null && value !== undefined);
  return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
};

/** Buttons for the pages of a list; the pressed button keeps the focus, or its neighbor if it is disabled now. */
function paginate(nav, page, pages, go) {
  const step = (text, to) => h("button", { type: "button", textContent: text, disabled: to < 0 || to >= pages, onclick: () => go(to) });
  const pressed = [...nav.children].indexOf(document.activeElement);
  nav.hidden = pages < 2;
  nav.replaceChildren(step("Previous", page - 1), h("span", {}, `${page + 1} of ${pages}`), step("Next", page + 1));
  if (pressed >= 0) [nav.children[pressed], nav.children[2 - pressed]].find((button) => !button.disabled)?.focus({ preventScroll: true });
}

function player(id) {
  const source = Object.hasOwn(sounds, id) ? sounds[id] : "";
  return source ? h("audio", { controls: true, preload: "none", src: source, "aria-label": `Clip ${id}` }) : null;
}

const sounds = JSON.parse(await unpack("sounds"));
document.querySelectorAll("[data-static]").forEach((note) => note.remove());
