// Loads a page again and again, each time in a new browser with a new profile, and writes a line of JSON for each load.
//
// Visual time: when 95 % of the visible region was painted, text with the first contentful paint, pictures as the
// browser times them (Element Timing). No picture of the screen is taken.

import {Browser, fail, options, sleep, tell} from '../../services/client/browser.mjs';

const asked = options(['server', 'port', 'loads', 'every', 'browser', 'profile']);
const every = Number(asked.every);
const LOADING = 0.8; // of the time until the next load is due
let version = null;

const MEASURE = `(async () => {
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 200)));
  const nav = performance.getEntriesByType('navigation')[0];
  const paint = Object.fromEntries(performance.getEntriesByType('paint').map((e) => [e.name, e.startTime]));
  const resources = performance.getEntriesByType('resource');
  const first = paint['first-contentful-paint'] ?? null;
  const area = (box) => Math.max(0, Math.min(box.right, innerWidth) - Math.max(box.left, 0))
    * Math.max(0, Math.min(box.bottom, innerHeight) - Math.max(box.top, 0));
  const parts = [...document.querySelectorAll('p')].map((p) => [first, area(p.getBoundingClientRect())]);
  const times = new Map(seen.map(([time, , name]) => [name, time]));
  for (const img of document.images) parts.push([times.get(img.getAttribute('elementtiming')) ?? null, area(img.getBoundingClientRect())]);
  const visible = parts.filter(([, size]) => size > 0);
  const whole = visible.reduce((sum, [, size]) => sum + size, 0);
  let [shown, visual] = [0, null];
  for (const [time, size] of visible.filter(([time]) => time !== null).sort((a, b) => a[0] - b[0])) {
    shown += size;
    if (shown >= 0.95 * whole) { visual = time; break; }
  }
  return {load_ms: nav.loadEventStart, first_paint_ms: first, visual_ms: visual,
    last_byte_ms: Math.max(nav.responseEnd, ...resources.map((r) => r.responseEnd)), requests: resources.length + 1};
})()`;

async function load(number) {
  const browser = new Browser(asked.browser, `${asked.profile}-${number}`,
    {resolve: `MAP *.example ${asked.server}:${asked.port}, MAP * ~NOTFOUND, EXCLUDE ${asked.server}`, size: [3840, 2160]});
  try {
    await browser.open();
    version = browser.version;
    const within = LOADING * every;
    const begun = Date.now();
    try {
      await browser.go('http://www.example/', {withinMs: within});
      tell('load', {number, begun_ms: begun, ...await browser.evaluate(MEASURE)});
    } catch (error) {
      tell('unloaded', {number, begun_ms: begun, message: error.message});
    }
  } finally {
    browser.close();
  }
}

process.on('SIGINT', () => { tell('end', {browser: version}); process.exit(0); });
try {
  const start = Date.now();
  for (let number = 0; number < Number(asked.loads); number += 1) {
    await sleep(start + number * every - Date.now());
    await load(number);
  }
  await sleep(start + Number(asked.loads) * every - Date.now());
} catch (error) {
  fail(error.message);
}
tell('end', {browser: version});
