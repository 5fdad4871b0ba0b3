'use strict';
// Tables sort by the column whose heading is pressed; without this script they are as they were written.
for (const table of document.querySelectorAll('table.sortable')) {
  const body = table.tBodies[0];
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = heading.textContent;
    heading.replaceChildren(button);
    // Of numbers the largest are looked for, names are looked up.
    const first = heading.classList.contains('number') ? 'descending' : 'ascending';
    const other = first === 'descending' ? 'ascending' : 'descending';
    button.addEventListener('click', () => {
      const falls = (heading.getAttribute('aria-sort') === first ? other : first) === 'descending';
      headings.forEach((other) => other.removeAttribute('aria-sort'));
      heading.setAttribute('aria-sort', falls ? 'descending' : 'ascending');
      const value = (row) => row.cells[column].dataset.rank ?? row.cells[column].textContent;
      const compare = (a, b) => value(a).localeCompare(value(b), 'en', { numeric: true });
      const rows = [...body.rows].sort((a, b) => (falls ? compare(b, a) : compare(a, b)));
      body.append(...rows);
    });
  });
}
// Of a drawing wider than the screen the part is shown where something leaves, comes, is cut off or waits.
for (const drawing of document.querySelectorAll('.map .scroll')) {
  const mark = drawing.querySelector('rect:is(.leaves, .comes, .cutoff), circle:is(.leaves, .comes, .cutoff), .wait');
  if (!mark) continue;
  const [at, seen] = [mark, drawing].map((part) => part.getBoundingClientRect());
  drawing.scrollLeft = at.left + at.width / 2 - seen.left - seen.width / 2;
}
// On paper nothing can be opened. Bins stay closed: tens of pages that the charts show, in columns wider than paper.
addEventListener('beforeprint', () => {
  for (const closed of document.querySelectorAll('details:not([open], .bins)')) {
    closed.dataset.closed = '';
    closed.open = true;
  }
});
addEventListener('afterprint', () => {
  for (const opened of document.querySelectorAll('details[data-closed]')) {
    delete opened.dataset.closed;
    opened.open = false;
  }
});
