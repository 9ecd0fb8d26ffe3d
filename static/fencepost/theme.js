/* Before the first paint: the colours last chosen, under the name that the admin keeps them under too. */
(() => {
  const read = () => {
    try { return JSON.parse(localStorage.getItem("adminTheme") ?? '"auto"'); } catch { return "auto"; }
  };
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    const choice = read();
    const isDark = choice === "dark" || (choice !== "light" && dark.matches);
    document.documentElement.dataset.bsTheme = isDark ? "dark" : "light";
    dispatchEvent(new Event("themechange"));
  };
  window.fencepostTheme = {
    choose(choice) {
      try { localStorage.setItem("adminTheme", JSON.stringify(choice)); } catch { /* private mode: this page only */ }
      apply();
    },
    get isDark() { return document.documentElement.dataset.bsTheme === "dark"; },
  };
  dark.addEventListener("change", apply);
  addEventListener("storage", apply);
  apply();
})();
