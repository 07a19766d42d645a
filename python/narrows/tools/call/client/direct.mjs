// Two ends with nobody between them: an RTCPeerConnection, and the mailbox of the server that the page comes from.

// What both ends may send before they know what the path bears, as applications tell libwebrtc: in the other's SDP.
export function withInitial(sdp, bps) {
  if (!bps) return sdp;
  const said = `x-google-start-bitrate=${Math.round(bps / 1000)}`;
  return sdp.split(/(?=^m=)/m).map((section) => {
    if (!section.startsWith('m=video')) return section;
    const payloads = [...section.matchAll(/^a=rtpmap:(\d+) (?!rtx|red|ulpfec|flexfec)/gmi)].map((match) => match[1]);
    for (const payload of payloads) {
      const line = new RegExp(`^a=fmtp:${payload} (.*?)(\r?)$`, 'm');
      section = line.test(section) ? section.replace(line, `a=fmtp:${payload} $1;${said}$2`)
        : section.replace(new RegExp(`^(a=rtpmap:${payload} .*?)(\r?\n)`, 'm'), `$1$2a=fmtp:${payload} ${said}$2`);
    }
    return section;
  }).join('');
}

export async function join({me, most, initial, codecs, degradation, sends, audio, pause, camera, say, onTrack}) {
  const other = me === 'caller' ? 'callee' : 'caller';
  const peer = new RTCPeerConnection();
  const put = (message) => fetch(`put/${other}`, {method: 'POST', body: JSON.stringify(message)});
  peer.onicecandidate = (event) => { if (event.candidate) put({candidate: event.candidate}); };
  peer.oniceconnectionstatechange = () => say('ice', {state: peer.iceConnectionState});
  peer.onconnectionstatechange = () => {
    say('connection', {state: peer.connectionState});
    if (peer.connectionState === 'failed') say('fault', {message: 'the connection failed'});
  };
  peer.ontrack = ({track}) => onTrack(track);
  let picture = null, sender = null, isPaused = false;

  const prefer = (transceiver) => { if (codecs) transceiver.setCodecPreferences(codecs); };
  async function begin() {
    const stream = await camera();
    for (const track of stream?.getTracks() ?? []) {
      const made = peer.addTrack(track, stream);
      if (track.kind !== 'video') continue;
      [picture, sender] = [track, made];
      const parameters = sender.getParameters();
      if (!parameters.encodings?.length) parameters.encodings = [{}];
      parameters.encodings[0].maxBitrate = most;
      if (degradation) parameters.degradationPreference = degradation;
      await sender.setParameters(parameters);
      if (isPaused) await sender.replaceTrack(null);
    }
    if (!stream && me === 'caller') for (const kind of audio ? ['audio', 'video'] : ['video']) peer.addTransceiver(kind, {direction: 'recvonly'});
    for (const one of peer.getTransceivers()) if (one.receiver.track.kind === 'video') prefer(one);
  }
  async function hear(description) {
    await peer.setRemoteDescription({type: description.type, sdp: withInitial(description.sdp, initial)});
    if (me === 'caller') return;
    await begin();
    await peer.setLocalDescription(await peer.createAnswer());
    await put({description: peer.localDescription});
  }
  (async () => {
    const early = [];
    for (;;) {
      const reply = await fetch(`get/${me}`).catch(() => null);
      if (reply === null) return say('mailbox', {state: 'gone'});
      if (reply.status !== 200) continue;
      const message = await reply.json();
      if (message.description) {
        await hear(message.description);
        for (const candidate of early.splice(0)) await peer.addIceCandidate(candidate);
      } else if (peer.remoteDescription) {
        await peer.addIceCandidate(message.candidate);
      } else {
        early.push(message.candidate);
      }
    }
  })();
  if (me === 'caller') {
    await begin();
    await peer.setLocalDescription(await peer.createOffer());
    await put({description: peer.localDescription});
  }
  return {
    reports: async () => [await peer.getStats()],
    pause: (paused) => { isPaused = paused; return sender?.replaceTrack(paused ? null : picture); },
  };
}
