// Watches a video in a headless Chromium until it is interrupted, and writes a line of JSON a second. It measures
// nothing itself: the page's own player and the browser say how it goes.

import {Browser, fail, options, quicTo, tell} from '../../services/client/browser.mjs';

const asked = options(['url', 'player', 'flows', 'top', 'browser', 'profile'], ['trust']);
const at = new URL(asked.url);
at.search = new URLSearchParams({player: asked.player, flows: asked.flows, top: asked.top});
// Players choose no rung that their page is too small for.
const browser = new Browser(asked.browser, asked.profile,
  {resolve: `MAP * ~NOTFOUND, EXCLUDE ${at.hostname}`, size: [3840, 2160],
    quic: 'trust' in asked, more: 'trust' in asked ? quicTo(asked.url, asked.trust) : []});
let before = null;

process.on('SIGINT', async () => {
  const [state, after] = before === null ? [null, null] : [await browser.evaluate('window.state?.()'), await browser.processes()];
  const gone = before === null ? [] : before.filter((each) => !after.includes(each));
  tell('end', {state: state ?? null, browser: browser.version ?? null, processes_gone: gone});
  browser.close();
  process.exit(0);
});

try {
  await browser.open((said) => process.stdout.write(JSON.stringify(said) + '\n'));
  tell('opened', {browser: browser.version});
  await browser.go(at.href);
  before = (await browser.processes()).filter((each) => /^(browser|renderer|GPU)/.test(each));
} catch (error) {
  fail(error.message);
}
