// One end of a call through LiveKit, as an application with its client would join: simulcast, no adaptive stream (the
// picture is wanted whole, whatever the size of the element).

import {ConnectionState, Room, RoomEvent, Track} from './node_modules/livekit-client/dist/livekit-client.esm.mjs';

const [KEY, SECRET] = ['narrows', 'narrows-narrows-narrows-narrows-narrows'];

const packed = (bytes) => btoa(String.fromCharCode(...bytes)).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
const bytesOf = (text) => new TextEncoder().encode(text);

// Who may enter the room, signed by the server's key.
async function token(identity) {
  const now = Math.floor(Date.now() / 1000);
  const claims = {iss: KEY, sub: identity, nbf: now - 60, exp: now + 86400, video: {room: 'call', roomJoin: true, canPublish: true, canSubscribe: true}};
  const text = [{alg: 'HS256', typ: 'JWT'}, claims].map((part) => packed(bytesOf(JSON.stringify(part)))).join('.');
  const key = await crypto.subtle.importKey('raw', bytesOf(SECRET), {name: 'HMAC', hash: 'SHA-256'}, false, ['sign']);
  return `${text}.${packed(new Uint8Array(await crypto.subtle.sign('HMAC', key, bytesOf(text))))}`;
}

export async function join({me, sfu, most, codec, degradation, camera, say, onTrack}) {
  const room = new Room({adaptiveStream: false, dynacast: false});
  room.on(RoomEvent.ConnectionStateChanged, (state) => say('connection', {state: state === ConnectionState.Connected ? 'connected' : state}));
  room.on(RoomEvent.TrackSubscribed, (track) => onTrack(track.mediaStreamTrack));
  room.on(RoomEvent.Disconnected, (reason) => say('sfu', {state: 'gone', reason}));
  say('ice', {state: 'checking'});
  try {
    await room.connect(`ws://${sfu}`, await token(me));
  } catch (error) {
    throw new Error(`the SFU at ${sfu} lets nobody in: ${error.message}`);
  }
  const stream = await camera();
  let picture = null;
  for (const track of stream?.getTracks() ?? []) {
    const isVideo = track.kind === 'video';
    const made = await room.localParticipant.publishTrack(track, {
      source: isVideo ? Track.Source.Camera : Track.Source.Microphone, simulcast: true, backupCodec: false,
      ...(isVideo ? {videoEncoding: {maxBitrate: most, maxFramerate: 30}} : {}),
      ...(codec ? {videoCodec: codec.toLowerCase()} : {}), ...(degradation ? {degradationPreference: degradation} : {})});
    if (isVideo) picture = made;
  }
  const {pcManager} = room.engine;
  return {
    reports: () => Promise.all([pcManager.publisher, pcManager.subscriber].filter(Boolean).map((one) => one.getStats())),
    pause: (paused) => (paused ? picture?.mute() : picture?.unmute()),
  };
}
