const MOST_DIFFERENT = 6;
const MINUS = "\u2212";
const loadComparisons = once(async () => JSON.parse(await unpack("compare")));
const compareAddress = (a, b) => `#compare/${encodeURIComponent(a)}/${encodeURIComponent(b)}`;
const withSign = (value) => (value === null ? NONE : `${Number(value.toFixed(2)) < 0 ? MINUS : "+"}${Math.abs(value).toFixed(2)}`);

/** The two menus, filled once; at first the two best systems that are not controls. */
const startCompare = once(async () => {
  const { systems } = await loadClips();
  const menus = [$("compare-a"), $("compare-b")];
  const first = systems.map((_, i) => i).sort((i, j) => Boolean(systems[i].control) - Boolean(systems[j].control));
  menus.forEach((menu, side) => {
    menu.append(...systems.map((system, i) => systemOption(i, system)));
    menu.value = first[side];
    menu.onchange = () => comparePair(...menus.map(({ value }) => Number(value)), { write: true });
  });
  $("compare-swap").onclick = () => comparePair(...menus.map(({ value }) => Number(value)).reverse(), { write: true });
  addDownloads($("compare-table").closest(".scroll"), [
    saveButton("CSV", "Save the table of differences as CSV", () => save("compare.csv", "text/csv", csv(tableRows($("compare-table"))))),
  ]);
  $("compare-tools").hidden = $("compare-result").hidden = false;
  await comparePair(...first.slice(0, 2));
});

async function comparePair(a, b, { write = false } = {}) {
  const [{ systems, clips }, data] = [await loadClips(), await loadComparisons()];
  for (const [side, i] of [["a", a], ["b", b]]) Object.assign($(`compare-${side}`), { value: i, title: systems[i].name });
  $("compare-missing").hidden = true;
  const parts = partsOf(a, b, clips, data.levels);
  const driving = parts.filter((part) => Math.abs(part.total) > 1e-6).slice(0, MOST_DIFFERENT);
  const texts = await Promise.all(driving.map(({ clip }) => textsOf(clip)));
  if ($("compare-a").value !== String(a) || $("compare-b").value !== String(b)) return; // another pair was chosen
  const pair = data.pairs[`${a} ${b}`];
  const rows = pair?.rows ?? data.scores[a].map(([score, unit, value], i) => withoutInterval(score, unit, value, data.scores[b][i][2]));
  $("compare-table").tBodies[0].replaceChildren(...rows.map(differenceRow));
  $("compare-verdict").textContent = verdictOf(a, b, pair, systems);
  const siq = rows.find(([, unit]) => unit === "")?.[4];
  const total = siq ?? parts.reduce((sum, part) => sum + part.total, 0); // the clips' scores are rounded
  $("compare-unit").textContent = `Each clip's part in the difference of ${withSign(total)} ${data.unit}; above 0 A is better.`;
  const none = h("li", { className: "empty" }, "The two systems have the same scores on every clip.");
  $("compare-clips").replaceChildren(...(driving.length ? driving.map((part, i) => clipCompared(part, texts[i], [a, b], systems, i === 0)) : [none]));
  if (write) writeAddress(compareAddress(systems[a].name, systems[b].name));
}

const withoutInterval = (score, unit, a, b) => [score, unit, a, b, a === null || b === null ? null : a - b, null, null, null, NONE];

function differenceRow([score, unit, a, b, difference, low, high, p, better]) {
  const number = (text) => h("td", { className: "number" }, text);
  const interval = low === null ? NONE : `${withSign(low)} to ${withSign(high)}`;
  return h("tr", { className: unit === "" ? "total" : "" },
    h("th", { scope: "row" }, unit ? `${score}, ${unit}` : score),
    ...[a, b].map((value) => number(value === null ? NONE : fixed(value, 2).replace("-", MINUS))),
    number(withSign(difference)), number(interval), number(p === null ? NONE : p.toFixed(4)), h("td", {}, better));
}

function verdictOf(a, b, pair, systems) {
  if (a === b) return "A and B are the same system: choose two.";
  if (pair) return [`${pair.verdict[0].toUpperCase()}${pair.verdict.slice(1)}`, pair.caution].filter(Boolean).join(". ").concat(".");
  const names = [a, b].map((i) => `'${systems[i].name}'`).join(" ");
  return `The intervals of this pair are not on the page, so it says nothing about chance: siq compare ${names} RUNS computes them.`;
}

/** Each clip's part in the difference, the largest first. */
function partsOf(a, b, clips, levels) {
  return clips
    .map((clip) => {
      const of = Object.entries(levels)
        .filter(([column, { parts }]) => clip[column] && Object.hasOwn(parts, clip.id))
        .map(([column, { title, parts }]) => ({ title, part: parts[clip.id] * (clip[column][a] - clip[column][b]) }));
      return { clip, of, total: of.reduce((sum, { part }) => sum + part, 0) };
    })
    .sort((one, other) => Math.abs(other.total) - Math.abs(one.total));
}

/** One clip: its part in the difference, and on opening it the reference, both transcripts, and differing answers. */
function clipCompared({ clip, of, total }, texts, sides, systems, open) {
  const facts = of.map(({ title, part }) => h("span", {}, `${title} ${withSign(part)}`));
  const transcripts = sides.filter((i) => texts.by[i] !== null).map((i) => transcriptOf(clip, texts, i, systems[i]));
  const differ = texts.questions.filter(({ votes }) => votes[sides[0]][0] !== votes[sides[1]][0]);
  return h("li", { className: "compared" }, h(
    "details",
    { open },
    h("summary", {}, name(clip.id), h("b", {}, withSign(total)), ...facts),
    h("p", { className: "reference" }, h("span", { className: "small" }, "Reference: "), texts.text || NONE),
    h("div", { className: "pair" }, ...transcripts),
    ...differ.map((asked) => h("p", { className: "small" }, `${asked.text} Right: (${asked.answer}). A votes (${asked.votes[sides[0]][0]}), B votes (${asked.votes[sides[1]][0]}).`)),
    h("p", { className: "small" }, h("a", { href: addressOf(clip.id) }, "All about this clip")),
  ));
}

routes.compare = async (parts) => {
  land($("compare"));
  await startCompare();
  if (!parts.length) return;
  const { systems } = await loadClips();
  const pair = parts.slice(0, 2).map((part) => systems.findIndex((system) => system.name === part));
  if (pair.length === 2 && !pair.includes(-1)) {
    await comparePair(...pair);
  } else {
    $("compare-missing").textContent = `No two systems of this report are called ${parts.join(" and ")}.`;
    $("compare-missing").hidden = false;
  }
  settle();
};

if ($("compare")) {
  onPaper.work.push(startCompare);
  new IntersectionObserver((entries, observer) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    observer.disconnect();
    startCompare();
  }, { rootMargin: "600px" }).observe($("compare"));
}
