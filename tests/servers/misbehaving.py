"""A server that speaks the chat protocol and misbehaves in the way that the name of the model says.

    python tests/servers/misbehaving.py      prints its port, then serves until it is killed

echo        says how long the question is          refusing    refuses as the protocol has it
empty       says nothing                           filtered    is cut off by a content filter
slow        takes 10 minutes                       delayed     takes 50 milliseconds
halting     never answers the 13th request         missing     404
busy        429 with Retry-After, twice            banned      429 with a Retry-After of an hour
broken      500, twice                             dead        500 for ever
dropping    closes the connection, twice           gone        closes every connection
malformed   JSON that ends too early               page        an HTML page instead of JSON
odd         JSON of another form                   picky       400 for a question with the word `bad`
letters     says A, with log-probabilities         forbidden   401 that repeats the key
lucky       says A and B in turn                   parrot      says the key
halves      half a character, NUL and escapes      parts       parts of text and thought
number      content that is a number               mapping     content that is a mapping
drawing     a part that is a picture               tool        calls a tool
cut         stops at the limit of tokens           other       answers by another name
dated       answers by its name with a date        changing    changes its name
trickle     a byte every 20 milliseconds           headers     the same, but of headers
endless     200 MB                                 bomb        50 MB in 200 KB of gzip
brotli      in an encoding nobody asked for        torn        gzip that is none
packed      in gzip                                words       log-probabilities that are words
nested      JSON nested 100,000 deep               elsewhere   sends the request on to /seen
nan         log-probabilities that are no numbers  quota       an error with status 200
mumbling    thinks and says nothing

GET /seen tells every request so far: model, question, headers, parts.
"""

import gzip
import json
import threading
import time
from collections import Counter
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SEEN: list[dict[str, Any]] = []
ATTEMPTS: Counter[str] = Counter()
LOCK = threading.Lock()
LETTERS = [{"token": token, "logprob": score} for token, score in ((" A", -0.5), ("B", -1.25), ("the", -2.0))]


def completion(text: str | None, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    message = choice["message"] | more.pop("message", {})
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [choice | {"message": message} | more],
    }


@cache
def make_bomb() -> bytes:
    return gzip.compress(b"a" * 50_000_000, 1)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Be quiet."""

    def do_GET(self) -> None:
        self.send(200, SEEN)

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        content = request["messages"][-1]["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        question = "".join(part.get("text", "") for part in parts)
        model = self.asked = request["model"]
        with LOCK:
            ATTEMPTS[model, question] += 1
            nth = ATTEMPTS[model, question]
            told = {name: request.get(name) for name in ("temperature", "max_tokens", "logprobs", "seed")}
            headers = {name.lower(): value for name, value in self.headers.items()}
            SEEN.append({"model": model, "question": question, "parts": parts, "headers": headers, **told})
        getattr(self, f"be_{model}")(question, nth)

    def send(self, status: int, content: object, **headers: str) -> None:
        if isinstance(content, dict) and content.get("model") == "m":
            content = content | {"model": self.asked}
        body = content.encode() if isinstance(content, str) else json.dumps(content).encode()
        self.send_response(status)
        kind = headers.pop("kind", "application/json")
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def be_echo(self, question: str, nth: int) -> None:
        self.send(200, completion(str(len(question))))

    def be_empty(self, question: str, nth: int) -> None:
        self.send(200, completion(None if nth % 2 else ""))

    def be_refusing(self, question: str, nth: int) -> None:
        self.send(200, completion(None, message={"refusal": "No, thank you."}))

    def be_filtered(self, question: str, nth: int) -> None:
        self.send(200, completion(None, finish_reason="content_filter"))

    def be_slow(self, question: str, nth: int) -> None:
        time.sleep(600)
        self.be_echo(question, nth)

    def be_delayed(self, question: str, nth: int) -> None:
        time.sleep(0.05)
        self.be_echo(question, nth)

    def be_halting(self, question: str, nth: int) -> None:
        if sum(one["model"] == "halting" for one in SEEN) == 13:
            threading.Event().wait()
        self.be_echo(question, nth)

    def be_busy(self, question: str, nth: int) -> None:
        if nth > 2:
            self.be_echo(question, nth)
        else:
            self.send(429, {"error": {"message": "too many"}}, Retry_After="0.3")

    def be_banned(self, question: str, nth: int) -> None:
        self.send(429, {"error": {"message": "too many"}}, Retry_After="3600")

    def be_broken(self, question: str, nth: int) -> None:
        if nth > 2:
            self.be_echo(question, nth)
        else:
            self.be_dead(question, nth)

    def be_dead(self, question: str, nth: int) -> None:
        self.send(500, {"error": {"message": "out of order"}}, Retry_After_Ms="10")

    def be_dropping(self, question: str, nth: int) -> None:
        if nth > 2:
            self.be_echo(question, nth)
        else:
            self.close_connection = True

    def be_gone(self, question: str, nth: int) -> None:
        self.close_connection = True

    def be_malformed(self, question: str, nth: int) -> None:
        self.send(200, '{"choices": [{"message": ')

    def be_page(self, question: str, nth: int) -> None:
        self.send(200, "<html>Please log in</html>", kind="text/html")

    def be_odd(self, question: str, nth: int) -> None:
        self.send(200, {"choices": [], "answer": "42"})

    def be_picky(self, question: str, nth: int) -> None:
        if "bad" in question:
            self.send(400, {"error": {"message": "I do not like this one"}})
        else:
            self.be_echo(question, nth)

    def be_letters(self, question: str, nth: int) -> None:
        first = {"token": " A", "logprob": -0.5, "top_logprobs": LETTERS}
        self.send(200, completion("A", logprobs={"content": [first]}))

    def be_forbidden(self, question: str, nth: int) -> None:
        said = f"wrong key: {self.headers['Authorization']}"
        self.send(401, {"error": {"message": said}})

    def be_parrot(self, question: str, nth: int) -> None:
        self.send(200, completion(self.headers["Authorization"]))

    def be_lucky(self, question: str, nth: int) -> None:
        self.send(200, completion("AB"[nth % 2]))

    def be_missing(self, question: str, nth: int) -> None:
        self.send(404, {"error": {"message": "no such model"}})

    def be_halves(self, question: str, nth: int) -> None:
        self.send(200, completion("red \ud83d\x00\x1b[31m"))

    def be_parts(self, question: str, nth: int) -> None:
        thought = {"type": "thinking", "thinking": "blue?"}
        self.send(200, completion([thought, {"type": "text", "text": "re"}, {"type": "output_text", "text": "d"}]))

    def be_number(self, question: str, nth: int) -> None:
        self.send(200, completion(5))

    def be_mapping(self, question: str, nth: int) -> None:
        self.send(200, completion({"text": "red"}))

    def be_drawing(self, question: str, nth: int) -> None:
        self.send(200, completion([{"type": "image_url", "image_url": {"url": "data:,"}}]))

    def be_tool(self, question: str, nth: int) -> None:
        call = {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        self.send(200, completion(None, message={"tool_calls": [call]}, finish_reason="tool_calls"))

    def be_cut(self, question: str, nth: int) -> None:
        self.send(200, completion("red. The answer is", finish_reason="length"))

    def be_other(self, question: str, nth: int) -> None:
        self.send(200, completion("red") | {"model": "another-model"})

    def be_dated(self, question: str, nth: int) -> None:
        self.send(200, completion("red") | {"model": "dated-2026-08-06"})

    def be_changing(self, question: str, nth: int) -> None:
        self.send(200, completion("red") | {"model": f"changing-2026-08-0{1 + len(question) % 2}"})

    def be_trickle(self, question: str, nth: int) -> None:
        self.trickle(b"HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n", b" " * 10_000)

    def be_headers(self, question: str, nth: int) -> None:
        self.trickle(b"", b"HTTP/1.1 200 OK\r\nX-A: " + b"a" * 10_000)

    def trickle(self, head: bytes, rest: bytes) -> None:
        self.wfile.write(head)
        self.close_connection = True
        for byte in rest:
            self.wfile.write(bytes([byte]))
            self.wfile.flush()
            time.sleep(0.02)

    def be_endless(self, question: str, nth: int) -> None:
        self.send_response(200)
        self.end_headers()
        self.close_connection = True
        self.wfile.write(b'{"choices": [{"message": {"content": "')
        for _ in range(200):
            self.wfile.write(b"a" * 1_000_000)

    def be_bomb(self, question: str, nth: int) -> None:
        self.send_bytes(make_bomb(), "gzip")

    def be_brotli(self, question: str, nth: int) -> None:
        self.send_bytes(b"whatever", "br")

    def be_torn(self, question: str, nth: int) -> None:
        self.send_bytes(b"whatever", "gzip")

    def be_packed(self, question: str, nth: int) -> None:
        self.send_bytes(gzip.compress(json.dumps(completion("red")).encode()), "gzip")

    def send_bytes(self, content: bytes, encoding: str) -> None:
        self.send_response(200)
        for name, value in (("Content-Encoding", encoding), ("Content-Length", str(len(content)))):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def be_nested(self, question: str, nth: int) -> None:
        self.send(200, '{"choices": ' + "[" * 100_000 + "]" * 100_000 + "}")

    def be_elsewhere(self, question: str, nth: int) -> None:
        self.send(307, "", Location="/seen")

    def be_words(self, question: str, nth: int) -> None:
        self.send_logprob("much")

    def be_nan(self, question: str, nth: int) -> None:
        self.send_logprob(float("nan"))

    def send_logprob(self, logprob: object) -> None:
        first = {"token": "A", "logprob": logprob, "top_logprobs": [{"token": "A", "logprob": logprob}]}
        self.send(200, completion("A", logprobs={"content": [first]}))

    def be_quota(self, question: str, nth: int) -> None:
        self.send(200, {"error": {"message": "quota exceeded"}})

    def be_mumbling(self, question: str, nth: int) -> None:
        self.send(200, completion("<think>hmm"))


class Server(ThreadingHTTPServer):
    request_queue_size = 128

    def handle_error(self, *_: object) -> None:
        """Say nothing of clients that were killed."""


if __name__ == "__main__":
    server = Server(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)  # noqa: T201 - for whoever started it
    server.serve_forever()
