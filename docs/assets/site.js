// Make what scrolls a stop of the tab key. Buttons of code blocks and parts of a table of contents are not navigations.
const improve = () => {
  for (const region of document.querySelectorAll(".md-typeset__scrollwrap, .output, .formula"))
    if (region.scrollWidth > region.clientWidth) region.tabIndex = 0;
    else region.removeAttribute("tabindex");
  for (const part of document.querySelectorAll(".md-code__nav, .md-nav--secondary .md-nav")) {
    part.removeAttribute("aria-label");
    part.setAttribute("role", "none");
  }
};
new MutationObserver(improve).observe(document.querySelector(".md-content"), { childList: true, subtree: true });
addEventListener("resize", improve);
improve();

// To the search, a word that begins with a hyphen is one to leave out; readers search for options, such as --limit.
const query = document.querySelector("[data-md-component=search-query]");
const { get, set } = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value");
Object.defineProperty(query, "value", {
  get() { return get.call(this).replace(/(^|\s)-+(?=\w)/g, "$1"); },
  set(text) { set.call(this, text); },
});
