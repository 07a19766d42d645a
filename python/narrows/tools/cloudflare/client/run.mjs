// Runs Cloudflare's own speed test (@cloudflare/speedtest) against one server that speaks its endpoints and prints one
// JSON object: its summary, its scores, every request it timed. It adds no measurement of its own.
//
//   node run.mjs --server http://HOST:PORT|https://HOST:PORT [--browser chromium --profile DIR]
//
// Under Node, or in a headless browser that this program starts (`browser.mjs`). What is measured: `measure.mjs`. The
// certificate of an https server must be one that Node trusts (NODE_EXTRA_CA_CERTS); the browser is told to take any.

import {readFileSync} from 'node:fs';
import {fileURLToPath} from 'node:url';
import {parseArgs} from 'node:util';
import {inBrowser} from './browser.mjs';
import {measure} from './measure.mjs';

function fail(message, code) {
  process.stderr.write(`cloudflare-js: ${message}\n`);
  process.exit(code);
}

let server, browser, profile;
try {
  const text = {type: 'string'};
  const {values} = parseArgs({options: {server: text, browser: text, profile: text}});
  server = new URL(values.server);
  if (server.protocol !== 'http:' && server.protocol !== 'https:') throw new Error('http:// or https://');
  ({browser, profile} = values);
  if ((browser === undefined) !== (profile === undefined)) throw new Error('--browser and --profile go together');
} catch (error) {
  fail(`usage: node run.mjs --server http://HOST:PORT [--browser chromium --profile DIR] (${error.message})`, 2);
}

const home = fileURLToPath(new URL('node_modules/@cloudflare/speedtest/', import.meta.url));
const version = JSON.parse(readFileSync(`${home}package.json`, 'utf8')).version;
const library = `@cloudflare/speedtest ${version}`;

async function underNode() {
  // The library is written for pages. What Node lacks of one: an origin; resource timings that are there when the body
  // is (Node files them a moment later) and that name the protocol. Its console chatter is not for a program's output.
  globalThis.window = {location: {origin: server.origin}};
  for (const level of ['log', 'info', 'warn']) console[level] = () => {};
  const entriesByName = performance.getEntriesByName.bind(performance);
  performance.getEntriesByName = (name) =>
    entriesByName(name).map((entry) => ({...entry.toJSON(), nextHopProtocol: 'http/1.1'}));
  // As a measurement ends the library clears all timings. That of a latency request beside it, which a page would have
  // read by then, must stay until it was read: else the library takes a request that was answered for a lost connection.
  const clear = performance.clearResourceTimings.bind(performance);
  let unread = 0;
  let toClear = false;
  performance.clearResourceTimings = () => (unread ? (toClear = true) : clear());
  const read = () => setImmediate(() => {
    unread -= 1;
    if (!unread && toClear) clear();
    toClear &&= unread > 0;
  });
  const plainFetch = globalThis.fetch;
  globalThis.fetch = async (url, options) => {
    const began = performance.now();
    unread += 1;
    const response = await plainFetch(url, options).catch((error) => { read(); throw error; });
    const text = response.text.bind(response);
    response.text = async () => {
      try {
        const body = await text();
        for (let turn = 0; turn < 1000 && !entriesByName(url).some((entry) => entry.startTime >= began); turn++) {
          await new Promise((done) => setImmediate(done));
        }
        return body;
      } finally {
        read();
      }
    };
    return response;
  };
  const {default: SpeedTest} = await import('@cloudflare/speedtest');
  return measure(SpeedTest, server.origin, `${library}, node ${process.version}`);
}

const result = browser
  ? await inBrowser(browser, profile, {origin: server.origin, library, script: `${home}dist/speedtest.js`})
  : await underNode();
if (result.error) fail(result.error, 1);
process.stdout.write(JSON.stringify(result.whole) + '\n', () => process.exit(0));
