/** One system at a time; on paper, and without scripts, all of them. */
const systemPages = [...document.querySelectorAll("#systems .system")];
const systemAddress = (system) => `#system/${encodeURIComponent(system)}`;

function showSystem(system) {
  const page = systemPages.find((one) => one.dataset.system === system);
  for (const one of systemPages) one.classList.toggle("chosen", one === page);
  $("system-missing").hidden = page !== undefined;
  $("system-missing").textContent = page ? "" : `No system of this report is called ${system}.`;
  if (page) $("system-choice").value = system;
}

routes.system = (parts) => {
  showSystem(parts.join("/"));
  land($("systems"));
};

$("system-choice").append(...systemPages.map(({ dataset: { system, label } }) => systemOption(system, { name: system, label })));
$("system-choice").onchange = () => {
  showSystem($("system-choice").value);
  writeAddress(systemAddress($("system-choice").value));
};
document.documentElement.classList.add("scripted");
$("system-tools").hidden = false;
showSystem(systemPages[0].dataset.system);
