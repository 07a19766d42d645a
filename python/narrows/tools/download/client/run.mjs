// Downloads until it is interrupted, and writes a line of JSON a second: what it has received.

import http from 'node:http';

import {Browser, fail, options, quicTo, tell} from '../../services/client/browser.mjs';
import {transfer} from './www/transfer.js';

const shared = ['url', 'connections', 'chunk', 'batches', 'bytes'];
const browsing = process.argv.includes('--browser');
const asked = options(browsing ? [...shared, 'browser', 'profile'] : shared, ['trust']);

if (browsing) {
  const at = new URL(asked.url);
  at.search = new URLSearchParams(Object.fromEntries(shared.slice(1).map((name) => [name, asked[name]])));
  const browser = new Browser(asked.browser, asked.profile, {resolve: `MAP * ~NOTFOUND, EXCLUDE ${at.hostname}`,
    quic: 'trust' in asked, more: 'trust' in asked ? quicTo(asked.url, asked.trust) : []});
  process.on('SIGINT', async () => {
    tell('end', {state: await browser.evaluate('window.state?.()') ?? null, client: browser.version ?? null});
    browser.close();
    process.exit(0);
  });
  try {
    await browser.open((said) => process.stdout.write(JSON.stringify(said) + '\n'));
    await browser.go(at.href);
  } catch (error) {
    fail(error.message);
  }
} else {
  const agent = new http.Agent({keepAlive: true, maxSockets: Number(asked.connections)});
  const get = (first, last, onBytes) => new Promise((done, failed) => {
    http.get(`${asked.url}file.bin`, {agent, headers: {Range: `bytes=${first}-${last}`}}, (answer) => {
      if (answer.statusCode !== 206) return failed(new Error(`the server answered ${answer.statusCode}`));
      answer.on('data', (part) => onBytes(part.length)).on('end', done).on('error', failed);
    }).on('error', failed);
  });
  const state = transfer(asked, get, (kind, what) => { fail(what.message); });
  setInterval(() => tell('state', state), 1000);
  process.on('SIGINT', () => {
    tell('end', {state, client: `Node.js ${process.version}`});
    process.exit(0);
  });
}
