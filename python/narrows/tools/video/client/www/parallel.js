// Loaders that fetch a segment as several byte ranges at once, each over a connection of its own: the way of services
// that use several flows. A browser opens up to six connections to a host over HTTP/1.1.

async function fetchInParts(url, flows, signal, onProgress) {
  const head = await fetch(url, {method: 'HEAD', signal});
  const total = Number(head.headers.get('Content-Length'));
  if (!head.ok || !total) throw new Error(`${url}: ${head.status}`);
  const size = Math.ceil(total / flows);
  const whole = new Uint8Array(total);
  let loaded = 0;
  await Promise.all(Array.from({length: flows}, async (_, n) => {
    const [first, last] = [n * size, Math.min(total, (n + 1) * size) - 1];
    if (first > last) return;
    const answer = await fetch(url, {headers: {Range: `bytes=${first}-${last}`}, signal, cache: 'no-store'});
    if (!answer.ok) throw new Error(`${url}: ${answer.status}`);
    let at = first;
    for (const reader = answer.body.getReader();;) {
      const {done, value} = await reader.read();
      if (done) break;
      whole.set(value, at);
      at += value.length;
      loaded += value.length;
      onProgress?.(loaded, total);
    }
  }));
  return whole.buffer;
}

export const parallel = {
  hls(Hls, flows) {
    return class {
      constructor() {
        this.stopper = new AbortController();
        this.context = null;
        // hls.js puts the fragment's own in its place: it is changed, never replaced.
        this.stats = {aborted: false, loaded: 0, retry: 0, total: 0, chunkCount: 0, bwEstimate: 0,
          loading: {start: 0, first: 0, end: 0}, parsing: {start: 0, end: 0}, buffering: {start: 0, first: 0, end: 0}};
      }
      load(context, config, callbacks) {
        this.context = context;
        this.stats.loading.start = performance.now();
        const progress = (loaded, total) => {
          this.stats.loading.first ||= performance.now();
          Object.assign(this.stats, {loaded, total});
        };
        fetchInParts(context.url, flows, this.stopper.signal, progress).then((data) => {
          this.stats.loading.end = performance.now();
          callbacks.onSuccess({url: context.url, data, code: 200}, this.stats, context, null);
        }, (error) => {
          if (!this.stats.aborted) callbacks.onError({code: 0, text: error.message}, context, null, this.stats);
        });
      }
      abort() { this.stats.aborted = true; this.stopper.abort(); }
      // Also called when all went well: what was measured must stay as it is.
      destroy() { this.stopper.abort(); }
      getCacheAge() { return null; }
      getResponseHeader() { return null; }
    };
  },
  shaka(shaka, flows) {
    const {NetworkingEngine} = shaka.net;
    const plugin = (uri, request, type, onProgress) => {
      const stopper = new AbortController();
      const whole = type === NetworkingEngine.RequestType.SEGMENT;
      const begun = performance.now();
      let [before, had] = [begun, 0];
      const fetched = async () => {
        const data = whole
          ? await fetchInParts(uri, flows, stopper.signal, (loaded, total) => {
            const now = performance.now();
            // Of the time since the last report: how long it was, and what came in it.
            if (now > before + 100 || loaded === total) {
              onProgress(now - before, loaded - had, total - loaded);
              [before, had] = [now, loaded];
            }
          })
          : await (await fetch(uri, {signal: stopper.signal})).arrayBuffer();
        return {uri, originalUri: uri, originalRequest: request, status: 200, data, headers: {}, timeMs: performance.now() - begun, fromCache: false};
      };
      return new shaka.util.AbortableOperation(fetched(), () => { stopper.abort(); return Promise.resolve(); });
    };
    NetworkingEngine.registerScheme('http', plugin, NetworkingEngine.PluginPriority.APPLICATION, true);
  },
};
