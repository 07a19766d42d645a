// Runs Cloudflare's own speed test (@cloudflare/speedtest) against one server that speaks its endpoints and prints one
// JSON object: its summary, its scores, every request it timed. It adds no measurement of its own.
//
//   node run.mjs --server http://HOST:PORT
//
// Deviations from the page at speed.cloudflare.com, all by the library's own configuration: no packet loss test (it
// needs WebRTC and a TURN server), and nothing is logged to Cloudflare.

import {readFileSync} from 'node:fs';
import {fileURLToPath} from 'node:url';
import {parseArgs} from 'node:util';

function fail(message, code) {
  process.stderr.write(`cloudflare-js: ${message}\n`);
  process.exit(code);
}

let server;
try {
  const {values} = parseArgs({options: {server: {type: 'string'}}});
  server = new URL(values.server);
  if (server.protocol !== 'http:' && server.protocol !== 'https:') throw new Error('http:// or https://');
} catch (error) {
  fail(`usage: node run.mjs --server http://HOST:PORT (${error.message})`, 2);
}

// The library is written for pages. What Node lacks of one: an origin; resource timings that are there when the body
// is (Node files them a moment later) and that name the protocol. Its console chatter is not for a program's output.
globalThis.window = {location: {origin: server.origin}};
for (const level of ['log', 'info', 'warn']) console[level] = () => {};
const entriesByName = performance.getEntriesByName.bind(performance);
performance.getEntriesByName = (name) =>
  entriesByName(name).map((entry) => ({...entry.toJSON(), nextHopProtocol: 'http/1.1'}));
const plainFetch = globalThis.fetch;
globalThis.fetch = async (url, options) => {
  const began = performance.now();
  const response = await plainFetch(url, options);
  const text = response.text.bind(response);
  response.text = async () => {
    const body = await text();
    for (let turn = 0; turn < 1000 && !entriesByName(url).some((entry) => entry.startTime >= began); turn++) {
      await new Promise((done) => setImmediate(done));
    }
    return body;
  };
  return response;
};

const {default: SpeedTest} = await import('@cloudflare/speedtest');
const home = new URL('node_modules/@cloudflare/speedtest/package.json', import.meta.url);
const version = JSON.parse(readFileSync(fileURLToPath(home), 'utf8')).version;

const test = new SpeedTest({
  autoStart: false,
  downloadApiUrl: `${server.origin}/__down`,
  uploadApiUrl: `${server.origin}/__up`,
  logAimApiUrl: null,
  logMeasurementApiUrl: null,
  measurements: [
    // the library's default without packetLoss
    {type: 'latency', numPackets: 2},
    {type: 'download', bytes: 1e5, count: 1, bypassMinDuration: true},
    {type: 'latency', numPackets: 20},
    {type: 'download', bytes: 1e5, count: 9},
    {type: 'latency', numPackets: 2},
    {type: 'download', bytes: 1e6, count: 8},
    {type: 'latency', numPackets: 2},
    {type: 'upload', bytes: 1e5, count: 8},
    {type: 'latency', numPackets: 2},
    {type: 'upload', bytes: 1e6, count: 6},
    {type: 'latency', numPackets: 2},
    {type: 'download', bytes: 1e7, count: 6},
    {type: 'latency', numPackets: 2},
    {type: 'upload', bytes: 1e7, count: 4},
    {type: 'latency', numPackets: 2},
    {type: 'download', bytes: 2.5e7, count: 4},
    {type: 'latency', numPackets: 2},
    {type: 'upload', bytes: 2.5e7, count: 4},
    {type: 'latency', numPackets: 2},
    {type: 'download', bytes: 1e8, count: 3},
    {type: 'latency', numPackets: 2},
    {type: 'upload', bytes: 5e7, count: 3},
    {type: 'latency', numPackets: 2},
    {type: 'download', bytes: 2.5e8, count: 2},
  ],
});
test.onError = (message) => fail(String(message), 1);
test.onFinish = (results) => {
  const summary = results.getSummary();
  if (!(summary.download > 0) && !(summary.upload > 0)) fail('no transfer was measured', 1);
  const requests = (points) => (points ?? []).map((point) => (
    {bytes: point.bytes, bps: point.bps, duration_ms: point.duration, ping_ms: point.ping, at_ms: point.measTime.getTime()}));
  const pings = (timings) => (timings ?? []).map((timing) => [timing.measTime.getTime(), timing.ping]);
  const side = (type) => pings(Object.values(results.raw[type]?.results ?? {}).flatMap((each) => each.sideLatency ?? []));
  const whole = {
    client: `@cloudflare/speedtest ${version}, node ${process.version}`,
    server: server.origin,
    summary, scores: results.getScores(),
    download: requests(results.getDownloadBandwidthPoints()),
    upload: requests(results.getUploadBandwidthPoints()),
    pings: {idle: pings(results.raw.latency?.results?.timings), down: side('download'), up: side('upload')},
  };
  process.stdout.write(JSON.stringify(whole) + '\n', () => process.exit(0));
};
test.play();
