# SPDX-License-Identifier: BSD-3-Clause
"""A web site of somebody else, and the administrator's forwarded port, for a browser to meet:

    foreign_page.py SOCKET LEASE BOX

Forwards a port to the broker's unix socket, as `ssh -L` does, but answers /attack itself: there the
site's page lies under the forwarded port, as it does once its name has been made to resolve to the
administrator's machine. A second port has the same page. Prints "ports FORWARDED OTHER". The page
tries to revoke LEASE, drain BOX and read the keys of BOX, and then says so in its title; a key that it
could read is in its text.
"""
import http.server
import socket
import sys
import threading

PAGE = """<!DOCTYPE html><title>at work</title><p id=keys>none</p>
<iframe name=elsewhere></iframe>
<form id=revoke method=post target=elsewhere action="%(at)s/v1/leases/%(lease)s/revoke"></form>
<form id=drain method=post target=elsewhere enctype="text/plain" action="%(at)s/v1/boxes/%(box)s/drain">
<input name='{"reason":"' value='"}'></form>
<script>
async function attack() {
  const at = "%(at)s", answers = [];
  async function attempt(method, path, mode, type, body) {
    try {
      const answer = await fetch(at + path, {method, mode, body, headers: type ? {"Content-Type": type} : {}});
      answers.push(answer.status);
      return await answer.text();
    } catch (error) {
      answers.push("blocked");
      return "";
    }
  }
  for (const mode of ["no-cors", "cors"]) {
    await attempt("POST", "/v1/leases/%(lease)s/revoke", mode);
    await attempt("POST", "/v1/boxes/%(box)s/drain", mode, "text/plain", "{}");
    await attempt("POST", "/v1/boxes/%(box)s/drain", mode, "application/json", "{}");
    const keys = await attempt("GET", "/v1/boxes/%(box)s/key", mode);
    if (keys.includes("keys"))
      document.getElementById("keys").textContent = keys;
  }
  for (const id of ["revoke", "drain"]) {
    const loaded = new Promise(resolve => document.querySelector("iframe").onload = resolve);
    document.getElementById(id).submit();
    await loaded;
  }
  document.body.append(answers.join(" "));
  document.title = "done";
}
attack();
</script>"""


def page(at):
    return (PAGE % {"at": at, "lease": sys.argv[2], "box": sys.argv[3]}).encode()


class OtherSite(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = page("http://localhost:%d" % forwarded.getsockname()[1])
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


def copy(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def serve(browser):
    data = browser.recv(65536)
    if data.startswith(b"GET /attack"):
        body = page("")
        browser.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n"
                        b"Content-Length: %d\r\n\r\n" % len(body) + body)
        browser.close()
        return
    broker = socket.socket(socket.AF_UNIX)
    broker.connect(sys.argv[1])
    broker.sendall(data)
    threading.Thread(target=copy, args=(browser, broker), daemon=True).start()
    copy(broker, browser)


forwarded = socket.create_server(("127.0.0.1", 0))
other = http.server.ThreadingHTTPServer(("127.0.0.1", 0), OtherSite)
threading.Thread(target=other.serve_forever, daemon=True).start()
print("ports %d %d" % (forwarded.getsockname()[1], other.server_port), flush=True)
while True:
    threading.Thread(target=serve, args=(forwarded.accept()[0],), daemon=True).start()
