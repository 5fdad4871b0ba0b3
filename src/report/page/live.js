'use strict';
// Fills the parts of the page from the manager's stream; a browser opens the next stream when one ends.
const connection = document.getElementById('connection');
const shown = new Map();
let heard = Date.now();
const source = new EventSource('/events');
for (const part of document.querySelectorAll('[data-part]')) {
  source.addEventListener(part.id, (event) => {
    heard = Date.now();
    if (shown.get(part.id) === event.data) return;
    shown.set(part.id, event.data);
    // Escaped where it was written; scripts in it would not run.
    part.innerHTML = event.data;
  });
}
// The manager sends something every second.
setInterval(() => {
  const silent = Math.round((Date.now() - heard) / 1000);
  const stale = silent > 4;
  document.body.classList.toggle('stale', stale);
  const text = stale ? `no word from the manager for ${silent} s` : shown.size ? 'live' : 'connecting';
  if (connection.textContent !== text) connection.textContent = text;
}, 500);
