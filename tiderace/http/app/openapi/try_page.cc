#include "tiderace/http/app/openapi/try_page.h"

#include <algorithm>

#include "tiderace/base/random.h"
#include "tiderace/http/page_style.h"
#include "tiderace/text/escape.h"

namespace tiderace::http::app_parts {
namespace {

constexpr std::string_view layout_style = R"(
main{max-width:60rem;margin:0 auto;padding:1rem}
h1{font-size:1.6rem;line-height:1.2;margin:.5rem 0}
h2{font-size:1.1rem;margin:1.5rem 0 .5rem}
.soft{color:var(--soft)}
details{border:1px solid var(--line);border-radius:.5rem;margin:.4rem 0;background:var(--paper)}
summary{cursor:pointer;padding:.5rem .75rem;display:flex;flex-wrap:wrap;gap:.25rem .75rem;
align-items:baseline}
summary:focus-visible,button:focus-visible,textarea:focus-visible
{outline:2px solid var(--tide);outline-offset:2px}
summary code{overflow-wrap:anywhere}
.method{font:600 .85rem ui-monospace,monospace;color:var(--tide);min-width:4rem}
form{padding:.25rem .75rem .75rem;border-top:1px solid var(--line)}
label{display:block;margin:.5rem 0;font-size:.9rem}
input,textarea{display:block;width:100%;margin-top:.15rem;padding:.4rem .5rem;font:inherit;
color:inherit;background:var(--wash);border:1px solid var(--line);border-radius:.35rem}
textarea,pre{font:.85rem/1.45 ui-monospace,monospace}
button{font:inherit;padding:.35rem 1rem;border:1px solid var(--tide);border-radius:.35rem;
background:var(--tide);color:var(--paper);cursor:pointer}
pre{margin:.5rem 0 0;padding:.6rem;background:var(--wash);border-radius:.35rem;overflow:auto;
max-height:24rem;white-space:pre-wrap;overflow-wrap:anywhere}
.keys{display:grid;grid-template-columns:repeat(auto-fit,minmax(14rem,1fr));gap:0 1rem}
)";

constexpr std::string_view script = R"js(
'use strict';
const main = document.querySelector('main');
const say = (tag, text, cls) => {
  const made = document.createElement(tag);
  if (text) made.textContent = text;
  if (cls) made.className = cls;
  return made;
};
const labelled = (text, field) => {
  const label = say('label', text);
  label.append(field);
  return label;
};
const field = (type, value) => {
  const made = document.createElement(type === 'area' ? 'textarea' : 'input');
  if (type === 'area') made.rows = 6; else made.type = type;
  if (value !== undefined) made.value = value;
  made.autocomplete = 'off';
  made.spellcheck = false;
  return made;
};
let doc;
const keys = {};
const resolve = schema => {
  for (let i = 0; schema && schema.$ref && i < 9; ++i) {
    schema = schema.$ref.slice(2).split('/').reduce((at, part) => at && at[part], doc);
  }
  return schema || {};
};
const example = (given, depth = 0) => {
  const schema = resolve(given);
  const one = schema.oneOf || schema.anyOf;
  if (depth > 6) return null;
  if (one && one.length) return example(one[0], depth + 1);
  if (schema.enum) return schema.enum[0];
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (type === 'object') {
    return Object.fromEntries(Object.entries(schema.properties || {})
      .map(([name, inner]) => [name, example(inner, depth + 1)]));
  }
  if (type === 'array') return schema.items ? [example(schema.items, depth + 1)] : [];
  if (type === 'integer' || type === 'number') return schema.minimum || 0;
  return {string: '', boolean: false}[type] ?? null;
};
const base64 = text => btoa(String.fromCharCode(...new TextEncoder().encode(text)));
const bodyOf = (content, form) => {
  const [type, media] = Object.entries(content)[0];
  if (type === 'multipart/form-data') {
    const name = field('text', 'file'), file = field('file');
    form.append(labelled('name of the part', name), labelled('file', file));
    return () => {
      const data = new FormData();
      if (file.files[0]) data.append(name.value, file.files[0]);
      return [data];
    };
  }
  if (type === 'application/x-www-form-urlencoded') {
    const fields = Object.keys(resolve(media.schema).properties || {}).map(name => {
      const one = field('text');
      form.append(labelled(name, one));
      return [name, one];
    });
    return () => [new URLSearchParams(fields.map(([name, one]) => [name, one.value]))];
  }
  const json = type === 'application/json';
  const area = field('area', json ? JSON.stringify(example(media.schema), null, 2) : '');
  form.append(labelled('body, ' + type, area));
  return () => [area.value, type];
};
const shownMax = 200000;
const show = async (answer, status, head, body, began) => {
  status.textContent = `${answer.status} ${answer.statusText} in ` +
    `${Math.round(performance.now() - began)} ms`;
  head.textContent = [...answer.headers].map(([name, value]) => `${name}: ${value}`).join('\n');
  head.hidden = false;
  body.textContent = '';
  body.hidden = !answer.body;
  // As it comes: an event stream may have no end.
  let text = '';
  const reader = answer.body && answer.body.getReader(), decoder = new TextDecoder();
  while (reader && text.length < shownMax) {
    const {done, value} = await reader.read();
    if (done) break;
    text += decoder.decode(value, {stream: true});
    body.textContent = text;
  }
  if (text.length >= shownMax) {
    await reader.cancel();
    body.textContent = text.slice(0, shownMax) + '\n…';
  } else if (/json/.test(answer.headers.get('content-type') || '')) {
    try { body.textContent = JSON.stringify(JSON.parse(text), null, 2); } catch { /* as it is */ }
  }
};
const fill = (form, method, path, operation) => {
  if (operation.description) form.append(say('p', operation.description));
  const inputs = (operation.parameters || []).map(one => {
    const input = field('text');
    input.required = !!one.required;
    form.append(labelled(one.name + (one.in === 'path' ? ' (path)' : ''), input));
    return [one, input];
  });
  const body = operation.requestBody && bodyOf(operation.requestBody.content, form);
  const status = say('p', '', 'soft'), head = say('pre'), text = say('pre');
  status.setAttribute('role', 'status');
  for (const box of [head, text]) { box.hidden = true; box.tabIndex = 0; }
  form.append(say('button', 'Send'), status, head, text);
  form.onsubmit = async event => {
    event.preventDefault();
    let target = path;
    const query = new URLSearchParams();
    for (const [one, input] of inputs) {
      if (one.in === 'path') {
        target = target.replace(`{${one.name}}`, () => encodeURIComponent(input.value));
      } else if (input.value !== '') {
        query.append(one.name, input.value);
      }
    }
    if (String(query)) target += '?' + query;
    const headers = {Accept: 'application/json, */*;q=0.5'};
    const [content, type] = body ? body() : [];
    if (type) headers['Content-Type'] = type;
    for (const name of Object.keys(Object.assign({}, ...(operation.security || [])))) {
      const key = keys[name] && keys[name]();
      if (key) headers.Authorization = key;
    }
    status.textContent = 'sent …';
    const began = performance.now();
    try {
      const answer = await fetch(target, {method: method.toUpperCase(), headers, body: content});
      await show(answer, status, head, text, began);
    } catch (why) {
      status.textContent = 'no answer: ' + why.message;
    }
  };
};
const addKeys = schemes => {
  const box = say('section', '', 'keys');
  for (const [name, scheme] of Object.entries(schemes)) {
    if (scheme.scheme === 'basic') {
      const user = field('text'), password = field('password');
      box.append(labelled('user', user), labelled('password', password));
      keys[name] = () => user.value && 'Basic ' + base64(`${user.value}:${password.value}`);
    } else {
      const token = field('password');
      box.append(labelled('token', token));
      keys[name] = () => token.value && 'Bearer ' + token.value;
    }
  }
  main.append(box);
};
const build = () => {
  const info = doc.info;
  main.replaceChildren(say('h1', info.title), say('p', 'version ' + info.version, 'soft'));
  if (info.description) main.append(say('p', info.description));
  addKeys(doc.components.securitySchemes || {});
  const groups = new Map();
  for (const [path, operations] of Object.entries(doc.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const tag = (operation.tags || ['routes'])[0];
      if (!groups.has(tag)) groups.set(tag, []);
      groups.get(tag).push([method, path, operation]);
    }
  }
  for (const [tag, all] of groups) {
    main.append(say('h2', tag));
    for (const [method, path, operation] of all) {
      const details = say('details'), summary = say('summary'), form = say('form');
      summary.append(say('span', method.toUpperCase(), 'method'), say('code', path));
      if (operation.summary) summary.append(say('span', operation.summary, 'soft'));
      details.append(summary, form);
      details.addEventListener('toggle', () => fill(form, method, path, operation), {once: true});
      main.append(details);
    }
  }
};
fetch(main.dataset.document, {headers: {Accept: 'application/json'}})
  .then(answer => answer.ok ? answer.json() : Promise.reject(new Error(answer.status)))
  .then(found => { doc = found; build(); })
  .catch(why => { main.replaceChildren(say('p', 'The document cannot be read: ' + why.message)); });
)js";

}  // namespace

std::string relative_path(std::string_view from, std::string_view to) {
    // Folders that both have in common are left out.
    const std::size_t shorter = std::min(from.size(), to.size());
    std::size_t common = 0;
    for (std::size_t i = 0; i < shorter && from[i] == to[i]; ++i) {
        if (from[i] == '/') common = i + 1;
    }
    std::string way;
    for (const char c : from.substr(common)) {
        if (c == '/') way += "../";
    }
    way += to.substr(common);
    return way.empty() ? "./" : way;
}

TryPage::TryPage(std::string_view title, std::string_view page, std::string_view document) {
    text::append_escaped(title_, text::Escape::html, title);
    text::append_escaped(document_, text::Escape::html, relative_path(page, document));
}

Response TryPage::answer() const {
    const std::string nonce = random_name(16);
    std::string html =
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
        "<link rel=\"icon\" href=\"data:,\">\n<title>" +
        title_ + "</title>\n<style nonce=\"" + nonce + "\">";
    html.append(page_style).append(layout_style);
    html += "</style>\n<main data-document=\"" + document_ +
            "\"><p>This page needs JavaScript; the document itself is <a href=\"" + document_ +
            "\">here</a>.</p></main>\n<script nonce=\"" + nonce + "\">";
    html.append(script).append("</script>\n</html>\n");
    Response response;
    response.header("Content-Security-Policy",
                    "default-src 'none'; connect-src 'self'; img-src data:; style-src 'nonce-" +
                        nonce + "'; script-src 'nonce-" + nonce +
                        "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    response.header("X-Content-Type-Options", "nosniff");
    response.header("Cache-Control", "no-store");
    response.body("text/html; charset=utf-8", std::move(html));
    return response;
}

}  // namespace tiderace::http::app_parts
