// An independent HTTP/2 server (Node's own) that a responsiveness client can test against.
// Usage: node rpm_node_server.mjs CERT KEY; prints its port, serves until its input ends.
import fs from "node:fs";
import http2 from "node:http2";

const [cert, key] = process.argv.slice(2).map((name) => fs.readFileSync(name));
const server = http2.createSecureServer({ cert, key, settings: { initialWindowSize: 1 << 24 } });
const chunk = Buffer.alloc(1 << 14);

server.on("stream", (stream, headers) => {
  stream.on("error", () => {}); // a client that has enough resets its streams
  const path = headers[":path"];
  if (path === "/.well-known/nq") {
    const base = `https://${headers[":authority"]}`;
    const urls = { small_download_url: `${base}/s`, large_download_url: `${base}/l?x=1`, upload_url: `${base}/u` };
    stream.respond({ ":status": 200, "content-type": "application/json" });
    stream.end(JSON.stringify({ version: 1, urls, unknown: true }));
  } else if (path === "/s") {
    stream.respond({ ":status": 200 });
    stream.end("x");
  } else if (path === "/l?x=1") {
    stream.respond({ ":status": 200 });
    const more = () => { while (!stream.destroyed && stream.write(chunk)); };
    stream.on("drain", more);
    more();
  } else if (path === "/u" && headers[":method"] === "POST") {
    stream.resume();
    stream.on("end", () => { if (!stream.destroyed) { stream.respond({ ":status": 200 }); stream.end(); } });
  } else {
    stream.respond({ ":status": 404 }, { endStream: true });
  }
});
server.on("sessionError", () => {});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.on("end", () => process.exit(0)).resume();
