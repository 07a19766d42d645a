// An independent HTTP/2 client (Node's own) of our responsiveness server. Prints one JSON object.
// Usage: node rpm_node_client.mjs https://HOST:PORT
import http2 from "node:http2";

const session = http2.connect(process.argv[2], { rejectUnauthorized: false });
session.on("error", (error) => { console.error(String(error)); process.exit(1); });

// A whole exchange; `most` ends it early, as these tests do.
function exchange(headers, { body = null, most = Infinity } = {}) {
  return new Promise((resolve, reject) => {
    const stream = session.request(headers, { endStream: body === null });
    let status = 0, type = "", length = "", bytes = 0;
    const chunks = [];
    stream.on("response", (h) => { status = h[":status"]; type = h["content-type"]; length = h["content-length"]; });
    stream.on("data", (chunk) => {
      bytes += chunk.length;
      if (most === Infinity) chunks.push(chunk);
      if (bytes >= most) stream.close(http2.constants.NGHTTP2_CANCEL);
    });
    stream.on("error", reject);
    stream.on("close", () => resolve({ status, type, length, bytes, text: Buffer.concat(chunks).toString() }));
    if (body !== null) stream.end(body);
  });
}

const get = (path) => ({ ":path": path });
const config = await exchange(get("/.well-known/nq"));
const urls = JSON.parse(config.text).urls;
const path = (name) => new URL(urls[name]).pathname;
// A small request while the large one runs on the same connection: what a self probe is.
const loading = exchange(get(path("large_download_url")), { most: 5_000_000 });
const small = await exchange(get(path("small_download_url")));
const large = await loading;
const post = { ":method": "POST", ":path": path("upload_url") };
const upload = await exchange(post, { body: Buffer.alloc(3_000_000) });
const unknown = await exchange(get("/nothing"));
const wrong = await exchange({ ":method": "POST", ":path": path("small_download_url") }, { body: "x" });
session.close();
console.log(JSON.stringify({ config, small, large: { ...large, text: "" }, upload, unknown, wrong }));
