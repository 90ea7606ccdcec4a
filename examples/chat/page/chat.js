'use strict';

const shown_max = 500;
const [pause_min, pause_max] = [500, 15000]; // ms, before the next attempt

const at = id => document.getElementById(id);
const [enter, say, said] = [at('enter'), at('say'), at('said')];
let socket = null;
let me = null; // {name, room}; null: not connected, and no wish to be
let pause = pause_min;
let retry = 0;
let lost = false; // the connection was
let newest = 0; // of the lists of members

function append(kind, ...content) {
  const item = document.createElement('li');
  item.className = kind;
  item.append(...content);
  said.append(item);
  if (said.children.length > shown_max) said.firstChild.remove();
  at('empty').hidden = true;
  item.scrollIntoView({ block: 'end' });
}

function show(event) {
  if (event.said !== undefined) {
    const from = document.createElement('b');
    from.textContent = event.from;
    append(event.from === me.name ? 'mine' : '', from, event.said);
  } else if (event.n > newest) { // loops of the server may deliver two lists in either order
    newest = event.n;
    at('count').textContent = event.members.length === 1 ? '1 member' : `${event.members.length} members`;
    at('members').replaceChildren(...event.members.map(name => {
      const item = document.createElement('li');
      item.textContent = name;
      return item;
    }));
  }
}

function connect() {
  const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
  const mine = new WebSocket(`${scheme}://${location.host}/chat?${new URLSearchParams(me)}`);
  socket = mine;
  at('state').textContent = 'connecting …';
  mine.onopen = () => {
    pause = pause_min;
    newest = 0;
    if (lost) append('note', 'connected again; what was said meanwhile is missing here');
    lost = false;
    at('state').textContent = `in ${me.room} as ${me.name}`;
    say.elements.text.focus();
    arrange();
  };
  mine.onmessage = message => { if (socket === mine) show(JSON.parse(message.data)); };
  mine.onclose = event => {
    if (socket !== mine) return;
    socket = null;
    lost = true;
    at('state').textContent = `not connected${event.reason ? `: ${event.reason}` : ''}, trying again …`;
    arrange();
    retry = setTimeout(connect, pause * (0.5 + Math.random() / 2));
    pause = Math.min(2 * pause, pause_max);
  };
}

function arrange() {
  enter.hidden = me !== null;
  at('room').hidden = at('leave').hidden = me === null;
  say.querySelector('button').disabled = socket?.readyState !== WebSocket.OPEN;
}

function begin(name, room) {
  me = { name, room };
  lost = false;
  said.replaceChildren();
  at('empty').hidden = false;
  arrange();
  connect();
}

enter.addEventListener('submit', event => {
  event.preventDefault();
  begin(enter.elements.name.value, enter.elements.room.value);
});

say.addEventListener('submit', event => {
  event.preventDefault();
  if (socket?.readyState !== WebSocket.OPEN) return;
  socket.send(say.elements.text.value);
  say.elements.text.value = '';
});

at('leave').addEventListener('click', () => {
  clearTimeout(retry);
  const mine = socket;
  socket = me = null;
  mine?.close();
  at('state').textContent = 'not connected';
  arrange();
});

// A phone that wakes up does not wait for the pause.
addEventListener('online', () => {
  if (me === null || socket !== null) return;
  clearTimeout(retry);
  connect();
});

// A link can lead into a room: /#room=lobby&name=Ann
const link = new URLSearchParams(location.hash.slice(1));
if (link.get('name') && link.get('room')) begin(link.get('name'), link.get('room'));
