// Opens a page of the Internet in a headless Chromium, follows a recipe, and stays until it is interrupted. Once a
// second it writes what the page's video does and how many bytes have come, as a line of JSON.

import {rmSync} from 'node:fs';

import {Browser, fail, options, sleep, tell} from '../../services/client/browser.mjs';

const asked = options(['url', 'recipe', 'patience', 'quic', 'resolve', 'browser', 'profile']);
const recipe = JSON.parse(asked.recipe);
const patience = Number(asked.patience);
const browser = new Browser(asked.browser, asked.profile,
  {resolve: asked.resolve === '-' ? '' : asked.resolve, size: [3840, 2160], quic: asked.quic === 'on'});
const bytes = {all: 0, http3: 0};
const protocols = new Map();
let before = null;

const VIDEO = `(() => {
  const video = document.querySelector('video');
  if (!video) return null;
  if (!window.narrowsStalls) {
    window.narrowsStalls = {count: 0, ms: 0, since: null};
    let played = !video.paused && video.currentTime > 0;
    video.addEventListener('playing', () => {
      played = true;
      if (narrowsStalls.since !== null) narrowsStalls.ms += performance.now() - narrowsStalls.since;
      narrowsStalls.since = null;
    });
    video.addEventListener('waiting', () => {
      if (!played || video.seeking) return;
      narrowsStalls.count += 1;
      narrowsStalls.since = performance.now();
    });
  }
  const quality = video.getVideoPlaybackQuality();
  const ends = [...Array(video.buffered.length).keys()].map((n) => video.buffered.end(n));
  const open = narrowsStalls.since === null ? 0 : performance.now() - narrowsStalls.since;
  return {height: video.videoHeight || null, played_s: video.currentTime, frames: quality.totalVideoFrames,
    dropped: quality.droppedVideoFrames, buffer_s: Math.max(0, ...ends.map((end) => end - video.currentTime)),
    stalls: narrowsStalls.count, stalled_ms: narrowsStalls.ms + open};
})()`;

const found = (selector) => browser.evaluate(`!!document.querySelector(${JSON.stringify(selector)})`);

async function element(step, selector) {
  const until = Date.now() + patience;
  while (!(await found(selector))) {
    if (Date.now() > until) fail(`recipe: "${step}": no element of the page matches ${selector} within ${patience / 1000} s`);
    await sleep(100);
  }
  return `document.querySelector(${JSON.stringify(selector)})`;
}

async function key(text) {
  const named = text === 'Enter' ? {text: '\r', windowsVirtualKeyCode: 13} : text.length === 1 ? {text} : {};
  await browser.send('Input.dispatchKeyEvent', {type: 'keyDown', key: text, ...named});
  await browser.send('Input.dispatchKeyEvent', {type: 'keyUp', key: text, ...named});
}

async function click(step, selector) {
  const at = await browser.evaluate(`(() => {
    const it = ${await element(step, selector)};
    it.scrollIntoView({block: 'center'});
    const box = it.getBoundingClientRect();
    return {x: box.x + box.width / 2, y: box.y + box.height / 2};
  })()`);
  for (const type of ['mousePressed', 'mouseReleased']) {
    await browser.send('Input.dispatchMouseEvent', {type, ...at, button: 'left', clickCount: 1});
  }
}

async function follow(step) {
  const [verb, ...words] = step.split(' ');
  const rest = words.join(' ');
  if (verb === 'pause') await sleep(Number(rest));
  else if (verb === 'wait') await element(step, rest);
  else if (verb === 'click') await click(step, rest);
  else if (verb === 'scroll') await browser.evaluate(`scrollBy({top: ${Number(rest)}, behavior: 'smooth'})`);
  else if (verb === 'press') await key(rest);
  else if (verb === 'type') {
    await browser.evaluate(`${await element(step, words[0])}.focus()`);
    await browser.send('Input.insertText', {text: words.slice(1).join(' ')});
  } else if (verb === 'play') {
    const played = await browser.evaluate(`${await element(step, rest || 'video')}.play().then(() => null, (e) => e.message)`);
    if (played !== null) fail(`recipe: "${step}": the video does not play: ${played}`);
  }
  tell('step', {step});
}

async function state() {
  tell('state', {bytes: bytes.all, http3_bytes: bytes.http3, video: await browser.evaluate(VIDEO)});
}

process.on('SIGINT', async () => {
  try {
    if (before !== null) await state();
    const after = before === null ? [] : await browser.processes();
    const gone = before === null ? [] : before.filter((each) => !after.includes(each));
    tell('end', {browser: browser.version ?? null, processes_gone: gone});
  } finally {
    browser.close();
    rmSync(asked.profile, {recursive: true, force: true, maxRetries: 5});
    process.exit(0);
  }
});

try {
  await browser.open();
  tell('opened', {browser: browser.version});
  await browser.send('Network.enable');
  browser.on('Network.responseReceived', ({requestId, response}) => protocols.set(requestId, response.protocol));
  // With its headers; only whole answers have their size, so what is on its way is counted by its data.
  browser.on('Network.dataReceived', ({requestId, encodedDataLength}) => {
    bytes.all += encodedDataLength;
    if (protocols.get(requestId) === 'h3') bytes.http3 += encodedDataLength;
  });
  const begun = Date.now();
  await browser.go(asked.url, {withinMs: patience});
  tell('loaded', {after_ms: Date.now() - begun, url: await browser.evaluate('location.href')});
  before = (await browser.processes()).filter((each) => /^(browser|GPU)/.test(each));
  const ticking = setInterval(() => state().catch(() => {}), 1000);
  ticking.unref?.();
  for (const step of recipe) await follow(step);
  setInterval(() => {}, 1 << 30); // until it is interrupted
} catch (error) {
  fail(error.message);
}
