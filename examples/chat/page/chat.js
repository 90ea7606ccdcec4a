'use strict';

const enter = document.getElementById('enter');
const say = document.getElementById('say');
const said = document.getElementById('said');
const state = document.getElementById('state');
let socket = null;
let me = '';

function show(event) {
  const item = document.createElement('li');
  if (event.type === 'said') {
    item.className = event.from === me ? 'said mine' : 'said';
    const from = document.createElement('b');
    from.textContent = event.from;
    item.append(from, event.text);
  } else {
    item.className = 'event';
    item.textContent = `${event.from} ${event.type === 'came' ? 'came in' : 'went away'}`;
  }
  said.append(item);
  item.scrollIntoView({ block: 'end' });
}

function connect(name, room) {
  me = name;
  const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
  const query = new URLSearchParams({ room, name });
  socket = new WebSocket(`${scheme}://${location.host}/chat?${query}`);
  state.textContent = 'connecting …';
  socket.onopen = () => {
    state.textContent = `in ${room} as ${name}`;
    enter.hidden = true;
    say.hidden = false;
    say.elements.text.focus();
  };
  socket.onmessage = message => show(JSON.parse(message.data));
  socket.onclose = () => {
    state.textContent = 'not connected';
    enter.hidden = false;
    say.hidden = true;
  };
}

enter.addEventListener('submit', event => {
  event.preventDefault();
  connect(enter.elements.name.value, enter.elements.room.value);
});

say.addEventListener('submit', event => {
  event.preventDefault();
  socket.send(say.elements.text.value);
  say.elements.text.value = '';
});

// A link can lead into a room: /#room=lobby&name=Ann
const link = new URLSearchParams(location.hash.slice(1));
if (link.get('name') && link.get('room')) connect(link.get('name'), link.get('room'));
