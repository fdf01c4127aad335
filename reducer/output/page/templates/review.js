/** The review: one item at a time, judged by mouse or keyboard. Judgments stay in the browser until they are saved. */
const MOST_BUTTONS = 11;
const PERSON = "siq-person";
const review = JSON.parse(await unpack("review"));
const { items } = review;
const nameOf = (item) => `siq-review-${item.key}`;
const judgments = new Map(items.map((item) => [item, { choice: null, note: item.row.note ?? "", confirmed: false, ...JSON.parse(kept(nameOf(item)) ?? "{}") }]));
const isJudged = (item) => (review.final ? judgments.get(item).confirmed : judgments.get(item).choice !== null);
const firstOpen = (from = 0) => {
  const order = items.map((_, i) => (from + i) % items.length);
  return order.find((i) => !isJudged(items[i])) ?? from % items.length;
};
let place = items.length ? firstOpen() : 0;

function judge(item, changes) {
  Object.assign(judgments.get(item), changes);
  keep(nameOf(item), JSON.stringify(judgments.get(item)));
  countJudged();
}

function countJudged() {
  const done = items.filter(isJudged).length;
  $("review-count").textContent = `${done} of ${items.length} judged${done === items.length ? ": save the file" : ""}`;
}

function turn(to) {
  place = (to + items.length) % items.length;
  showItems();
}

function go(to) {
  turn(to);
  $("review-items").querySelector(".next").focus({ preventScroll: true });
}

/** Choose: this is the judgment unless it is to be confirmed. An item without more to show gives way to the next. */
function decide(item, choice) {
  judge(item, { choice });
  if (review.final) return;
  if (!item.revealed.length) return go(firstOpen(place + 1));
  showItems();
  $("review-items").querySelector("input:checked")?.focus({ preventScroll: true });
}

function confirm(item) {
  if (isJudged(item)) return go(firstOpen(place + 1));
  if (judgments.get(item).choice === null) {
    $("review-count").textContent = "Choose first";
    return;
  }
  judge(item, { confirmed: true });
  go(place);
}

function passage({ heading, text, folded }) {
  const words = h("p", { className: "words", textContent: text });
  return folded ? h("details", {}, h("summary", {}, heading), words) : h("div", {}, h("h4", {}, heading), words);
}

/** The choices as buttons, or a field for a number if there are many. */
function choicesOf(item) {
  const { choice, confirmed } = judgments.get(item);
  if (item.choices.length > MOST_BUTTONS) {
    const [lowest, highest] = [item.choices[0], item.choices.at(-1)].map(({ label }) => label);
    const enter = ({ target: { value } }) => decide(item, item.choices.some(({ label }) => label === value) ? value : null);
    return [h("input", { type: "number", min: lowest, max: highest, step: 1, disabled: confirmed, value: choice ?? "", "aria-label": `From ${lowest} to ${highest}`, oninput: enter })];
  }
  return item.choices.map(({ label, text }) => h("label", {},
    h("input", { type: "radio", name: nameOf(item), value: label, checked: choice === label, disabled: confirmed, onchange: () => decide(item, label) }),
    h("span", {}, h("b", {}, label), ` ${text}`)));
}

function card(item) {
  const judged = isJudged(item);
  const clip = $("clips") ? h("a", { href: addressOf(item.clip) }, name(item.clip)) : null;
  const facts = [`${items.indexOf(item) + 1} of ${items.length}`, ...item.facts].map((fact) => h("span", {}, fact));
  const spoken = item.spoken ? h("div", { className: "spoken" }, h("h4", {}, "The answer as it was spoken"), player(item.spoken, "Spoken answer")) : null;
  const asked = h("div", {}, h("div", { className: "head" }, clip, ...facts), player(item.clip), h("h3", {}, item.title), ...item.passages.map(passage), spoken);
  const entered = ({ target: { value } }) => judge(item, { note: value });
  const judging = h("div", { className: "judge" },
    h("fieldset", {}, h("legend", {}, "Judgment"), ...choicesOf(item)),
    "note" in item.row ? h("label", { className: "field" }, "Note", h("textarea", { rows: 2, value: judgments.get(item).note, oninput: entered })) : null,
    h("p", { className: "pages" }, h("button", { type: "button", className: "next", onclick: () => confirm(item) }, review.final && !judged ? "Confirm" : "Next")),
    judged && item.revealed.length ? h("div", { className: "revealed", role: "status" }, ...item.revealed.map(passage)) : null);
  return h("div", { className: "card" }, asked, judging);
}

function showItems() {
  const size = pageSize(1);
  $("review-items").replaceChildren(...(size > 1 ? items : [items[place]]).map(card));
  paginate($("review-pages"), size > 1 ? 0 : place, size > 1 ? 1 : items.length, turn);
  countJudged();
}

/** Digits choose (0 is 10 on a scale from 1 to 10), Enter goes on, arrows turn pages, P plays the clip, A the answer. */
function press(event) {
  const { target, key } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || target.matches("textarea, audio, #review-person")) return;
  const item = items[place];
  const label = key === "0" && !item.choices.some((choice) => choice.label === "0") ? "10" : key;
  if (key === "Enter" && !target.matches("button, a, summary")) confirm(item);
  else if (target.matches("input[type=number]")) return;
  else if (key === "ArrowLeft" || key === "ArrowRight") go(place + (key === "ArrowLeft" ? -1 : 1));
  else if (/^[pa]$/i.test(key)) {
    const audio = $("review-items").querySelector(key.toLowerCase() === "a" ? ".spoken audio" : "audio");
    if (audio) togglePlay(audio);
  } else if (/^[0-9]$/.test(key)) {
    if (!judgments.get(item).confirmed && item.choices.some((choice) => choice.label === label)) {
      decide(item, label);
      if (review.final) showItems();
    }
  } else return;
  event.preventDefault();
}

/** Save the row of each judged item, with what the choice adds and the name of the person. */
function saveRows() {
  const person = $("review-person").value.trim();
  if (review.person && !person) return $("review-person").focus();
  const rows = items.filter((item) => isJudged(item) || review.complete).map((item) => {
    const { choice, note } = judgments.get(item);
    const chosen = isJudged(item) ? item.choices.find(({ label }) => label === choice) : { fields: {} };
    return chosen.fields && { ...item.row, ...chosen.fields, ...("note" in item.row ? { note } : {}) };
  });
  const named = review.person ? { [review.person]: person } : {};
  save(review.file, "application/jsonl", ...[...rows.filter(Boolean), ...review.always].map((row) => `${JSON.stringify({ ...row, ...named })}\n`));
}

if (items.length) {
  $("review-tools").hidden = false;
  $("review-person").value = kept(PERSON) ?? "";
  $("review-person").oninput = ({ target: { value } }) => keep(PERSON, value);
  $("review-person").closest("label").hidden = !review.person;
  $("review-save").onclick = saveRows;
  ($("review").dataset.alone === undefined ? $("review") : document).addEventListener("keydown", press);
  showItems();
  onPaper.lists.push(showItems);
}
