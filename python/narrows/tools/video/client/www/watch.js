// Plays the ladder with the player of the page's address (?player=…&flows=…), and tells once a second how it goes.

import {parallel} from './parallel.js';

const asked = new URLSearchParams(location.search);
const flows = Number(asked.get('flows'));
const video = document.getElementById('v');
const say = (kind, what = {}) => tell(JSON.stringify({kind, at_ms: performance.timeOrigin + performance.now(), ...what}));
addEventListener('error', (event) => say('fault', {message: event.message}));
addEventListener('unhandledrejection', (event) => say('fault', {message: String(event.reason)}));

// Each gives the bitrate (bit/s) of the rung that is being played, or null.
const players = {
  'dash.js'() {
    const player = dashjs.MediaPlayer().create();
    player.updateSettings({streaming: {abr: {limitBitrateByPortal: false}}});
    player.on('error', (event) => say('fault', {message: String(event.error?.message ?? event.error)}));
    player.initialize(video, 'media/m.mpd', true);
    return () => {
      const now = player.getCurrentRepresentationForType('video');
      return now ? now.bandwidth ?? now.bitrateInKbit * 1000 : null;
    };
  },
  'hls.js'() {
    const settings = {capLevelToPlayerSize: false, startLevel: -1, testBandwidth: true};
    if (flows > 1) settings.fLoader = parallel.hls(Hls, flows);
    const player = new Hls(settings);
    player.on(Hls.Events.ERROR, (_, data) => data.fatal && say('fault', {message: `${data.type}: ${data.details}: ${data.error?.message}`}));
    player.loadSource(new URL('media/master.m3u8', location).href);
    player.attachMedia(video);
    return () => player.levels[player.currentLevel]?.bitrate ?? null;
  },
  async shaka() {
    shaka.polyfill.installAll();
    if (flows > 1) parallel.shaka(shaka, flows);
    const player = new shaka.Player();
    await player.attach(video);
    player.configure({abr: {restrictToElementSize: false}});
    player.addEventListener('error', (event) => say('fault', {message: `shaka ${event.detail.code ?? event.detail.message}`}));
    await player.load(new URL('media/m.mpd', location).href);
    return () => player.getVariantTracks().find((track) => track.active)?.bandwidth ?? null;
  },
};

let stalledSince = null;
let started = false;
video.addEventListener('playing', () => {
  if (!started) say('started', {after_ms: performance.now()});
  else if (stalledSince !== null) say('stalled', {for_ms: performance.now() - stalledSince});
  started = true;
  stalledSince = null;
});
video.addEventListener('waiting', () => { if (started) stalledSince ??= performance.now(); });
video.addEventListener('ended', () => say('fault', {message: 'the video came to its end'}));

const rung = await players[asked.get('player')]();
// Whether the browser believes that it can show the highest rung: players leave out what it says it cannot.
const able = await navigator.mediaCapabilities.decodingInfo({type: 'media-source', video: {
  contentType: 'video/mp4; codecs="avc1.42c028"', width: 1920, height: 1080, bitrate: Number(asked.get('top')), framerate: 30}});
say('able', {supported: able.supported, smooth: able.smooth, width: innerWidth, height: innerHeight});

window.state = () => {
  const quality = video.getVideoPlaybackQuality();
  const ahead = video.buffered.length ? video.buffered.end(video.buffered.length - 1) - video.currentTime : 0;
  return {played_s: video.currentTime, frames: quality.totalVideoFrames, dropped: quality.droppedVideoFrames,
    height: video.videoHeight, buffer_s: ahead, rung_bps: rung(),
    stalled_ms: stalledSince === null ? 0 : performance.now() - stalledSince};
};
setInterval(() => say('state', window.state()), 1000);
