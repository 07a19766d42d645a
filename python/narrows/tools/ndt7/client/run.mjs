// Runs the official JavaScript NDT7 client (@m-lab/ndt7) against one server and prints a JSON line per event and a
// summary, in the shape that `narrows-agent ndt7-client` prints. It adds no measurement of its own.
//
//   node run.mjs --server ws://HOST:PORT [--insecure] [--tests download,upload]

import {createRequire} from 'node:module';
import {fileURLToPath} from 'node:url';
import {parseArgs} from 'node:util';
import {Worker as ThreadWorker} from 'node:worker_threads';

const require = createRequire(import.meta.url);
const ndt7 = require('@m-lab/ndt7');
const version = require('@m-lab/ndt7/package.json').version;
const usage = 'usage: node run.mjs --server ws://HOST:PORT|wss://HOST:PORT [--insecure] [--tests download,upload]';

function fail(message, code) {
  process.stderr.write(`ndt7-js: ${message}\n`);
  process.exit(code);
}

function emit(key, value) {
  const line = {Key: key, monotonic_ns: 0, Value: value};
  // A bigint is no JSON number: put in as text, since a double could not carry all of it.
  const text = JSON.stringify(line).replace('"monotonic_ns":0', `"monotonic_ns":${process.hrtime.bigint()}`);
  process.stdout.write(text + '\n');
}

function readOptions() {
  let values;
  try {
    ({values} = parseArgs({options: {
      server: {type: 'string'}, insecure: {type: 'boolean', default: false},
      tests: {type: 'string', default: 'download,upload'},
    }}));
  } catch (error) {
    fail(`${error.message}; ${usage}`, 2);
  }
  const url = /^(wss?):\/\/([^\/?#@\s]+)\/?$/.exec(values.server ?? '');
  if (!url) fail(`--server ${values.server ?? '(missing)'}: not ws://HOST:PORT or wss://HOST:PORT; ${usage}`, 2);
  const tests = values.tests.split(',');
  const wrong = tests.find((test) => !['download', 'upload'].includes(test));
  if (wrong !== undefined) fail(`--tests ${values.tests}: '${wrong}' is neither download nor upload`, 2);
  return {protocol: url[1], host: url[2], insecure: values.insecure, tests};
}

const options = readOptions();
let detail = null;

// The client makes its workers by the browser's constructor: this one runs the same script in a thread of Node.
globalThis.Worker = class {
  constructor(script) {
    this.thread = new ThreadWorker(fileURLToPath(new URL('worker.cjs', import.meta.url)), {
      workerData: {script, insecure: options.insecure},
    });
    this.thread.on('message', (data) => {
      if (data.MsgType === 'detail') detail = data.Detail;
      else this.onmessage({data});
    });
    this.thread.on('error', (error) => this.onmessage({data: {MsgType: 'error', Error: error.message}}));
  }
  postMessage(data) {
    this.thread.postMessage(data);
  }
  terminate() {
    this.thread.terminate();
  }
};

function measurement(test, {Source, Data}) {
  if (Source === 'server') return {...Data, Origin: 'server', Test: test};
  const {ElapsedTime, NumBytes, MeanClientMbps} = Data;
  const app = {NumBytes, ElapsedTime: Math.round(ElapsedTime * 1e6)};
  return {AppInfo: app, MeanClientMbps, Origin: 'client', Test: test};
}

function rate(bytes, microseconds) {
  return bytes !== undefined && microseconds > 0 ? bytes * 8e6 / microseconds : null;
}

// Download: what the client received over its time. Upload: what the server received over its time.
function figures(test, last, error) {
  const app = last.client?.AppInfo;
  const tcp = last.server?.TCPInfo;
  const [bytes, elapsed] = test === 'download' ?
    [app?.NumBytes, app?.ElapsedTime] : [tcp?.BytesReceived, tcp?.ElapsedTime];
  const sender = test === 'download' ? tcp : undefined;
  return {
    test, rate_bps: rate(bytes, elapsed), bytes: bytes ?? null, elapsed_us: elapsed ?? null,
    app_bytes: app?.NumBytes ?? null, app_elapsed_us: app?.ElapsedTime ?? null,
    min_rtt_us: sender?.MinRTT ?? null, bytes_sent: sender?.BytesSent ?? null,
    bytes_retrans: sender?.BytesRetrans ?? null,
    retransmission: sender?.BytesSent > 0 ? sender.BytesRetrans / sender.BytesSent : null,
    measurements_client: last.clients, measurements_server: last.servers,
    mean_client_mbps: last.client?.MeanClientMbps ?? null, error,
  };
}

async function run(test, urls) {
  const last = {client: undefined, server: undefined, clients: 0, servers: 0};
  let error = null;
  const name = test === 'download' ? 'download' : 'upload';
  const config = {
    userAcceptedDataPolicy: true, // the policy is M-Lab's, for its servers: no datum leaves this laboratory
    downloadworkerfile: require.resolve('@m-lab/ndt7/src/ndt7-download-worker.js'),
    uploadworkerfile: require.resolve('@m-lab/ndt7/src/ndt7-upload-worker.js'),
  };
  emit('starting', {Test: test});
  const code = await ndt7[`${name}Test`](config, {
    error: (message) => { error ??= detail ?? String(message); },
    [`${name}Start`]: () => emit('connected', {Test: test, Server: options.host}),
    [`${name}Measurement`]: (event) => {
      const value = measurement(test, event);
      last[event.Source] = value;
      last[`${event.Source}s`] += 1;
      emit('measurement', value);
    },
  }, urls);
  const result = figures(test, last, error);
  if (!error && code !== 0) result.error = `the client ended with code ${code}`;
  else if (!error && !(result.rate_bps > 0)) result.error = 'no data was measured';
  if (result.error) emit('error', {Test: test, Failure: result.error});
  else emit('complete', {Test: test});
  return result;
}

const urls = ndt7.discoverServerURLs({
  server: options.host, protocol: options.protocol,
  metadata: {client_name: 'narrows-ndt7-js', client_version: version},
}, {});
const results = {};
for (const test of options.tests) results[test] = await run(test, urls);
const server = {url: options.host, tls: options.protocol === 'wss'};
emit('summary', {client: `@m-lab/ndt7 ${version}, node ${process.version}`, server, tests: results});
const failed = Object.values(results).find((result) => result.error);
if (failed) fail(`${failed.test} from ${options.host}: ${failed.error}`, 1);
process.exit(0);
