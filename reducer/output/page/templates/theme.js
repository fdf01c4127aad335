const KEPT_THEME = "siq-theme";
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const keep = (key, value) => { try { localStorage.setItem(key, value); } catch { /* storage is off */ } };
const kept = (key) => { try { return localStorage.getItem(key); } catch { return null; } };

const isDark = () => (document.documentElement.style.colorScheme || (prefersDark.matches ? "dark" : "light")) === "dark";

function showTheme() {
  $("theme").textContent = isDark() ? "Light" : "Dark";
  $("theme").setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colors`);
  document.dispatchEvent(new Event("theme"));
}

if (kept(KEPT_THEME)) document.documentElement.style.colorScheme = kept(KEPT_THEME);
$("theme").hidden = false;
$("theme").onclick = () => {
  const theme = isDark() ? "light" : "dark";
  document.documentElement.style.colorScheme = theme;
  keep(KEPT_THEME, theme);
  showTheme();
};
prefersDark.addEventListener("change", showTheme);
showTheme();
