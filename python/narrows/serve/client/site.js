// Tables that can be sorted and filtered, and parts of a page that are worked out after it is shown.
'use strict';
(() => {
  const value = (cell) => {
    const said = cell.dataset.value ?? cell.textContent.trim();
    const number = Number(said);
    return said !== '' && !Number.isNaN(number) ? number : said;
  };
  const before = (a, b) => {
    if (typeof a === 'number' && typeof b === 'number') return a - b;
    if (typeof a === 'number' || typeof b === 'number') return typeof a === 'number' ? -1 : 1;
    return a.localeCompare(b, undefined, { numeric: true });
  };

  function sortable(table) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, k) => {
      if (!head.textContent.trim()) return;
      const button = document.createElement('button');
      button.type = 'button';
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener('click', () => {
        const down = head.getAttribute('aria-sort') === 'ascending';
        heads.forEach((one) => one.removeAttribute('aria-sort'));
        head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
        const body = table.tBodies[0];
        const rows = [...body.rows].map((row) => [value(row.cells[k]), row]);
        rows.sort((a, b) => (down ? -1 : 1) * before(a[0], b[0]));
        body.append(...rows.map(([, row]) => row));
      });
    });
  }

  async function late(part) {
    const answer = await fetch(part.dataset.load);
    if (answer.ok) part.innerHTML = await answer.text();
    else part.textContent = 'This could not be worked out.';
    part.removeAttribute('aria-busy');
  }

  window.addEventListener('DOMContentLoaded', async () => {
    document.querySelectorAll('table.sortable').forEach(sortable);
    document.querySelectorAll('form.at-once select').forEach((one) => one.addEventListener('change', () => one.form.submit()));
    if (document.body.dataset.events) {
      const events = new EventSource(document.body.dataset.events);
      events.addEventListener('changed', async () => {
        const page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), 'text/html');
        document.querySelectorAll('[data-live]').forEach((part) => {
          const news = page.querySelector(`[data-live="${part.dataset.live}"]`);
          if (news && news.innerHTML !== part.dataset.was) {
            part.innerHTML = news.innerHTML;
            part.dataset.was = news.innerHTML;
            part.querySelectorAll('table.sortable').forEach(sortable);
          }
        });
      });
    }
    for (const part of document.querySelectorAll('[data-load]')) await late(part);
  });
})();
