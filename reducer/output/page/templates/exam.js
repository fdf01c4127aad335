/** The exam: one clip at a time is heard and written down, then its questions are answered. */
const PERSON = "siq-exam-person";
const exam = JSON.parse(await unpack("exam"));
const { clips, letters } = exam;
const nameOf = (clip) => `siq-exam-${exam.key}-${clip.digest}`;
const blank = () => ({ text: "", plays: 0, written: false, letters: {} });
const answers = new Map(clips.map((clip) => [clip, { ...blank(), ...JSON.parse(kept(nameOf(clip)) ?? "{}") }]));
const answered = (clip) => clip.questions.filter(({ digest }) => answers.get(clip).letters[digest]).length;
const isDone = (clip) => answers.get(clip).written && answered(clip) === clip.questions.length;
const firstOpen = () => Math.max(clips.findIndex((clip) => !isDone(clip)), 0);
let place = firstOpen();

/** Keep what is entered; a browser whose storage is full or off says so, since a reload would lose it. */
function change(clip, changes) {
  Object.assign(answers.get(clip), changes);
  const text = JSON.stringify(answers.get(clip));
  keep(nameOf(clip), text);
  showProgress(kept(nameOf(clip)) === text ? "" : "This browser keeps nothing: do not close the page before you save");
}

const plural = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;

function showProgress(remark = "") {
  const written = clips.filter((clip) => answers.get(clip).written).length;
  const asked = clips.reduce((sum, clip) => sum + clip.questions.length, 0);
  const given = clips.reduce((sum, clip) => sum + answered(clip), 0);
  const bar = $("exam-bar");
  [bar.max, bar.value] = [clips.length + asked, written + given];
  bar.textContent = `${written + given} of ${clips.length + asked}`;
  const questions = asked ? `, ${given} of ${plural(asked, "question")} answered` : "";
  const state = `${written} of ${plural(clips.length, "clip")} written down${questions}`;
  const done = written + given === clips.length + asked ? ": save your answers" : "";
  $("exam-count").textContent = [state + done, remark].filter(Boolean).join(". ");
}

/** The player; a play counts when the clip begins, not when it goes on after a pause. */
function playerOf(clip) {
  const note = h("p", { className: "note plays" });
  const show = () => { note.textContent = `Played ${plural(answers.get(clip).plays, "time")}`; };
  const audio = h("audio", { controls: true, preload: "auto", src: sounds[clip.id], "aria-label": `Clip ${clips.indexOf(clip) + 1}` });
  let begun = false;
  audio.onplay = () => {
    if (!begun) change(clip, { plays: answers.get(clip).plays + 1 });
    begun = true;
    show();
  };
  audio.onended = () => { begun = false; };
  audio.onseeked = () => { if (audio.currentTime < 0.1) begun = false; };
  show();
  return h("div", {}, audio, note);
}

/** Finish a transcript; an empty one is asked about once more. */
function finish(clip, button) {
  const { text } = answers.get(clip);
  if (!text.trim() && button.dataset.empty === undefined) {
    button.dataset.empty = "";
    return showProgress("Nothing is written down: press again if you understood nothing");
  }
  change(clip, { written: true });
  if (!clip.questions.length) return go(firstOpen());
  showClip();
  $("exam-clip").querySelector("input")?.focus({ preventScroll: true });
}

function writing(clip) {
  const { text, written } = answers.get(clip);
  const field = h("textarea", { rows: 6, value: text, readOnly: written, spellcheck: false, autocapitalize: "off", autocomplete: "off",
    oninput: ({ target: { value } }) => change(clip, { text: value }) });
  const label = h("label", { className: "field" }, h("span", {}, "What is said, word for word"), field);
  const words = clip.questions.length ? "Finish and show the questions" : "Finish this clip";
  const button = h("button", { type: "button", className: "primary", id: "exam-finish", textContent: words, onclick: () => finish(clip, button) });
  return h("div", {}, label, written ? null : h("p", { className: "finish" }, button));
}

function ask(clip, { digest, text, options }, number) {
  const choose = (letter) => change(clip, { letters: { ...answers.get(clip).letters, [digest]: letter } });
  const choices = options.map((option, i) => h("label", {},
    h("input", { type: "radio", name: digest, value: letters[i], checked: answers.get(clip).letters[digest] === letters[i], onchange: () => choose(letters[i]) }),
    h("span", {}, h("b", {}, letters[i]), ` ${option}`)));
  return h("fieldset", {}, h("legend", {}, `${number}. ${text}`), ...choices);
}

function showClip() {
  const clip = clips[place];
  const questions = answers.get(clip).written ? clip.questions.map((question, i) => ask(clip, question, i + 1)) : [];
  const heading = h("h3", { tabIndex: -1, textContent: `Clip ${place + 1} of ${clips.length}` });
  $("exam-clip").replaceChildren(h("div", { className: "exam" }, heading, playerOf(clip), writing(clip), ...questions));
  paginate($("exam-pages"), place, clips.length, go);
  showProgress();
}

function go(to) {
  place = to;
  showClip();
  if (document.activeElement === document.body) $("exam-clip").querySelector("h3").focus();
}

/** A row for each clip and question, also for those that are left out. */
function listRows(person) {
  return clips.flatMap((clip) => {
    const { text, plays, letters: chosen } = answers.get(clip);
    const questions = clip.questions.map(({ id, digest }) => ({ id: clip.id, question_id: id, digest, person, letter: chosen[digest] ?? "" }));
    return [{ id: clip.id, digest: clip.digest, person, text, plays }, ...questions];
  });
}

function saveAnswers() {
  const person = $("exam-person").value.trim();
  if (!person) {
    showProgress("Enter your name or code first");
    return $("exam-person").focus();
  }
  const open = clips.filter((clip) => !isDone(clip)).length;
  const file = `${person.normalize("NFC").replace(/[^\p{L}\p{M}\p{N}_-]+/gu, "_")}.jsonl`;
  save(file, "application/jsonl", ...listRows(person).map((row) => `${JSON.stringify(row)}\n`));
  showProgress(open ? `Saved as ${file}, but ${plural(open, "clip")} ${open === 1 ? "is" : "are"} not finished` : `Saved as ${file}`);
}

function clear() {
  if (!confirm("Delete all answers on this page, for the next person?")) return;
  for (const clip of clips) change(clip, blank());
  $("exam-person").value = "";
  keep(PERSON, "");
  go(0);
}

$("exam-tools").hidden = $("exam-progress").hidden = false;
$("exam-person").value = kept(PERSON) ?? "";
$("exam-person").oninput = ({ target: { value } }) => keep(PERSON, value);
$("exam-save").onclick = saveAnswers;
$("exam-clear").onclick = clear;
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  const audio = $("exam-clip").querySelector("audio");
  togglePlay(audio);
});
showClip();
