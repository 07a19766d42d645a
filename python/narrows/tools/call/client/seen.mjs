// Which frames were taken and shown, and when: the number that stands in each picture, read back.

import {CELLS, across, down, numberOf} from './stamp.mjs';

const now = () => performance.timeOrigin + performance.now();

async function luma(frame, rect) {
  const data = new Uint8Array(frame.allocationSize({rect}));
  const [{offset, stride}] = await frame.copyTo(data, {rect});
  return {data, offset, stride};
}

async function stamped(frame) {
  const rect = {x: 0, y: 0, width: across(frame.visibleRect.width), height: down(frame.visibleRect.height)};
  const {data, offset, stride} = await luma(frame, rect);
  return numberOf((cell) => data[offset + stride * (rect.height >> 1) + Math.floor((cell + 0.5) * rect.width / CELLS)]);
}

// The camera's frames as they come, [number, time] each.
export async function watch(track, taken) {
  for await (const frame of new MediaStreamTrackProcessor({track}).readable) {
    const at = now();
    taken.push([await stamped(frame), at]);
    frame.close();
  }
}

// What a video element shows: [number, time, lines] of each frame; the number is null where it cannot be read. Every
// `sampleMs` a whole picture is handed on; 0: none.
export class Seen {
  shown = [];
  stream = new MediaStream();
  sampled = -Infinity;
  constructor(video, sampleMs, say) { Object.assign(this, {video, sampleMs, say}); }

  add(track) {
    if (track.kind === 'video') for (const old of this.stream.getVideoTracks()) this.stream.removeTrack(old);
    this.stream.addTrack(track);
    this.video.srcObject = this.stream;
    if (track.kind === 'video' && !this.watching) {
      this.watching = true;
      this.next();
    }
  }

  next() { this.video.requestVideoFrameCallback((_, told) => { this.next(); this.frame(told); }); }

  async frame({expectedDisplayTime, height}) {
    const at = performance.timeOrigin + expectedDisplayTime;
    const entry = [null, at, height];
    this.shown.push(entry);
    let frame;
    try {
      frame = new VideoFrame(this.video);
    } catch {
      return;  // the picture is just changing its size
    }
    try {
      entry[0] = await stamped(frame);
      if (this.sampleMs && entry[0] !== null && at >= this.sampled + this.sampleMs) {
        this.sampled = at;
        await this.picture(frame, entry[0]);
      }
    } finally {
      frame.close();
    }
  }

  async picture(frame, number) {
    const {width, height} = frame.visibleRect;
    const {data, offset, stride} = await luma(frame, {x: 0, y: 0, width, height});
    const packed = new Uint8Array(width * height);
    for (let y = 0; y < height; y++) packed.set(data.subarray(offset + y * stride, offset + y * stride + width), y * width);
    this.say('picture', {number, width, height, luma: packed.toBase64()});
  }
}
