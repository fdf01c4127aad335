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

/** Play a sound, or stop it; a stop before it begins is no fault. */
const togglePlay = (audio) => (audio.paused ? audio.play().catch(() => {}) : audio.pause());

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

/** Load a part of the data: a file of the folder beside the page, which calls `takePart`. */
const awaited = new Map();
window.takePart = (id, coded) => awaited.get(id)?.(coded);

function loadPart(id) {
  const { parts, digest } = document.documentElement.dataset;
  return new Promise((resolve, reject) => {
    awaited.set(id, resolve);
    const script = h("script", { nonce: digest, src: `${parts}${digest}-${id}.js`, onload: () => script.remove() });
    script.onerror = () => {
      const folder = decodeURIComponent(parts.slice(0, -1));
      $("parts-missing") ?? document.querySelector(".masthead").append(h("p", { id: "parts-missing", className: "warn", role: "alert" },
        `Clips and comparisons are missing: put the folder ${folder}, which was made with this page, beside it, and open the page again.`));
      reject(new Error(`${folder} is not beside the page`));
    };
    document.head.append(script);
  });
}

/** The text that was deflated into an element of the page, or into a part. */
async function unpack(id) {
  const coded = atob($(`data-${id}`)?.textContent ?? await loadPart(id));
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

/** The systems, and the clips with their scores; a clip knows the part that has its texts, and its place there. */
const loadClips = once(async () => {
  const { systems, clips, starts } = JSON.parse(await unpack("clips"));
  starts.slice(0, -1).forEach((start, part) => {
    for (let i = start; i < starts[part + 1]; i++) Object.assign(clips[i], { part, place: i - start });
  });
  return { systems, clips, parts: starts.length - 1 };
});

/** The texts and answers of the clips of a part; the parts that were used last stay in memory. */
const MOST_PARTS = 8;
const recentParts = new Map();
function loadTexts(part) {
  const texts = recentParts.get(part) ?? unpack(`texts-${part}`).then(JSON.parse);
  recentParts.delete(part);
  recentParts.set(part, texts);
  if (recentParts.size > MOST_PARTS) recentParts.delete(recentParts.keys().next().value);
  return texts;
}

const textsOf = async (clip) => (await loadTexts(clip.part))[clip.place];
const loadPlotly = once(async () => {
  document.head.append(h("script", { textContent: await unpack("plotly") }));
  return window.Plotly;
});

const collator = new Intl.Collator(undefined, { numeric: true });

/** Compare two values for sorting; unknown values come last in both directions. */
function order(value, other, direction) {
  const [a, b] = [value, other].map((one) => (one === "" || one === null || one === undefined ? null : one));
  if (a === null || b === null) return (a === null) - (b === null);
  return direction * (typeof a === "string" ? collator.compare(a, b) : a - b);
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

function player(id, label = `Clip ${id}`) {
  const source = Object.hasOwn(sounds, id) ? sounds[id] : "";
  return source ? h("audio", { controls: true, preload: "none", src: source, "aria-label": label }) : null;
}

const sounds = JSON.parse(await unpack("sounds"));
document.querySelectorAll("[data-static]").forEach((note) => note.remove());
