// A headless Chromium on its DevTools pipe: starts it with a new profile, opens a page, hears what the page tells.
// No driver and no port: two pipes of NUL-terminated JSON (--remote-debugging-pipe).

import {spawn} from 'node:child_process';
import {X509Certificate, createHash} from 'node:crypto';
import {mkdirSync, readFileSync} from 'node:fs';

const START_WITHIN_MS = 60_000;

// No sandbox: it needs user namespaces, and the guest or the machine is one already. The rest keeps the browser from
// talking to anybody but the servers under test, and from slowing down what it takes for a page in the background.
const SWITCHES = [
  '--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run', '--no-proxy-server',
  '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-default-apps',
  '--disable-extensions', '--disable-client-side-phishing-detection', '--disable-breakpad', '--metrics-recording-only',
  '--disable-background-timer-throttling', '--disable-renderer-backgrounding', '--disable-hang-monitor',
  '--password-store=basic', '--mute-audio', '--no-default-browser-check',
  '--autoplay-policy=no-user-gesture-required', '--remote-debugging-pipe',
];
const WITHOUT = ['Translate', 'OptimizationHints', 'MediaRouter', 'DialMediaRouteProvider',
  'WebRtcHideLocalIpsWithMdns', 'LocalNetworkAccessChecks'];

// `maybe`: names that may be left out.
export function options(names, maybe = []) {
  const found = {};
  const words = process.argv.slice(2);
  for (let at = 0; at < words.length; at += 2) {
    const name = words[at].replace(/^--/, '');
    if (![...names, ...maybe].includes(name) || words[at + 1] === undefined) fail(`unknown or empty option ${words[at]}`);
    found[name] = words[at + 1];
  }
  for (const name of names) if (found[name] === undefined) fail(`option --${name} is missing`);
  return found;
}

// Switches that make Chromium speak QUIC, and nothing else, to a server, and take the certificate in that file for it.
export function quicTo(url, file) {
  const key = new X509Certificate(readFileSync(file)).publicKey.export({type: 'spki', format: 'der'});
  const {hostname, port} = new URL(url);
  return [`--origin-to-force-quic-on=${hostname}:${port || 443}`,
    `--ignore-certificate-errors-spki-list=${createHash('sha256').update(key).digest('base64')}`];
}

export function tell(kind, what = {}) {
  process.stdout.write(JSON.stringify({kind, at_ms: Date.now(), ...what}) + '\n');
}

export function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

export class Browser {
  // `resolve`: Chromium's --host-resolver-rules. Whatever ends the browser or one of its processes is `onDeath`'s.
  constructor(program, profile, {resolve, size = [1920, 1080], quic = false, more = [], onDeath = fail}) {
    this.program = program;
    this.waiting = new Map();
    this.listeners = [];
    this.next = 1;
    this.heard = '';
    this.closing = false;
    this.onDeath = onDeath;
    mkdirSync(profile, {recursive: true});
    const switches = [...SWITCHES, quic ? '--enable-quic' : '--disable-quic', `--disable-features=${WITHOUT.join(',')}`, `--host-resolver-rules=${resolve}`,
      `--window-size=${size.join(',')}`, '--force-device-scale-factor=1', `--user-data-dir=${profile}`, ...more, 'about:blank'];
    // Its own process group: it has many processes, and all of them end with it.
    this.child = spawn(program, switches, {detached: true, stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'],
      env: {...process.env, HOME: profile, XDG_RUNTIME_DIR: profile}});
    this.child.stderr.on('data', (text) => { this.heard = (this.heard + text).slice(-2000); });
    this.child.on('error', (error) => this.died(`${program} cannot be started: ${error.message}`));
    this.child.on('exit', (code, signal) => this.died(`${program} ended (${signal ?? code}): ${this.lastWords()}`));
    this.child.stdio[3].on('error', () => {});
    let rest = '';
    this.child.stdio[4].setEncoding('utf8').on('data', (text) => {
      const parts = (rest + text).split('\0');
      rest = parts.pop();
      for (const part of parts) this.message(JSON.parse(part));
    });
  }

  lastWords() { return this.heard.trim().split('\n').pop(); }

  died(why) {
    if (this.closing) return;
    this.closing = true;
    this.onDeath(why);
  }

  message(said) {
    const waiting = this.waiting.get(said.id);
    if (waiting) {
      this.waiting.delete(said.id);
      if (said.error) waiting.failed(new Error(`${waiting.method}: ${said.error.message}`));
      else waiting.done(said.result);
    } else if (said.method === 'Target.targetCrashed' || said.method === 'Inspector.targetCrashed') {
      this.died(`a process of ${this.program} crashed`);
    } else {
      for (const [method, listener] of this.listeners) if (method === said.method) listener(said.params);
    }
  }

  send(method, params = {}, sessionId = this.session) {
    const id = this.next++;
    this.child.stdio[3].write(JSON.stringify({id, method, params, ...(sessionId ? {sessionId} : {})}) + '\0');
    return new Promise((done, failed) => this.waiting.set(id, {method, done, failed}));
  }

  on(method, listener) { this.listeners.push([method, listener]); }

  // A tab whose page may call tell(text); the browser's version and its processes are known afterwards.
  async open(onTold) {
    const patience = setTimeout(
      () => this.died(`${this.program} does not answer within 60 s: ${this.lastWords()}`), START_WITHIN_MS);
    this.version = (await this.send('Browser.getVersion')).product;
    await this.send('Target.setDiscoverTargets', {discover: true});
    const {targetId} = await this.send('Target.createTarget', {url: 'about:blank'});
    this.session = (await this.send('Target.attachToTarget', {targetId, flatten: true})).sessionId;
    await this.send('Page.enable');
    await this.send('Runtime.enable');
    this.on('Runtime.bindingCalled', (params) => onTold?.(JSON.parse(params.payload)));
    await this.send('Runtime.addBinding', {name: 'tell'});
    clearTimeout(patience);
  }

  // Resolves once the page's load event has come.
  async go(url, {withinMs = 60_000, loaded = true} = {}) {
    let patience;
    const event = new Promise((done, failed) => {
      this.on('Page.loadEventFired', done);
      patience = setTimeout(() => failed(new Error(`${url} has not loaded within ${withinMs / 1000} s`)), withinMs);
    });
    const {errorText} = await this.send('Page.navigate', {url});
    if (errorText) throw new Error(`${url} cannot be loaded: ${errorText}`);
    if (loaded) await event;
    clearTimeout(patience);
    event.catch(() => {});
  }

  async evaluate(expression) {
    const {result, exceptionDetails} = await this.send(
      'Runtime.evaluate', {expression, awaitPromise: true, returnByValue: true});
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  // The ids of its processes by type: one that died and was started again has another.
  async processes() {
    const {processInfo} = await this.send('SystemInfo.getProcessInfo', {}, null);
    return processInfo.map(({type, id}) => `${type} ${id}`).sort();
  }

  close() {
    this.closing = true;
    try {
      process.kill(-this.child.pid, 'SIGKILL');
    } catch {
      // it has ended
    }
  }
}
