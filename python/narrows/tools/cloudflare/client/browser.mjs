// A headless browser that loads one page, whose scripts and result go over a local socket of this program. The page is
// of another origin than the server under test, as at Cloudflare's own customers; the server allows that (CORS).

import {spawn} from 'node:child_process';
import {mkdirSync, readFileSync} from 'node:fs';
import {createServer} from 'node:http';
import {fileURLToPath} from 'node:url';

const START_WITHIN_MS = 60_000;

// No sandbox: it needs user namespaces, and the guest or the machine is one already. The rest keeps the browser from
// talking to anybody but the server, and from slowing down what it takes for a page in the background.
const SWITCHES = [
  '--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run', '--no-proxy-server',
  '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-default-apps',
  '--disable-extensions', '--disable-client-side-phishing-detection', '--disable-breakpad', '--metrics-recording-only',
  '--disable-background-timer-throttling', '--disable-renderer-backgrounding', '--disable-hang-monitor',
  '--disable-features=Translate,OptimizationHints,MediaRouter,DialMediaRouteProvider', '--password-store=basic',
  '--ignore-certificate-errors', '--mute-audio', '--no-default-browser-check',
];

const page = (origin, library) => `<!doctype html><meta charset="utf-8"><title>speed test</title><script type="module">
import SpeedTest from './speedtest.js';
import {measure} from './measure.mjs';
const tell = (result) => fetch('./result', {method: 'POST', body: JSON.stringify(result)});
addEventListener('error', (event) => tell({error: event.message}));
addEventListener('unhandledrejection', (event) => tell({error: String(event.reason)}));
await fetch('./started', {method: 'POST'});
const browser = (navigator.userAgent.match(/(Headless)?Chrome\\/[0-9.]+/) ?? ['a browser'])[0];
await tell(await measure(SpeedTest, ${JSON.stringify(origin)}, ${JSON.stringify(library)} + ', ' + browser));
</script>`;

// The answer is {whole} or {error}.
export async function inBrowser(program, profile, {origin, library, script}) {
  let settle;
  const settled = new Promise((done) => { settle = done; });
  const files = {
    '/': ['text/html', page(origin, library)],
    '/speedtest.js': ['text/javascript', readFileSync(script)],
    '/measure.mjs': ['text/javascript', readFileSync(fileURLToPath(new URL('measure.mjs', import.meta.url)))],
  };
  let patience;
  const local = createServer((request, response) => {
    const file = files[request.url];
    if (request.method === 'GET' && file) {
      response.writeHead(200, {'Content-Type': file[0]}).end(file[1]);
    } else if (request.method === 'POST') {
      const parts = [];
      request.on('data', (part) => parts.push(part));
      request.on('end', () => {
        response.writeHead(204).end();
        clearTimeout(patience);
        if (request.url === '/result') settle(JSON.parse(Buffer.concat(parts).toString('utf8')));
      });
    } else {
      response.writeHead(404).end();
    }
  });
  await new Promise((done) => local.listen(0, '127.0.0.1', done));
  mkdirSync(profile, {recursive: true});
  // It would ask a name server for its maker's hosts: packets that no route of the guest takes.
  const names = `MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE ${new URL(origin).hostname}`;
  const switches = [...SWITCHES, `--host-resolver-rules=${names}`, `--user-data-dir=${profile}`,
    `http://127.0.0.1:${local.address().port}/`];
  // Its own process group: it has many processes, and all of them end with it.
  const child = spawn(program, switches, {detached: true, stdio: ['ignore', 'ignore', 'pipe'],
    env: {...process.env, HOME: profile, XDG_RUNTIME_DIR: profile}});
  let heard = '';
  child.stderr.on('data', (text) => { heard = (heard + text).slice(-2000); });
  child.on('error', (error) => settle({error: `${program} cannot be started: ${error.message}`}));
  child.on('exit', (code, signal) => settle({error: `${program} ended (${signal ?? code}): ${heard.trim()}`}));
  patience = setTimeout(
    () => settle({error: `${program} has not loaded its page within 60 s: ${heard.trim()}`}), START_WITHIN_MS);
  const result = await settled;
  clearTimeout(patience);
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // it has ended
  }
  local.close();
  return result;
}
