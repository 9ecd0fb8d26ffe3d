/* Times, keys, dialogs, menus and quiet refreshes. What is live is in live.js. */
const $ = (selector, root = document) => root.querySelector(selector);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];

/* --- times: said by the server, kept current here, exact in the viewer's zone on hover --- */
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
const units = [[86400, "d"], [3600, "h"], [60, "min"]];

function span(seconds) {
  if (seconds < 60) return seconds < 1 ? "0 s" : `${Math.floor(seconds)} s`;
  const at = units.findIndex(([size]) => seconds >= size);
  const [size, word] = units[at];
  const rest = units[at + 1] ? Math.floor((seconds % size) / units[at + 1][0]) : 0;
  return `${Math.floor(seconds / size)} ${word}${rest ? ` ${rest} ${units[at + 1][1]}` : ""}`;
}

function say(time) {
  const moment = new Date(time.dateTime);
  const seconds = (Date.now() - moment) / 1000;
  const title = `${exact.format(moment)} (${zone})`;
  if (time.title !== title) time.title = title;
  let text;
  if (time.dataset.time === "clock") text = clock.format(moment);
  else if (time.dataset.time === "exact") text = exact.format(moment);
  else if (time.dataset.time === "age") text = span(Math.max(seconds, 0));
  else text = seconds < -1 ? `in ${span(-seconds)}` : seconds < 1 ? "just now" : `${span(seconds)} ago`;
  if (time.textContent !== text) time.textContent = text;
}
const sayAll = (root = document) => all("time[data-time]", root).forEach(say);

/* --- refreshes keep what the reader opened, and wait while a dialog is open or text is selected --- */
const kept = new Set();
function beforeRefresh(event) {
  const target = event.detail.target;
  const selected = getSelection();
  const reading = !selected.isCollapsed && target.contains(selected.anchorNode);
  if (event.detail.requestConfig?.verb !== "get" && event.detail.requestConfig) return;
  if (document.hidden || $("dialog[open]", target) || reading) event.preventDefault();
}
function beforeSwap(event) {
  if (event.detail.xhr.status === 404 || event.detail.xhr.responseURL.includes("/accounts/login")) location.reload();
  kept.clear();
  all("details[data-keep][open]", event.detail.target).forEach((details) => kept.add(details.dataset.keep));
}
function afterSwap(event) {
  const target = event.detail.target;
  all("details[data-keep]", target).forEach((details) => { details.open = kept.has(details.dataset.keep); });
  sayAll(target);
  toEnd(target);
  const live = $("[data-is-live]", target);
  if (live?.dataset.isLive === "no" && target.dataset.live === "yes") {
    target.dataset.live = "no";
    htmx.remove($("[data-pulse]"));
    target.setAttribute("hx-trigger", "moved");
    htmx.process(target);
  }
}
const toEnd = (root = document) => all("[data-follow]", root).forEach((log) => { log.scrollTop = log.scrollHeight; });

/* --- keys --- */
let went = 0;
function key(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select, [contenteditable]")) return;
  if ($("dialog[open]")) return;
  if (event.key === "/") { event.preventDefault(); openSide(); $("[data-search]")?.focus(); }
  else if (event.key === "?") { event.preventDefault(); $("#help")?.showModal(); }
  else if (event.key === "g") went = Date.now();
  else if (Date.now() - went < 1500) { went = 0; $(`[data-go="${CSS.escape(event.key)}"]`)?.click(); }
}

/* --- clicks --- */
function openSide(open = true) {
  const side = $("#side");
  const button = $("[data-toggle=side]");
  if (!side || getComputedStyle(button).display === "none") return;
  side.classList.toggle("open", open);
  button.setAttribute("aria-expanded", String(open));
}
function click(event) {
  all("details[data-closes][open]").forEach((menu) => { if (!menu.contains(event.target)) menu.open = false; });
  const button = event.target.closest("button, [data-dialog]");
  if (!button) return;
  if (button.dataset.dialog) document.getElementById(button.dataset.dialog)?.showModal();
  else if ("close" in button.dataset) button.closest("dialog").close();
  else if ("closeNote" in button.dataset) button.closest(".note").remove();
  else if (button.dataset.toggle === "side") openSide(!$("#side").classList.contains("open"));
  else if ("themeNext" in button.dataset) fencepostTheme.choose(fencepostTheme.isDark ? "light" : "dark");
}
function nameTheme() {
  const name = $("[data-theme-name]");
  if (name) name.textContent = fencepostTheme.isDark ? "Light mode" : "Dark mode";
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") { all("details[data-closes][open]").forEach((menu) => { menu.open = false; }); openSide(false); }
  key(event);
});
document.addEventListener("click", click);
document.addEventListener("change", (event) => { if ("submits" in event.target.dataset) event.target.form.requestSubmit(); });
document.addEventListener("submit", (event) => {
  const button = event.submitter;
  if (button && event.target.method === "post") setTimeout(() => { button.disabled = true; });
});
addEventListener("pageshow", () => all("button[disabled]").forEach((button) => { button.disabled = false; }));
addEventListener("themechange", nameTheme);
document.body.addEventListener("htmx:beforeRequest", beforeRefresh);
document.body.addEventListener("htmx:beforeSwap", beforeSwap);
document.body.addEventListener("htmx:afterSwap", afterSwap);

nameTheme();
sayAll();
toEnd();
all("[data-zone]").forEach((element) => { element.textContent = zone; });
setInterval(sayAll, 1000);
document.addEventListener("placed", (event) => sayAll(event.target));
