// What a browser's getStats() says of a call, in our words. What it does not say is null.

const or = (value) => value ?? null;

// `reports`: of each connection of the end. Of simulcast what is sent is the sum of the layers, of the highest picture.
export function described(reports) {
  const said = {received: null, sent: null, heard: null, spoken: null, rtt_ms: null, available_bps: null};
  for (const report of reports) add(said, [...report.values()]);
  return said;
}

const SUMS = ['bytes', 'packets', 'again', 'encoded', 'nacks', 'plis', 'target_bps'];

function add(said, all) {
  const codecs = new Map(all.filter((one) => one.type === 'codec').map((one) => [one.id, one.mimeType.replace(/^\w+\//, '')]));
  for (const one of all) {
    if (one.type === 'inbound-rtp' && one.kind === 'video') said.received = {
      codec: or(codecs.get(one.codecId)), height: or(one.frameHeight), frame_rate: or(one.framesPerSecond),
      bytes: one.bytesReceived + one.headerBytesReceived, packets: one.packetsReceived, lost: one.packetsLost,
      again: or(one.retransmittedPacketsReceived), fec: or(one.fecPacketsReceived), nacks: or(one.nackCount), plis: or(one.pliCount), firs: or(one.firCount),
      freezes: or(one.freezeCount), frozen_s: or(one.totalFreezesDuration),
      decoded: one.framesDecoded, dropped: one.framesDropped, qp_sum: or(one.qpSum),
      buffer_s: or(one.jitterBufferDelay), buffered: or(one.jitterBufferEmittedCount), jitter_ms: 1000 * one.jitter};
    if (one.type === 'outbound-rtp' && one.kind === 'video') {
      const layer = {
        codec: or(codecs.get(one.codecId)), encoder: or(one.encoderImplementation), layers: one.active === false ? 0 : 1,
        height: or(one.frameHeight), frame_rate: or(one.framesPerSecond), target_bps: or(one.targetBitrate),
        bytes: one.bytesSent + one.headerBytesSent, packets: one.packetsSent, again: or(one.retransmittedPacketsSent), encoded: or(one.framesEncoded),
        nacks: or(one.nackCount), plis: or(one.pliCount), qp_sum: or(one.qpSum), changes: or(one.qualityLimitationResolutionChanges),
        limited_by: or(one.qualityLimitationReason), limited_s: or(one.qualityLimitationDurations)};
      const other = said.sent;
      said.sent = other === null || (layer.height ?? 0) > (other.height ?? 0) ? layer : other;
      if (other !== null) for (const name of [...SUMS, 'layers']) {
        said.sent[name] = layer[name] === null && other[name] === null ? null : layer[name] + other[name];
      }
    }
    if (one.type === 'inbound-rtp' && one.kind === 'audio') said.heard = {
      bytes: one.bytesReceived + one.headerBytesReceived, packets: one.packetsReceived, lost: one.packetsLost,
      samples: one.totalSamplesReceived, concealed: one.concealedSamples,
      buffer_s: or(one.jitterBufferDelay), buffered: or(one.jitterBufferEmittedCount)};
    if (one.type === 'outbound-rtp' && one.kind === 'audio') said.spoken = {
      bytes: one.bytesSent + one.headerBytesSent, packets: one.packetsSent};
    if (one.type === 'candidate-pair' && one.nominated) {
      said.rtt_ms = one.currentRoundTripTime === undefined ? null : 1000 * one.currentRoundTripTime;
      said.available_bps = or(one.availableOutgoingBitrate);
    }
  }
}
