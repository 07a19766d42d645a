// What the test is, and what is reported of it: the same under Node and in a browser. It measures nothing itself.
//
// Deviations from the page at speed.cloudflare.com, all by the library's own configuration: no packet loss test (it
// needs WebRTC and a TURN server), and nothing is logged to Cloudflare.

export function configuration(origin) {
  return {
    autoStart: false,
    downloadApiUrl: `${origin}/__down`,
    uploadApiUrl: `${origin}/__up`,
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
  };
}

// Runs the test; the answer is {whole} or {error}.
export function measure(SpeedTest, origin, client) {
  return new Promise((done) => {
    const test = new SpeedTest(configuration(origin));
    test.onError = (message) => done({error: String(message)});
    test.onFinish = (results) => {
      const summary = results.getSummary();
      if (!(summary.download > 0) && !(summary.upload > 0)) return done({error: 'no transfer was measured'});
      const requests = (points) => (points ?? []).map((point) => (
        {bytes: point.bytes, bps: point.bps, duration_ms: point.duration, ping_ms: point.ping, at_ms: point.measTime.getTime()}));
      const pings = (timings) => (timings ?? []).map((timing) => [timing.measTime.getTime(), timing.ping]);
      const side = (type) => pings(Object.values(results.raw[type]?.results ?? {}).flatMap((each) => each.sideLatency ?? []));
      done({whole: {
        client, server: origin, summary, scores: results.getScores(),
        download: requests(results.getDownloadBandwidthPoints()),
        upload: requests(results.getUploadBandwidthPoints()),
        pings: {idle: pings(results.raw.latency?.results?.timings), down: side('download'), up: side('upload')},
      }});
    };
    test.play();
  });
}
