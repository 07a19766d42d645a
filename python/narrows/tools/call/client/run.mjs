// One end of a WebRTC call in a headless Chromium until it is interrupted; writes lines of JSON, most of them once a
// second. The callee's also serves the page and the mailbox that both ends signal through.

import {closeSync, openSync, readFileSync, readSync} from 'node:fs';
import {createServer} from 'node:http';
import {fileURLToPath} from 'node:url';

import {Browser, fail, options, tell} from '../../services/client/browser.mjs';
import {scaled, ssim} from './ssim.mjs';

const SETTINGS = ['role', 'height', 'most', 'sends', 'audio', 'sample'], MAYBE = ['initial', 'codec', 'pause', 'degradation', 'sfu'];
const asked = options(['url', 'camera', 'browser', 'profile', ...SETTINGS], [...MAYBE, 'join']);
const at = new URL(asked.url);
// What the page may ask for: a file beside this one, or below `--join` one of the SFU's.
const TYPES = {html: 'text/html', mjs: 'text/javascript', js: 'text/javascript'};
function file(path) {
  if (!/^[\w./-]*$/.test(path) || path.includes('..')) return null;
  const place = path.startsWith('sfu/') ? asked.join && new URL(path.slice(4), `file://${asked.join}/`) : new URL(path || 'call.html', import.meta.url);
  try {
    return place && {content: readFileSync(fileURLToPath(place)), type: TYPES[place.pathname.split('.').pop()]};
  } catch {
    return null;
  }
}
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
    const path = new URL(request.url, at).pathname.slice(1);
    const [verb, who] = path.split('/');
    if (!(who in boxes)) {
      const found = file(path);
      return found ? response.writeHead(200, {'Content-Type': found.type}).end(found.content) : response.writeHead(404).end();
    }
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

// What the camera saw, to hold against what arrived: the brightness of one of its frames.
class Camera {
  constructor(path) {
    this.file = openSync(path);
    const head = Buffer.alloc(200);
    readSync(this.file, head, 0, head.length, 0);
    const line = head.subarray(0, head.indexOf('\n')).toString();
    [this.width, this.height] = [/ W(\d+)/, / H(\d+)/].map((word) => Number(word.exec(line)[1]));
    this.first = line.length + 1;
    this.size = this.width * this.height * 3 / 2 + 'FRAME\n'.length;
  }
  luma(number) {
    const made = new Uint8Array(this.width * this.height);
    readSync(this.file, made, 0, made.length, this.first + number * this.size + 'FRAME\n'.length);
    return made;
  }
  close() { closeSync(this.file); }
}

function onTold(said) {
  if (said.kind !== 'picture') return process.stdout.write(JSON.stringify(said) + '\n');
  const {luma, number, width, height, at_ms} = said;
  const got = scaled(Buffer.from(luma, 'base64'), width, height, camera.width, camera.height);
  const like = ssim(camera.luma(number), got, camera.width, camera.height);
  return process.stdout.write(JSON.stringify({kind: 'quality', at_ms, number, height, ssim: like}) + '\n');
}

let browser = null, camera = null;
process.on('SIGINT', async () => {
  const state = await browser?.evaluate('window.state?.()').catch(() => null);
  tell('end', {state: state ?? null, browser: browser?.version ?? null});
  browser?.close();
  process.exit(0);
});

try {
  camera = new Camera(asked.camera);
  if (asked.role === 'callee') await serve();
  browser = new Browser(asked.browser, asked.profile, {
    resolve: `MAP * ~NOTFOUND, EXCLUDE ${at.hostname}`,
    more: ['--use-fake-ui-for-media-stream', '--use-fake-device-for-media-stream',
      `--use-file-for-fake-video-capture=${asked.camera}`, `--unsafely-treat-insecure-origin-as-secure=${at.origin}`],
  });
  await browser.open(onTold);
  at.search = new URLSearchParams([...SETTINGS, ...MAYBE].filter((name) => asked[name] !== undefined).map((name) => [name, asked[name]]));
  await browser.go(at.href, {loaded: false});
} catch (error) {
  fail(error.message);
}
