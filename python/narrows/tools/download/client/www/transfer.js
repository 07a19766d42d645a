// What is fetched when: the same in a page and in Node.js. `get(first, last, onBytes)` fetches a range.

export function transfer(asked, get, say) {
  const [connections, chunk, bytes] = [asked.connections, asked.chunk, asked.bytes].map(Number);
  const batches = asked.batches === '1';
  const state = {received: 0, chunks: 0, batches: 0, waited_ms: 0};
  let next = 0;
  const one = async () => {
    if (next >= bytes) next = 0; // the file is through: from its beginning again
    const first = next;
    next = Math.min(bytes, first + chunk);
    await get(first, next - 1, (n) => { state.received += n; });
    state.chunks += 1;
    return Date.now();
  };
  const all = Array.from({length: connections});
  const inBatches = async () => {
    for (;;) {
      const ends = await Promise.all(all.map(one));
      const last = Math.max(...ends);
      // What connections stood idle because one of them was not done: the barrier's cost.
      state.waited_ms += ends.reduce((sum, end) => sum + last - end, 0) / connections;
      state.batches += 1;
    }
  };
  const each = async () => { for (;;) await one(); };
  Promise.all(batches ? [inBatches()] : all.map(each)).catch((error) => say('fault', {message: error.message}));
  return state;
}
