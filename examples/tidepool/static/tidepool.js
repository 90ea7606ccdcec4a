// What the pages do better with scripts. All of it works without: links are links and forms are
// forms, which this file only sends without leaving the page.
"use strict";

const words = document.body.dataset;

function localTime(time) {
  const at = new Date(time.dateTime);
  const seconds = (Date.now() - at) / 1000;
  const relative = new Intl.RelativeTimeFormat(document.documentElement.lang, { numeric: "auto" });
  time.title = at.toLocaleString(document.documentElement.lang);
  if (seconds < 60) time.textContent = words.justNow;
  else if (seconds < 3600) time.textContent = relative.format(-Math.round(seconds / 60), "minute");
  else if (seconds < 86400) time.textContent = relative.format(-Math.round(seconds / 3600), "hour");
  else time.textContent = at.toLocaleDateString(document.documentElement.lang, { day: "numeric", month: "short", year: "numeric" });
}

function count(area) {
  const left = area.form.querySelector("[data-left]");
  if (!left) return;
  const max = area.maxLength;
  area.addEventListener("input", () => {
    left.textContent = area.value.length > max * 0.8 ? String(max - area.value.length) : "";
  });
}

function enhance(root) {
  root.querySelectorAll("time[datetime*=T]").forEach(localTime);
  root.querySelectorAll("textarea[data-count]").forEach(count);
}

async function send(form) {
  const answer = await fetch(form.action, {
    method: "POST", body: new URLSearchParams(new FormData(form)),
    headers: { Accept: "application/json" },
  });
  if (!answer.ok) throw new Error(String(answer.status));
  return answer.json();
}

// Without a network nothing is sent: what was typed stays in its field.
const offline = document.createElement("p");
offline.id = "offline";
offline.className = "notice";
offline.hidden = true;
offline.setAttribute("role", "status");
offline.textContent = document.documentElement.lang === "zh"
  ? "网络已断开。你写的内容还在这里，连上后再发送。"
  : "You are offline. What you typed stays here; send it when you are back.";
document.querySelector("main").prepend(offline);
window.addEventListener("offline", () => { offline.hidden = false; });
window.addEventListener("online", () => { offline.hidden = true; });

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!navigator.onLine) {
    event.preventDefault();
    offline.hidden = false;
    return;
  }
  if ("sure" in form.dataset && !confirm(words.sure)) {
    event.preventDefault();
    return;
  }
  if (form.method === "post" && !("like" in form.dataset)) {
    // One press, one post: a second press would send the form again.
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "yes";
    return;
  }
  if (!("like" in form.dataset)) return;
  event.preventDefault();
  const button = form.querySelector("button");
  button.disabled = true;
  try {
    const now = await send(form);
    form.querySelector("[data-likes]").textContent = now.likes;
    button.classList.toggle("liked", now.liked);
    button.setAttribute("aria-pressed", String(now.liked));
    form.action = form.action.replace(/(un)?like$/, now.liked ? "unlike" : "like");
  } catch {
    form.submit();  // the server says what is wrong, on a page of its own
  }
  button.disabled = false;
});

// Coming back to a page by the Back button: its forms may be sent again.
window.addEventListener("pageshow", () => {
  document.querySelectorAll("form[data-sent]").forEach((form) => delete form.dataset.sent);
});

// The next page of a list, put under this one when its link comes into view.
async function more(link) {
  link.removeAttribute("data-more");
  const answer = await fetch(link.href);
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const posts = page.querySelector("#posts");
  if (!posts) return;
  const list = document.querySelector("#posts");
  link.closest(".more").remove();
  for (const one of [...posts.children]) list.append(document.adoptNode(one));
  enhance(list);
  watch();
}

const seen = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    seen.unobserve(entry.target);
    more(entry.target);
  }
}, { rootMargin: "320px" });

function watch() {
  document.querySelectorAll("a[data-more]").forEach((link) => seen.observe(link));
}

// A notice that has just come: said once, and gone after a while.
const toast = document.createElement("p");
toast.id = "toast";
toast.hidden = true;
toast.setAttribute("role", "status");
document.body.append(toast);
let toastEnd = 0;

function say(text) {
  toast.textContent = text;
  toast.hidden = false;
  clearTimeout(toastEnd);
  toastEnd = setTimeout(() => { toast.hidden = true; }, 8000);
}

function show(news) {
  if (news.unseen !== undefined && news.unseen !== null) {
    const badge = document.querySelector("#unseen");
    badge.textContent = String(news.unseen);
    badge.hidden = news.unseen === 0;
  }
  if (news.what) say(news.what);
  const fresh = document.querySelector("#new-posts");
  if (news.posts && fresh) fresh.hidden = false;
}

// A WebSocket; where something on the way lets none through, an event stream. After a lost
// connection it is made again, later each time, and not by all browsers at once.
function live(address) {
  let pause = 1000;
  let opened = false;
  const again = (least) => setTimeout(connect, Math.max(least, pause) * (0.5 + Math.random()));

  function stream() {
    const events = new EventSource(address + "/events");
    events.addEventListener("message", (event) => show(JSON.parse(event.data)));
    document.body.dataset.liveBy = "events";
  }
  function connect() {
    const socket = new WebSocket(address.replace(/^/, location.origin.replace(/^http/, "ws")));
    socket.addEventListener("open", () => {
      opened = true;
      document.body.dataset.liveBy = "socket";
    });
    socket.addEventListener("message", (event) => {
      pause = 1000;
      show(JSON.parse(event.data));
    });
    socket.addEventListener("close", (event) => {
      document.body.dataset.liveBy = "";
      if (event.code === 4401) return;  // logged out, here or elsewhere
      if (!opened) return stream();
      pause = Math.min(pause * 2, 60000);
      again(event.code === 1013 ? 60000 : 0);
    });
  }
  connect();
}

enhance(document);
watch();
if (words.live) live(words.live);
