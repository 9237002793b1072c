// The loopback site of the bench: the notes page, and a page of many rows made on request (/rows?n=10000).
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";

const notes = readFileSync(new URL("../app/index.html", import.meta.url));

/** A page of `count` rows; row n is reached by role, label, text, placeholder, test id and CSS alike. */
export function rowsPage(count) {
  const rows = Array.from({ length: count }, (_, n) =>
    `<li data-testid="row-${n}" id="row-${n}"><span>Item ${n}.</span> <label>Amount ${n}. <input placeholder="Amount of ${n}."></label> <button>Open ${n}.</button></li>`);
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Rows</title><link rel="icon" href="data:,"></head>
<body><h1>${count} rows</h1><ul>\n${rows.join("\n")}\n</ul></body></html>`;
}

export async function serve() {
  const rows = new Map();
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url, "http://bench");
    const count = Number(searchParams.get("n") ?? 10000);
    if (pathname === "/rows" && !rows.has(count)) rows.set(count, rowsPage(count));
    const body = pathname === "/" ? notes : pathname === "/rows" ? rows.get(count) : undefined;
    response.writeHead(body ? 200 : 404, { "content-type": "text/html; charset=utf-8", "cache-control": "no-store" });
    response.end(body ?? "not here");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
