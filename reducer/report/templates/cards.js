const { choices, cards, always, file, key } = read("cards");
const KEPT_CARDS = `siq-cards-${key}`;
const chosen = new Map(Object.entries(JSON.parse(kept(KEPT_CARDS) ?? "{}")));
let at = Math.max(0, cards.findIndex(({ name }) => !chosen.has(name)));

function choose(choice) {
  chosen.set(cards[at].name, choice.name);
  keep(KEPT_CARDS, JSON.stringify(Object.fromEntries(chosen)));
  go(at + 1);
}

function go(to) {
  at = Math.min(Math.max(to, 0), cards.length - 1);
  show();
}

function part({ heading, text, folded }) {
  const words = h("p", { className: "words", textContent: text || "(empty)" });
  return folded ? h("details", {}, h("summary", {}, heading), words) : h("div", {}, h("h3", {}, heading), words);
}

function show() {
  const card = cards[at];
  $("card").replaceChildren(...card.parts.map(part));
  for (const [i, button] of [...$("choices").querySelectorAll("button")].entries()) {
    button.setAttribute("aria-pressed", String(chosen.get(card.name) === choices[i].name));
  }
  paginate($("steps"), at, cards.length, go);
  $("count").textContent = `${cards.filter(({ name }) => chosen.has(name)).length} of ${cards.length} judged`;
}

/** One line for each judged card whose choice has a row, and for the rows that need no judgment. */
function exportRows() {
  const by = $("by").value.trim();
  if (!by) {
    $("by").focus();
    return;
  }
  const rows = cards.map(({ name, rows }) => rows[chosen.get(name)]).filter(Boolean);
  save(file, "application/jsonl", ...[...rows, ...always].map((row) => `${JSON.stringify({ ...row, by })}\n`));
}

$("choices").append(...choices.map((choice) => h("button", { type: "button", className: "quiet", onclick: () => choose(choice) }, `${choice.key}: ${choice.text}`)));
$("keys").textContent = choices.map((choice) => `${choice.key} ${choice.text}`).join(", ");
$("by").value = kept("siq-cards-by") ?? "";
$("by").oninput = () => keep("siq-cards-by", $("by").value);
$("by").required = true;
$("export").onclick = exportRows;
$("tools").hidden = false;
addEventListener("keydown", (event) => {
  if (event.target === $("by") || event.ctrlKey || event.metaKey || event.altKey) return;
  const choice = choices.find((one) => one.key === event.key);
  if (choice) choose(choice);
  else if (event.key === "ArrowRight") go(at + 1);
  else if (event.key === "ArrowLeft") go(at - 1);
});
show();
