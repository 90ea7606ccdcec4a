'use strict';
// Uploads by tus 1.0, in chunks with a digest each. An interrupted upload goes on where the server
// stands: after a lost connection by itself, after a reload when the same file is chosen again.

const chunk_bytes = 8 << 20;
const [pause_min, pause_max] = [500, 15000]; // ms, before the next attempt
const at_once_max = 2;

const at = id => document.getElementById(id);
const form = document.querySelector('form.drop');
const uploads = [];

const readable = bytes => {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];
  let unit = 0;
  for (; bytes >= 999.95 && unit < 4; ++unit) bytes /= 1000;
  return `${bytes.toFixed(unit === 0 ? 0 : 1)} ${units[unit]}`;
};
const base64 = bytes => btoa(String.fromCharCode(...new Uint8Array(bytes)));
const key_of = file => `upload ${file.name} ${file.size} ${file.lastModified}`;

// What a server answered: `fatal` where another attempt would be answered in the same way.
class Refusal extends Error {
  constructor(status, text) {
    let detail = '';
    try { detail = JSON.parse(text).detail; } catch { /* no Problem */ }
    super(detail || `the server answered ${status}`);
    this.status = status;
    this.fatal = status >= 400 && status < 500 && ![408, 409, 423, 429, 460].includes(status) || status === 507;
  }
}

class Upload {
  constructor(file) {
    this.file = file;
    this.sent = 0;
    this.pause = pause_min;
    this.state = 'waiting'; // then running, paused, resting, failed or done
    this.url = localStorage.getItem(key_of(file));
    this.element = this.draw();
  }

  draw() {
    const item = document.createElement('li');
    item.innerHTML = '<span class="name"></span><progress></progress><span class="quiet state"></span>' +
      '<span class="buttons"><button class="plain hold"></button><button class="plain stop">×</button></span>';
    const part = name => item.querySelector(name);
    this.shown = { bar: part('progress'), state: part('.state'), hold: part('.hold'), stop: part('.stop') };
    part('.name').textContent = this.file.name;
    this.shown.bar.max = this.file.size || 1;
    this.shown.bar.setAttribute('aria-label', this.file.name);
    this.shown.stop.setAttribute('aria-label', `Cancel ${this.file.name}`);
    this.shown.hold.onclick = () => this.state === 'running' || this.state === 'waiting' ? this.hold() : this.go_on();
    this.shown.stop.onclick = () => this.cancel();
    return item;
  }

  show(text) {
    const { bar, state, hold } = this.shown;
    bar.value = this.sent;
    const part = this.file.size ? Math.floor(100 * this.sent / this.file.size) : 0;
    state.textContent = `${part} % of ${readable(this.file.size)}${text ? `, ${text}` : ''}`;
    this.element.className = this.state;
    const stands = ['paused', 'resting', 'failed'].includes(this.state);
    hold.textContent = stands ? 'Resume' : 'Pause';
    hold.setAttribute('aria-label', `${hold.textContent} ${this.file.name}`);
  }

  request(method, url, fields, body) {
    return new Promise((resolve, reject) => {
      const call = this.call = new XMLHttpRequest();
      call.open(method, url);
      for (const [name, value] of Object.entries({ 'Tus-Resumable': '1.0.0', ...fields })) call.setRequestHeader(name, value);
      const before = this.sent;
      if (body) {
        call.upload.onprogress = event => {
          this.sent = before + event.loaded;
          this.show();
        };
      }
      call.onload = () => call.status < 300 ? resolve(call) : reject(new Refusal(call.status, call.responseText));
      call.onerror = call.onabort = () => reject(new Error('the connection was lost'));
      call.send(body);
    });
  }

  async create() {
    const name = base64(new TextEncoder().encode(this.file.name));
    const made = await this.request('POST', '/uploads', {
      'Upload-Length': this.file.size, 'Upload-Metadata': `filename ${name}`,
    });
    this.url = made.getResponseHeader('Location');
    this.sent = 0;
    localStorage.setItem(key_of(this.file), this.url);
  }

  // Where the server stands; an upload that it no longer knows begins anew.
  async find() {
    if (!this.url) return this.create();
    try {
      const found = await this.request('HEAD', this.url);
      this.sent = Number(found.getResponseHeader('Upload-Offset'));
    } catch (fault) {
      if (fault.status !== 404) throw fault;
      await this.create();
    }
  }

  async send_chunk() {
    const from = this.sent;
    const chunk = this.file.slice(from, from + chunk_bytes);
    const fields = { 'Content-Type': 'application/offset+octet-stream', 'Upload-Offset': from };
    if (globalThis.crypto?.subtle) { // in secure places alone
      fields['Upload-Checksum'] = `sha256 ${base64(await crypto.subtle.digest('SHA-256', await chunk.arrayBuffer()))}`;
    }
    if (this.state !== 'running') return;
    const answer = await this.request('PATCH', this.url, fields, chunk);
    this.sent = Number(answer.getResponseHeader('Upload-Offset'));
    this.pause = pause_min;
  }

  async run() {
    this.state = 'running';
    this.show();
    try {
      await this.find();
      this.show();
      while (this.state === 'running' && this.sent < this.file.size) {
        await this.send_chunk();
        if (this.state === 'running') this.show();
      }
      if (this.state === 'running') this.end();
    } catch (fault) {
      if (this.state === 'running') this.rest(fault);
    }
    begin();
  }

  rest(fault) {
    this.state = fault.fatal ? 'failed' : 'resting';
    if (fault.fatal) return this.show(fault.message);
    const wait = this.pause * (0.5 + Math.random() / 2);
    this.pause = Math.min(2 * this.pause, pause_max);
    this.timer = setTimeout(() => this.go_on(), wait);
    this.show(`${fault.message}; trying again …`);
  }

  hold() {
    this.state = 'paused';
    this.call?.abort();
    this.show('paused');
    begin();
  }

  go_on() {
    clearTimeout(this.timer);
    this.state = 'waiting';
    this.show('waiting');
    begin();
  }

  cancel() {
    this.state = 'gone';
    clearTimeout(this.timer);
    this.call?.abort();
    localStorage.removeItem(key_of(this.file));
    if (this.url) this.request('DELETE', this.url).catch(() => {}); // otherwise it expires there
    this.leave();
    begin();
  }

  end() {
    this.state = 'done';
    localStorage.removeItem(key_of(this.file));
    at('said').textContent = `${this.file.name} is here.`;
    this.leave();
    refresh();
  }

  leave() {
    uploads.splice(uploads.indexOf(this), 1);
    this.element.remove();
    at('moving').hidden = uploads.length === 0;
  }
}

function begin() {
  let running = uploads.filter(one => one.state === 'running').length;
  for (const one of uploads) {
    if (running >= at_once_max) return;
    if (one.state !== 'waiting') continue;
    ++running;
    one.run();
  }
}

// The list as the server draws it now.
async function refresh() {
  const answer = await fetch('/');
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  for (const id of ['files', 'free']) at(id).replaceWith(page.getElementById(id));
}

function add(files) {
  for (const file of files) {
    if (uploads.some(one => key_of(one.file) === key_of(file))) continue;
    const one = new Upload(file);
    uploads.push(one);
    at('moving').firstElementChild.append(one.element);
    at('moving').hidden = false;
    one.show('waiting');
  }
  begin();
}

document.documentElement.className = 'scripted';
at('moving').append(document.createElement('ul'));
at('send').hidden = true;
at('choose').className = 'hidden';
at('hint').textContent = 'or drop them here';
at('choose').onchange = () => {
  add(at('choose').files);
  at('choose').value = '';
};
for (const kind of ['dragover', 'dragenter']) {
  form.addEventListener(kind, event => {
    event.preventDefault();
    form.classList.add('over');
  });
}
for (const kind of ['dragleave', 'drop']) form.addEventListener(kind, () => form.classList.remove('over'));
form.addEventListener('drop', event => {
  event.preventDefault();
  add(event.dataTransfer.files);
});
addEventListener('online', () => uploads.filter(one => one.state === 'resting').forEach(one => one.go_on()));
