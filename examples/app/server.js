// A server without dependencies that keeps its notes in a file beside it.
const http = require("node:http");
const fs = require("node:fs");

const FILE = "notes.json";
const notes = fs.existsSync(FILE) ? JSON.parse(fs.readFileSync(FILE, "utf8")) : [];
const escape = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

const page = () => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,">
<title>Notes</title>
<h1>Notes</h1>
<form method="post" action="/notes">
  <label>New note <input name="note" autocomplete="off" required></label>
  <button>Add</button>
</form>
<ul aria-label="Notes">${notes.map((note) => `<li>${escape(note)}</li>`).join("")}</ul>
</html>`;

http
  .createServer((request, response) => {
    if (request.method === "POST" && request.url === "/notes") {
      let body = "";
      request.on("data", (part) => (body += part));
      request.on("end", () => {
        notes.push(new URLSearchParams(body).get("note") ?? "");
        fs.writeFileSync(FILE, JSON.stringify(notes));
        response.writeHead(303, { location: "/" }).end();
      });
    } else if (request.url === "/health") {
      response.end("ok");
    } else if (request.url === "/") {
      response.writeHead(200, { "content-type": "text/html" }).end(page());
    } else {
      response.writeHead(404).end();
    }
  })
  .listen(Number(process.env.PORT), "127.0.0.1", () => console.log("listening on", process.env.PORT));
