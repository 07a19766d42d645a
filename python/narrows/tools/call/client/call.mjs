// One end of a call: the camera, what is seen of the other end, and what the browser says of both. How the two ends
// come together is direct.mjs', or the SFU's own join.mjs.

import {Seen, watch} from './seen.mjs';
import {described} from './stats.mjs';

const query = new URLSearchParams(location.search);
const number = (name) => Number(query.get(name));
const asked = {
  me: query.get('role'), height: number('height'), most: number('most'), initial: number('initial'), codec: query.get('codec'),
  degradation: query.get('degradation'), sends: query.get('sends') === '1', audio: query.get('audio') === '1',
  sampleMs: number('sample'), pause: query.get('pause') ? query.get('pause').split('-').map(Number) : [], sfu: query.get('sfu'),
};
const say = (kind, what = {}) => tell(JSON.stringify({kind, at_ms: performance.timeOrigin + performance.now(), ...what}));
addEventListener('error', (event) => say('fault', {message: event.message}));
addEventListener('unhandledrejection', (event) => say('fault', {message: String(event.reason?.message ?? event.reason)}));

// The browser's codecs of video under the name that was asked for, and what goes with any.
function codecs() {
  if (!asked.codec) return null;
  const all = RTCRtpReceiver.getCapabilities('video').codecs;
  const extra = all.filter((one) => /\/(rtx|red|ulpfec|flexfec)/i.test(one.mimeType));
  const wanted = all.filter((one) => one.mimeType.toUpperCase() === `VIDEO/${asked.codec}`);
  if (wanted.length) return [...wanted, ...extra];
  const has = [...new Set(all.filter((one) => !extra.includes(one)).map((one) => one.mimeType.slice(6)))];
  throw new Error(`this browser has no ${asked.codec}: it has ${has.join(', ')}`);
}

say('camera', {height: asked.height});
const seen = new Seen(document.getElementById('v'), asked.sampleMs, say);
const taken = [];
async function camera() {
  if (!asked.sends) return null;
  const stream = await navigator.mediaDevices.getUserMedia(
    {video: {height: {exact: asked.height}, width: {ideal: Math.round(asked.height * 16 / 9)}, frameRate: 30}, audio: asked.audio});
  watch(stream.getVideoTracks()[0].clone(), taken);
  return stream;
}

const {join} = await import(asked.sfu ? './sfu/join.mjs' : './direct.mjs');
const call = await join({...asked, codecs: codecs(), camera, say, onTrack: (track) => seen.add(track)});
asked.pause.forEach((seconds, n) => setTimeout(() => { say('pause', {paused: n === 0}); call.pause(n === 0); }, 1000 * seconds));

window.state = async () => described(await call.reports());
setInterval(async () => {
  const state = await window.state();
  say('state', state);
  for (const way of ['sent', 'received']) {
    const codec = state[way]?.codec;
    if (asked.codec && codec && codec !== asked.codec) say('fault', {message: `the picture is ${way} as ${codec}, and not as ${asked.codec}`});
  }
  say('frames', {shown: seen.shown.splice(0), taken: taken.splice(0)});
}, 1000);
