/** The ranking: the transcripts of one clip at a time, ordered by pointer, buttons or keys; kept until they are saved. */
const PERSON = "siq-person";
const EDGE = 70;
const clips = JSON.parse(await unpack("ranking"));
const keyOf = (clip) => `siq-rank-${clip.key}`;
const letterOf = (clip, id) => {
  const at = clip.cards.findIndex((card) => card.id === id);
  return at < 26 ? String.fromCharCode(65 + at) : String(at + 1);
};
/** Of a clip: its cards from the best on, those that are equal to the one above, and whether the order is confirmed. */
const orders = new Map(clips.map((clip) => [clip, { cards: clip.cards.map(({ id }) => id), equal: [], confirmed: false, ...JSON.parse(kept(keyOf(clip)) ?? "{}") }]));
const firstOpen = (from = 0) => {
  const places = clips.map((_, i) => (from + i) % clips.length);
  return places.find((i) => !orders.get(clips[i]).confirmed) ?? from % clips.length;
};
let place = firstOpen();

/** The ranks of cards from the best on; equal ones share the best rank of their group. */
function ranksOf({ cards, equal }) {
  const ranks = [];
  cards.forEach((id, i) => ranks.push(i && equal.includes(id) ? ranks[i - 1] : i + 1));
  return ranks;
}

function change(clip, changes) {
  Object.assign(orders.get(clip), changes);
  keep(keyOf(clip), JSON.stringify(orders.get(clip)));
  countRanked();
}

/** Move a card; the one below it stays where it is, and a card that comes between equal ones is equal to them. */
function move(clip, id, to) {
  const { cards, equal } = orders.get(clip);
  const below = cards[cards.indexOf(id) + 1];
  const ties = new Set(equal);
  if (!ties.has(id)) ties.delete(below);
  ties.delete(id);
  const moved = cards.filter((other) => other !== id);
  if (ties.has(moved[to])) ties.add(id);
  moved.splice(to, 0, id);
  change(clip, { cards: moved, equal: [...ties] });
}

function tie(clip, id) {
  const { cards, equal } = orders.get(clip);
  if (cards[0] === id) return;
  change(clip, { equal: equal.includes(id) ? equal.filter((other) => other !== id) : [...equal, id] });
}

function countRanked() {
  const done = clips.filter((clip) => orders.get(clip).confirmed).length;
  $("rank-count").textContent = `${done} of ${clips.length} ranked${done === clips.length ? ": save the file" : ""}`;
}

/** Show the places on the cards that are there, which keep the focus. */
function showPlaces(clip, list) {
  const order = orders.get(clip);
  const ranks = ranksOf(order);
  const cards = new Map([...list.children].map((card) => [card.dataset.card, card]));
  order.cards.forEach((id, i) => {
    const card = cards.get(id);
    const isEqual = i > 0 && order.equal.includes(id);
    card.classList.toggle("equal", isEqual);
    card.querySelector(".place").textContent = ranks[i];
    card.querySelector(".grip").setAttribute("aria-label", `Transcript ${letterOf(clip, id)}, place ${ranks[i]} of ${ranks.length}`);
    card.querySelector("input").checked = isEqual;
    card.querySelector("input").disabled = i === 0;
    card.querySelector(".up").disabled = i === 0;
    card.querySelector(".down").disabled = i === ranks.length - 1;
  });
}

/** Put the cards of the list into their order; a card that moves keeps the focus, since the others move around it. */
function arrange(clip, list, id, to) {
  const card = [...list.children].find((each) => each.dataset.card === id);
  const last = orders.get(clip).cards.length - 1;
  const end = Math.min(Math.max(to, 0), last);
  for (let at = [...list.children].indexOf(card); at > end; at--) card.after(card.previousElementSibling);
  for (let at = [...list.children].indexOf(card); at < end; at++) card.before(card.nextElementSibling);
  move(clip, id, end);
  showPlaces(clip, list);
  say(clip, id);
}

function say(clip, id) {
  const order = orders.get(clip);
  const at = order.cards.indexOf(id);
  const equal = at && order.equal.includes(id) ? `, equal to ${letterOf(clip, order.cards[at - 1])}` : "";
  $("rank-said").textContent = `Transcript ${letterOf(clip, id)}: place ${ranksOf(order)[at]} of ${order.cards.length}${equal}`;
}

/** Drag a card by its letter until the pointer is released; the list scrolls at the edges of the window. */
function drag(clip, list, card, event) {
  if (event.button) return;
  const id = card.dataset.card;
  card.classList.add("dragged");
  const follow = ({ clientY: y }) => {
    const middle = (other) => { const { top, height } = other.getBoundingClientRect(); return top + height / 2; };
    const cards = [...list.children];
    const at = cards.indexOf(card);
    let to = at;
    while (to > 0 && y < middle(cards[to - 1])) to--;
    while (to < cards.length - 1 && y > middle(cards[to + 1])) to++;
    if (to !== at) arrange(clip, list, id, to);
    if (y < EDGE) scrollBy(0, -EDGE / 4);
    if (y > innerHeight - EDGE) scrollBy(0, EDGE / 4);
  };
  const end = () => {
    card.classList.remove("dragged");
    removeEventListener("pointermove", follow);
    removeEventListener("pointerup", end);
    removeEventListener("pointercancel", end);
  };
  addEventListener("pointermove", follow);
  addEventListener("pointerup", end);
  addEventListener("pointercancel", end);
}

function press(clip, list, id, event) {
  const at = orders.get(clip).cards.indexOf(id);
  const places = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: clip.cards.length - 1 };
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "=") {
    tie(clip, id);
    showPlaces(clip, list);
    say(clip, id);
  } else if (event.key in places) arrange(clip, list, id, places[event.key]);
  else return;
  event.preventDefault();
}

function cardOf(clip, list, { id, text }) {
  const letter = letterOf(clip, id);
  const step = (by) => (event) => {
    arrange(clip, list, id, orders.get(clip).cards.indexOf(id) + by);
    if (event.currentTarget.disabled) card.querySelector(".grip").focus({ preventScroll: true });
  };
  const button = (className, sign, label, onclick) => h("button", { type: "button", className: `quiet ${className}`, textContent: sign, "aria-label": label, onclick });
  const equal = () => { tie(clip, id); showPlaces(clip, list); say(clip, id); };
  const card = h("li", { className: "ranked", "data-card": id },
    h("span", { className: "place", "aria-hidden": "true" }),
    h("button", { type: "button", className: "grip", textContent: letter, title: "Drag, or press an arrow key", onkeydown: (event) => press(clip, list, id, event), onpointerdown: (event) => drag(clip, list, card, event) }),
    h("p", { className: text ? "words" : "words faint", dir: "auto", textContent: text || "(empty)" }),
    h("div", { className: "moves" },
      button("up", "\u2191", `Move ${letter} up`, step(-1)),
      button("down", "\u2193", `Move ${letter} down`, step(1)),
      h("label", { className: "check" }, h("input", { type: "checkbox", onchange: equal, "aria-label": `${letter} is equal to the one above` }), "= above")));
  return card;
}

function go(to) {
  place = (to + clips.length) % clips.length;
  showClip();
}

function confirm(clip) {
  change(clip, { confirmed: true });
  go(firstOpen(place + 1));
  $("rank-clip").querySelector(".head").scrollIntoView({ block: "nearest" });
}

function showClip() {
  const clip = clips[place];
  const byId = new Map(clip.cards.map((card) => [card.id, card]));
  const list = h("ol", { className: "ranking", "aria-label": "Transcripts, the best first" });
  list.append(...orders.get(clip).cards.map((id) => cardOf(clip, list, byId.get(id))));
  const { confirmed } = orders.get(clip);
  $("rank-clip").replaceChildren(h("div", { className: "rank-clip" },
    h("div", { className: "head" }, h("span", {}, `${place + 1} of ${clips.length}`), name(clip.id), h("span", {}, confirmed ? "ranked" : "not ranked yet")),
    player(clip.id),
    h("h3", {}, "Reference"), h("p", { className: "words reference", dir: "auto", textContent: clip.reference }),
    h("h3", {}, "Transcripts, the best first"), list,
    h("p", { className: "pages" }, h("button", { type: "button", className: "next", onclick: () => confirm(clip) }, confirmed ? "Next clip" : "Confirm this order"))));
  showPlaces(clip, list);
  paginate($("rank-pages"), place, clips.length, go);
  countRanked();
}

/** Save a line per clip: the rank of each card, null for a clip that was not confirmed. */
function saveRanks() {
  const person = $("rank-person").value.trim();
  if (!person) return $("rank-person").focus();
  const lines = clips.map((clip) => {
    const order = orders.get(clip);
    const ranks = ranksOf(order);
    return { id: clip.id, ranks: Object.fromEntries(order.cards.map((id, i) => [id, order.confirmed ? ranks[i] : null])), person };
  });
  const file = person.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "") || "person";
  save(`ranks-${file}.jsonl`, "application/jsonl", ...lines.map((line) => `${JSON.stringify(line)}\n`));
}

$("rank-tools").hidden = false;
$("rank-person").value = kept(PERSON) ?? "";
$("rank-person").oninput = ({ target: { value } }) => keep(PERSON, value);
$("rank-save").onclick = saveRanks;
showClip();
