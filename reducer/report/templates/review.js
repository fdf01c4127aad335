const CARDS = 10;
const VERDICTS = { unanswerable: "Unanswerable", wrong_key: "Wrong key", answerable: "Answerable" };
const candidates = JSON.parse(await unpack("review"));
const KEPT_REVIEW = `siq-review-${read("key")}`;
const verdicts = new Map(Object.entries(JSON.parse(kept(KEPT_REVIEW) ?? "{}")));
let cardPage = 0;

const nameOf = (row) => JSON.stringify([row.id, row.question_id]);
const judged = (row) => verdicts.get(nameOf(row)) ?? { verdict: null, note: "" };

function judge(row, changes) {
  verdicts.set(nameOf(row), { ...judged(row), ...changes });
  keep(KEPT_REVIEW, JSON.stringify(Object.fromEntries(verdicts)));
  countJudged();
}

function countJudged() {
  const done = candidates.filter((row) => judged(row).verdict !== null).length;
  $("review-count").textContent = `${done} of ${candidates.length} judged`;
}

function showCards() {
  const wanted = { all: () => true, open: (row) => judged(row).verdict === null, done: (row) => judged(row).verdict !== null };
  const listed = candidates.filter(wanted[$("review-show").value]);
  const pages = Math.max(1, Math.ceil(listed.length / pageSize(CARDS)));
  cardPage = Math.min(cardPage, pages - 1);
  const shown = listed.slice(cardPage * pageSize(CARDS), (cardPage + 1) * pageSize(CARDS)).map(card);
  $("review-list").replaceChildren(...(shown.length ? shown : [h("li", { className: "empty" }, "No question here.")]));
  paginate($("review-pages"), cardPage, pages, (page) => {
    cardPage = page;
    showCards();
    land($("review"));
  });
}

/** A question's options; the right one and the votes appear after the verdict. */
function optionsOf(row) {
  const votes = (of) => Object.values(of).reduce((counts, { vote }) => ({ ...counts, [vote]: (counts[vote] ?? 0) + 1 }), {});
  const count = Object.keys(row.systems).length;
  const done = judged(row).verdict !== null;
  const [systems, gold] = [votes(row.systems), votes(row.gold)];
  return [...row.options, "None of the above"].map((option, i) => {
    const letter = "ABCDE"[i];
    if (!done) return h("li", {}, `(${letter}) ${option}`);
    const who = [systems[letter] && `${systems[letter]} of ${count} systems`, gold[letter] && "gold"].filter(Boolean);
    const right = letter === row.answer;
    return h("li", { className: right ? "right" : "" }, `(${letter}) ${option}${right ? " \u2713" : ""}`, h("span", { className: "small" }, who.length ? ` \u00a0${who.join(", ")}` : ""));
  });
}

function card(row) {
  const count = Object.keys(row.systems).length;
  const options = h("ul", { className: "options" }, ...optionsOf(row));
  const choose = (value) => {
    judge(row, { verdict: value });
    options.replaceChildren(...optionsOf(row));
  };
  const choices = Object.entries(VERDICTS).map(([value, text]) => h("label", {},
    h("input", { type: "radio", name: `verdict ${nameOf(row)}`, value, checked: judged(row).verdict === value, onchange: () => choose(value) }), text));
  const asked = h(
    "div",
    {},
    h("div", { className: "head" }, h("a", { href: addressOf(row.id) }, name(row.id)), h("span", {}, row.question_id), h("span", {}, `${row.failed} of ${count} systems fail`)),
    h("h3", {}, row.question),
    options,
    h("details", {}, h("summary", {}, "Listen and read the reference"), player(row.id), h("p", { className: "reference" }, row.text)),
  );
  const verdict = h(
    "div",
    { className: "judge" },
    h("fieldset", {}, h("legend", {}, "Verdict"), ...choices),
    h("label", { className: "field" }, "Note", h("textarea", { rows: 2, value: judged(row).note, oninput: (event) => judge(row, { note: event.target.value }) })),
  );
  return h("li", { className: "card" }, asked, verdict);
}

/** The rows as `siq study unanswerable find` writes them, with what was entered here. */
function exportReview() {
  const lines = candidates.map((row) => `${JSON.stringify({ ...row, ...judged(row) })}\n`);
  save("review.jsonl", "application/jsonl", ...lines);
}

if (candidates.length) {
  $("review-tools").hidden = false;
  $("review-show").onchange = () => { cardPage = 0; showCards(); };
  $("review-export").onclick = exportReview;
  countJudged();
  showCards();
  onPaper.lists.push(showCards);
}
