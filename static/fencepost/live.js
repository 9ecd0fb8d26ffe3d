/* The event stream: rows move without a reload, and nothing jumps while it is being read. */
const RESTART = 4409; // the numbers asked for are gone: begin again from now
const FINAL_CLOSES = [4401, 4403, 4404];
const ROWS = 20;

function follow() {
  const box = document.querySelector("[data-stream]");
  if (!box) return;
  const pulse = document.querySelector("[data-pulse]");
  const held = document.querySelector("[data-held]");
  let after = box.dataset.after;
  let timeline = ""; // of the database: after a failover to a copy that lagged, numbers begin anew
  let tries = 0;
  let polling;

  const show = (state, text, title) => {
    if (!pulse) return;
    pulse.dataset.state = state;
    pulse.lastElementChild.textContent = text;
    pulse.title = title;
  };

  /* How far a job is stands in the frame itself: nothing is asked for. */
  function progressed(frame) {
    const far = frame.total ? `${frame.done} of ${frame.total}` : `${frame.done}`;
    if (!box.dataset.watch) {
      const cell = document.getElementById(`job-${frame.job_id}`)?.querySelector(".row-attempt");
      if (cell) cell.textContent = `${frame.stage ?? ""} ${far}`;
      return;
    }
    if (frame.job_id !== box.dataset.watch) return;
    const bar = box.querySelector("[data-progress]");
    if (!bar) return soon(refreshJob, 150);
    if (frame.total) { bar.max = frame.total; bar.value = frame.done; }
    box.querySelector("[data-stage]").textContent = frame.stage || "Progress";
    box.querySelector("[data-far]").textContent = frame.note ? `${far} · ${frame.note}` : far;
  }

  /* A burst is one request: ids are gathered, then asked for together, at most twice a second. */
  const wanted = new Set();
  let timer;
  const gather = (id) => {
    if (box.dataset.watch) { if (id === box.dataset.watch) soon(refreshJob, 150); return; }
    if (!id) return;
    wanted.delete(id);
    wanted.add(id);
    while (wanted.size > ROWS) wanted.delete(wanted.values().next().value);
    soon(fetchRows, 250);
  };
  const soon = (call, ms) => { timer ??= setTimeout(() => { timer = undefined; call(); }, ms); };
  const refreshJob = () => htmx.trigger(box, "moved");

  const isRead = () => box.matches(":hover") || box.contains(document.activeElement);
  async function fetchRows() {
    if (!wanted.size || document.hidden) return;
    const known = [...wanted].filter((id) => document.getElementById(`job-${id}`));
    const fresh = wanted.size - known.length;
    if (held) { held.hidden = !(isRead() && fresh); held.textContent = `${fresh} new`; }
    const ids = isRead() ? known : [...wanted];
    if (!ids.length) return;
    ids.forEach((id) => wanted.delete(id));
    const query = ids.map((id) => `&id=${encodeURIComponent(id)}`).join("");
    const answer = await fetch(box.dataset.rows + query, { headers: { "HX-Request": "true", "HX-Target": "moves" } });
    if (!answer.ok || answer.redirected) return;
    place(new DOMParser().parseFromString(await answer.text(), "text/html"), ids);
    const glance = document.getElementById("glance");
    if (glance) throttledGlance(glance);
  }
  /* While the pointer rests on the list rows change where they stand; else what moved last comes first. */
  function place(page, order) {
    const still = isRead();
    for (const id of order) {
      const row = page.getElementById(`job-${id}`);
      if (!row) continue;
      const old = document.getElementById(`job-${id}`);
      row.classList.add("fresh");
      if (old && still) old.replaceWith(row);
      else { old?.remove(); box.prepend(row); }
    }
    while (box.children.length > ROWS) box.lastElementChild.remove();
    const empty = document.querySelector("[data-empty]");
    if (empty) empty.hidden = box.children.length > 0;
    box.dispatchEvent(new Event("placed", { bubbles: true }));
  }
  let lastGlance = 0;
  const throttledGlance = (glance) => {
    if (Date.now() - lastGlance < 2000) return;
    lastGlance = Date.now();
    htmx.trigger(glance, "moved");
  };
  const catchUp = () => soon(box.dataset.watch ? refreshJob : fetchRows, 100);
  box.addEventListener("pointerleave", catchUp);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) catchUp(); });
  held?.addEventListener("click", () => { held.hidden = true; held.blur(); catchUp(); });

  function connect() {
    const url = new URL(box.dataset.stream, location.href);
    url.protocol = url.protocol.replace("http", "ws");
    if (after) url.searchParams.set("after", after);
    if (timeline) url.searchParams.set("timeline", timeline);
    const socket = new WebSocket(url);
    const begun = (hello) => {
      tries = 0;
      timeline = hello.timeline ?? "";
      after = String(hello.after);
      clearInterval(polling);
      polling = undefined;
      show("live", "live", "Changes show up as they happen");
    };
    socket.onmessage = (message) => {
      const frame = JSON.parse(message.data);
      if (frame.kind === "hello") return begun(frame);
      if (frame.seq != null) after = String(frame.seq);
      if (frame.kind === "job.progress") return progressed(frame);
      gather(frame.job_id);
    };
    socket.onclose = (event) => {
      if (FINAL_CLOSES.includes(event.code)) return poll("Your session ended or this project is no longer yours");
      if (event.code === RESTART) { after = timeline = ""; refreshAll(); }
      tries += 1;
      if (tries > 2) poll("The event stream does not answer; trying again");
      setTimeout(connect, Math.min(15000, 400 * 2 ** tries) * (0.7 + Math.random() * 0.6));
    };
  }
  const refreshAll = () => {
    if (box.dataset.watch) return refreshJob();
    const glance = document.getElementById("glance");
    if (glance) htmx.trigger(glance, "moved");
    wanted.clear();
  };
  function poll(why) {
    show("polling", "every 5 s", why);
    polling ??= setInterval(refreshAll, 5000);
  }
  connect();
}

follow();
