//go:build linux

package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// The steady regime: the first output after firstOutput, then a chunk each
// interval.
const (
	firstOutput  = 50 * time.Millisecond
	interval     = 10 * time.Millisecond
	steadyChunks = 100
)

const header = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

// end is the last of a response: a finish reason, usage, [DONE].
func end(chunks int) string {
	return httpChunk(`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\n") +
		httpChunk(fmt.Sprintf(`data: {"choices":[],"usage":{"prompt_tokens":8,"completion_tokens":%d}}`+"\n\n", chunks)) +
		httpChunk("data: [DONE]\n\n") + "0\r\n\r\n"
}

// event is a chunk of the size that servers send, about 230 bytes with HTTP's
// framing.
func event(text string) string {
	return httpChunk(`data: {"id":"chatcmpl-0123456789abcdef0123456789abcdef","object":"chat.completion.chunk","created":1789665664,"model":"some/model-8b","choices":[{"index":0,"delta":{"content":"` +
		text + `"},"logprobs":null,"finish_reason":null}]}` + "\n\n")
}

func httpChunk(s string) string { return strconv.FormatInt(int64(len(s)), 16) + "\r\n" + s + "\r\n" }

// serve answers every connection until standard input ends. The path says
// what to send: /steady/N/… or /flood/N/…, N chunks.
func serve(out io.Writer) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "http://%s\n", l.Addr()); err != nil {
		return err
	}
	p := new(pacer)
	go p.run()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go answer(c, p)
		}
	}()
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func answer(c net.Conn, p *pacer) {
	defer func() { _ = c.Close() }() // the client has what it came for, or has gone
	r := bufio.NewReader(c)
	for {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		begin := time.Now()
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			return
		}
		parts := strings.Split(req.URL.Path, "/")
		chunks, err := strconv.Atoi(parts[2])
		if err != nil {
			return
		}
		if parts[1] == "steady" {
			if _, err = io.WriteString(c, header); err == nil {
				err = p.stream(&paced{conn: c, begin: begin, chunks: chunks})
			}
		} else {
			err = flood(c, chunks)
		}
		if err != nil {
			return
		}
	}
}

// flood sends as fast as the connection takes it.
func flood(c net.Conn, chunks int) error {
	const each = 256
	block := []byte(strings.Repeat(event("token "), each))
	if _, err := io.WriteString(c, header); err != nil {
		return err
	}
	for left := chunks; left > 0; left -= each {
		if _, err := c.Write(block[:len(block)/each*min(each, left)]); err != nil {
			return err
		}
	}
	_, err := io.WriteString(c, end(chunks))
	return err
}
