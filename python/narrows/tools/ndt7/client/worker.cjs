// Runs one of the client's Web Worker scripts inside a Node worker thread: gives it `self`, `postMessage` and
// `WebSocket` as a browser would, and changes nothing of the script itself.
'use strict';

const {readFileSync} = require('node:fs');
const {parentPort, workerData} = require('node:worker_threads');
const vm = require('node:vm');
const WebSocket = require('ws');

class BrowserWebSocket extends WebSocket {
  constructor(url, protocols) {
    super(url, protocols, {rejectUnauthorized: !workerData.insecure});
    // What a browser's error event does not tell, and a person needs: why.
    this.on('error', (error) => parentPort.postMessage({MsgType: 'detail', Detail: error.message}));
  }
}

globalThis.self = globalThis;
globalThis.WebSocket = BrowserWebSocket;
globalThis.postMessage = (message) => parentPort.postMessage(message);
vm.runInThisContext(readFileSync(workerData.script, 'utf8'), {filename: workerData.script});
parentPort.on('message', (data) => globalThis.onmessage({data}));
