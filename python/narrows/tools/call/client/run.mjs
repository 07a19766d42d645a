// One end of a WebRTC call in a headless Chromium until it is interrupted; writes a line of JSON a second. The callee's
// also serves the page and the mailbox that both ends signal through.

import {readFileSync} from 'node:fs';
import {createServer} from 'node:http';
import {fileURLToPath} from 'node:url';

import {Browser, fail, options, tell} from '../../services/client/browser.mjs';

const asked = options(['url', 'camera', 'height', 'most', 'role', 'browser', 'profile']);
const at = new URL(asked.url);
const page = readFileSync(fileURLToPath(new URL('call.html', import.meta.url)));
const KEPT_MS = 20_000;

class Mailbox {
  messages = [];
  readers = [];
  put(message) { (this.readers.shift() ?? ((one) => this.messages.push(one)))(message); }
  // The next message, or null after a while.
  get() {
    if (this.messages.length) return Promise.resolve(this.messages.shift());
    return new Promise((done) => {
      this.readers.push(done);
      setTimeout(() => {
        const waiting = this.readers.indexOf(done);
        if (waiting >= 0) { this.readers.splice(waiting, 1); done(null); }
      }, KEPT_MS);
    });
  }
}

async function serve() {
  const boxes = {caller: new Mailbox(), callee: new Mailbox()};
  const server = createServer((request, response) => {
    const [, verb, who] = new URL(request.url, at).pathname.split('/');
    if (verb === '') return response.writeHead(200, {'Content-Type': 'text/html'}).end(page);
    if (!(who in boxes)) return response.writeHead(404).end();
    if (verb === 'get') {
      return boxes[who].get().then((message) => message === null
        ? response.writeHead(204).end() : response.writeHead(200, {'Content-Type': 'application/json'}).end(message));
    }
    const parts = [];
    request.on('data', (part) => parts.push(part));
    request.on('end', () => { boxes[who].put(Buffer.concat(parts)); response.writeHead(204).end(); });
  });
  await new Promise((done, failed) => server.on('error', failed).listen(Number(at.port), at.hostname, done));
}

let browser = null;
process.on('SIGINT', async () => {
  const state = await browser?.evaluate('window.state?.()').catch(() => null);
  tell('end', {state: state ?? null, browser: browser?.version ?? null});
  browser?.close();
  process.exit(0);
});

try {
  if (asked.role === 'callee') await serve();
  browser = new Browser(asked.browser, asked.profile, {
    resolve: `MAP * ~NOTFOUND, EXCLUDE ${at.hostname}`,
    more: ['--use-fake-ui-for-media-stream', '--use-fake-device-for-media-stream',
      `--use-file-for-fake-video-capture=${asked.camera}`, `--unsafely-treat-insecure-origin-as-secure=${at.origin}`],
  });
  await browser.open((said) => process.stdout.write(JSON.stringify(said) + '\n'));
  at.search = new URLSearchParams({role: asked.role, height: asked.height, most: asked.most});
  await browser.go(at.href, {loaded: false});
} catch (error) {
  fail(error.message);
}
