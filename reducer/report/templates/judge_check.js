const MOST_BUTTONS = 11;
const answers = JSON.parse(await unpack("answers"));
const rubrics = read("rubrics");
const judge = read("judge");
const KEPT_SCORES = `siq-judge-check-${read("key")}`;
const state = { person: "", scores: {}, ...JSON.parse(kept(KEPT_SCORES) ?? "{}") };
const firstOpen = (from = 0) => {
  const order = answers.map((_, i) => (from + i) % answers.length);
  return order.find((i) => !given(answers[i]).confirmed) ?? from % answers.length;
};
let place = firstOpen();

function given(answer) {
  return state.scores[answer.id] ?? { score: null, note: "", confirmed: false };
}

function set(answer, changes) {
  state.scores[answer.id] = { ...given(answer), ...changes };
  keepState();
}

function keepState() {
  keep(KEPT_SCORES, JSON.stringify(state));
  const done = answers.filter((answer) => given(answer).confirmed).length;
  $("scored").textContent = `${done} of ${answers.length} scored${done === answers.length ? ": save the file" : ""}`;
}

function go(to) {
  place = (to + answers.length) % answers.length;
  showAnswer();
  $("confirm").focus({ preventScroll: true });
}

function confirm(answer) {
  if (given(answer).confirmed) return go(firstOpen(place + 1));
  if (given(answer).score === null) {
    $("scored").textContent = "Choose a grade first";
    return;
  }
  set(answer, { confirmed: true });
  go(place);
}

/** The grades as buttons, or a field for a number if the scale is long. */
function grades(answer) {
  const rubric = rubrics[answer.rubric];
  const [lowest, highest] = rubric.scale;
  const { score, confirmed } = given(answer);
  const choose = (value) => set(answer, { score: value });
  if (highest - lowest >= MOST_BUTTONS) {
    return [h("input", { type: "number", id: "grade", min: lowest, max: highest, step: 1, disabled: confirmed, "aria-label": `Grade from ${lowest} to ${highest}`, value: score ?? "",
      oninput: (event) => choose(event.target.value !== "" && event.target.checkValidity() ? Number(event.target.value) : null) })];
  }
  return Array.from({ length: highest - lowest + 1 }, (_, i) => lowest + i).map((grade) => h("label", {},
    h("input", { type: "radio", name: "grade", value: grade, checked: score === grade, disabled: confirmed, onchange: () => choose(grade) }),
    h("span", {}, h("b", {}, String(grade)), rubric.grades[grade] ? ` ${rubric.grades[grade]}` : "")));
}

const part = (title, text) => (text ? [h("dt", {}, title), h("dd", {}, text)] : []);

/** What is hidden until the grade is confirmed. */
function verdict(answer) {
  return h("div", { id: "verdict", className: "note", role: "status" },
    h("p", {}, "The judge: ", h("b", {}, fixed(answer.points, 2)), ", you: ", h("b", {}, String(given(answer).score)), ". System: ", name(answer.system)),
    h("details", {}, h("summary", {}, "What the judge wrote"), ...answer.texts.map((text) => h("pre", {}, text))));
}

function showAnswer() {
  const answer = answers[place];
  const { confirmed, note } = given(answer);
  const asked = h("div", {},
    h("div", { className: "head" }, h("span", {}, `Answer ${place + 1} of ${answers.length}`), h("span", {}, `Rubric ${rubrics[answer.rubric].name}`)),
    player(answer.clip) ?? h("p", { className: "small" }, "The audio is not on the machine that made this page."),
    h("h3", {}, answer.question),
    h("dl", { className: "facts" }, ...part("Reference", answer.reference), ...part("Checklist", answer.checklist), ...part("Answer", answer.answer || "(empty)")));
  const scoring = h("div", { className: "judge" },
    h("fieldset", {}, h("legend", {}, "Grade"), ...grades(answer)),
    h("label", { className: "field" }, "Note", h("textarea", { rows: 2, value: note, oninput: (event) => set(answer, { note: event.target.value }) })),
    h("p", {}, h("button", { type: "button", id: "confirm", className: "primary", textContent: confirmed ? "Next answer" : "Confirm", onclick: () => confirm(answer) })),
    confirmed ? verdict(answer) : null);
  $("answer").replaceChildren(h("div", { className: "card" }, asked, scoring));
  paginate($("answer-pages"), place, answers.length, go);
}

function press(event) {
  const typing = event.target.matches("textarea, input:not([type=radio])");
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("textarea, #person, audio")) return;
  const answer = answers[place];
  if (event.key === "Enter" && !event.target.matches("button, a, summary")) confirm(answer);
  else if (typing) return;
  else if (event.key === "ArrowLeft" || event.key === "ArrowRight") go(place + (event.key === "ArrowLeft" ? -1 : 1));
  else if (event.key.toLowerCase() === "p") {
    const audio = document.querySelector("#answer audio");
    if (audio) audio.paused ? audio.play() : audio.pause();
  } else if (/^[0-9]$/.test(event.key)) {
    const value = event.key === "0" && !$("answer").querySelector("input[value='0']") ? "10" : event.key;
    $("answer").querySelector(`input[type=radio][value='${value}']:enabled`)?.click();
  } else return;
  event.preventDefault();
}

/** A line for each confirmed answer, as `siq judge check --scores` reads it. */
function exportScores() {
  const lines = answers.filter((answer) => given(answer).confirmed).map((answer) => {
    const { score, note } = given(answer);
    const { name: rubric, sha256: rubric_sha256 } = rubrics[answer.rubric];
    return `${JSON.stringify({ id: answer.id, score, note, person: state.person, ...judge, rubric, rubric_sha256 })}\n`;
  });
  save("human_scores.jsonl", "application/jsonl", ...lines);
}

$("scoring-tools").hidden = false;
$("person").value = state.person;
$("person").oninput = (event) => {
  state.person = event.target.value;
  keepState();
};
$("save-scores").onclick = exportScores;
document.addEventListener("keydown", press);
keepState();
showAnswer();
