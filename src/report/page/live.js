'use strict';
// Fills the parts of the page from the manager's stream; a browser opens the next stream when one ends.
const connection = document.getElementById('connection');
const shown = new Map();
let heard = Date.now();
const source = new EventSource('/events');
const scrollers = (part) => [...part.querySelectorAll('.scroll, .events')];
const mark = (drawing) =>
  drawing.querySelector('.map rect:is(.leaves, .comes, .cutoff), .map circle:is(.leaves, .comes, .cutoff)');
// What is drawn anew keeps where its reader has scrolled to, what is open, and where the keyboard is.
function fill(part, text) {
  const places = scrollers(part).map((own) => [own.scrollLeft, own.scrollTop]);
  const opened = [...part.querySelectorAll('details')].map((own) => own.open);
  const stops = () => [...part.querySelectorAll('[tabindex], summary')];
  const stop = stops().indexOf(document.activeElement);
  const marked = mark(part);
  // Escaped where it was written; scripts in it would not run.
  part.innerHTML = text;
  scrollers(part).forEach((own, rank) => places[rank] && own.scrollTo(...places[rank]));
  part.querySelectorAll('details').forEach((own, rank) => { own.open = opened[rank] ?? own.open; });
  if (stop >= 0) stops()[stop]?.focus({ preventScroll: true });
  // Of a drawing wider than the screen the part is shown where something has begun to leave or to come.
  const comes = marked ? null : mark(part);
  if (comes) {
    const drawing = comes.closest('.scroll');
    const [at, seen] = [comes, drawing].map((own) => own.getBoundingClientRect());
    drawing.scrollLeft += at.left + at.width / 2 - seen.left - seen.width / 2;
  }
}
for (const part of document.querySelectorAll('[data-part]')) {
  source.addEventListener(part.id, (event) => {
    heard = Date.now();
    if (shown.get(part.id) === event.data) return;
    shown.set(part.id, event.data);
    fill(part, event.data);
  });
}
// The manager sends something every second.
setInterval(() => {
  const silent = Math.round((Date.now() - heard) / 1000);
  const stale = silent > 4;
  document.body.classList.toggle('stale', stale);
  const old = document.getElementById('verdict').hasChildNodes() ? ': what is shown is old' : '';
  const text = stale ? `no word from the manager for ${silent} s${old}` : shown.size ? 'live' : 'connecting';
  if (connection.textContent !== text) connection.textContent = text;
}, 500);
