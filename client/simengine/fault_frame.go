package simengine

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

const (
	statusLine = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
	chunked    = "Transfer-Encoding: chunked\r\n"
	keepAlive  = "Connection: keep-alive\r\n"
)

// frameFaults write the response themselves, byte by byte where it matters.
// The connection closes after them, and but for two of them they say so.
var frameFaults = []Fault{
	{Name: "slow_header", Does: "a header that stops in the middle", frame: func(c net.Conn, body *stream) error {
		if _, err := io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-"); err != nil {
			return err
		}
		return body.hang(c)
	}},
	{Name: "silence", Does: "no byte of a response", frame: func(c net.Conn, body *stream) error { return body.hang(c) }},
	{Name: "no_http", Does: "a response that is not HTTP", frame: func(c net.Conn, _ *stream) error {
		_, err := io.WriteString(c, "SSH-2.0-OpenSSH_9.6\r\n")
		return err
	}},
	{Name: "hang_up", Does: "the connection closes without a response", frame: func(net.Conn, *stream) error { return nil }},
	{Name: "interim", Does: "100 and 103 before the response", frame: func(c net.Conn, body *stream) error {
		if _, err := io.WriteString(c, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"); err != nil {
			return err
		}
		return inChunks(c, body, "", "0\r\n\r\n")
	}},
	{Name: "trailer", Does: "a trailer after the last HTTP chunk", frame: func(c net.Conn, body *stream) error {
		return inChunks(c, body, "Trailer: X-Sum\r\n", "0\r\nX-Sum: 1\r\n\r\n")
	}},
	{Name: "extensions", Does: "an extension on each HTTP chunk", frame: func(c net.Conn, body *stream) error {
		return frame(c, body, chunked, func(p []byte) error {
			_, err := fmt.Fprintf(c, "%x;a=b\r\n%s\r\n", len(p), p)
			return err
		}, "0\r\n\r\n")
	}},
	{Name: "byte_by_byte", Does: "one byte a write, an HTTP chunk each", frame: func(c net.Conn, body *stream) error {
		return frame(c, body, chunked, func(p []byte) error {
			for _, b := range p {
				if _, err := fmt.Fprintf(c, "1\r\n%c\r\n", b); err != nil {
					return err
				}
			}
			return nil
		}, "0\r\n\r\n")
	}},
	{Name: "until_close", Does: "a body that ends with the connection", frame: func(c net.Conn, body *stream) error {
		return frame(c, body, "", plainly(c), "")
	}},
	{Name: "counted", Does: "a body of a stated length", frame: func(c net.Conn, body *stream) error { return counted(c, body, 0) }},
	{Name: "bad_length", Does: "a stated length that the body does not reach", frame: func(c net.Conn, body *stream) error { return counted(c, body, 100) }},
	{Name: "bad_chunk", Does: "an HTTP chunk of a size that is no number", frame: func(c net.Conn, body *stream) error {
		return frame(c, body, chunked, func(p []byte) error {
			_, err := fmt.Fprintf(c, "%x\r\n%s\r\nzz\r\n", len(p), p)
			return err
		}, "")
	}},
	{Name: "no_last_chunk", Does: "the connection closes before the last HTTP chunk, after [DONE]", frame: func(c net.Conn, body *stream) error {
		return inChunks(c, body, "", "")
	}},
	{Name: "unasked", Does: "bytes after the response that nobody asked for", frame: func(c net.Conn, body *stream) error {
		return inChunks(c, body, keepAlive, "0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nold")
	}},
	{Name: "idle_close", Does: "the connection closes 20 ms after the response", frame: func(c net.Conn, body *stream) error {
		err := inChunks(c, body, keepAlive, "0\r\n\r\n")
		body.wait(20 * time.Millisecond)
		return err
	}},
	{Name: "gzip", Does: "compressed, an event at a time", frame: compressed("gzip", func(w io.Writer) flusher { return gzip.NewWriter(w) })},
	{Name: "deflate", Does: "the same with deflate", frame: compressed("deflate", func(w io.Writer) flusher { return zlib.NewWriter(w) })},
	{Name: "br", Does: "the same with br", frame: compressed("br", func(w io.Writer) flusher { return brotli.NewWriter(w) })},
	{Name: "zstd", Does: "the same with zstd", frame: compressed("zstd", func(w io.Writer) flusher {
		z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
		if err != nil {
			panic(err) // the options are constants
		}
		return z
	})},
	{Name: "bad_gzip", Does: "an encoding that the bytes are not in", frame: func(c net.Conn, body *stream) error {
		return inChunks(c, body, "Content-Encoding: gzip\r\n", "0\r\n\r\n")
	}},
	{Name: "odd_encoding", Does: "an encoding that nobody knows", frame: func(c net.Conn, body *stream) error {
		return inChunks(c, body, "Content-Encoding: rot13\r\n", "0\r\n\r\n")
	}},
}

// frame writes a header, then each of the stream's events by write, then the
// end.
func frame(c net.Conn, body *stream, header string, write func([]byte) error, end string) error {
	if !strings.Contains(header, keepAlive) {
		header += "Connection: close\r\n"
	}
	if _, err := io.WriteString(c, statusLine+header+"\r\n"); err != nil {
		return err
	}
	buffer := make([]byte, 64<<10)
	for {
		n, err := body.Read(buffer)
		if n > 0 {
			if err := write(buffer[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			_, err = io.WriteString(c, end)
			return err
		}
		if err != nil {
			return err
		}
	}
}

func plainly(w io.Writer) func([]byte) error {
	return func(p []byte) error {
		_, err := w.Write(p)
		return err
	}
}

func inChunks(c net.Conn, body *stream, header, end string) error {
	return frame(c, body, chunked+header, plainly(chunks{c}), end)
}

// chunks writes HTTP chunks.
type chunks struct{ net.Conn }

// Write is part of io.Writer.
func (c chunks) Write(p []byte) (int, error) {
	_, err := fmt.Fprintf(c.Conn, "%x\r\n%s\r\n", len(p), p)
	return len(p), err
}

// counted gathers the body first: its length must be known.
func counted(c net.Conn, body *stream, tooMuch int) error {
	var whole bytes.Buffer
	if _, err := whole.ReadFrom(struct{ io.Reader }{body}); err != nil {
		return err
	}
	_, err := fmt.Fprintf(c, "%sConnection: close\r\nContent-Length: %d\r\n\r\n%s", statusLine, whole.Len()+tooMuch, whole.Bytes())
	return err
}

type flusher interface {
	io.WriteCloser
	Flush() error
}

func compressed(coding string, open func(io.Writer) flusher) func(net.Conn, *stream) error {
	return func(c net.Conn, body *stream) error {
		var packed bytes.Buffer
		z := open(&packed)
		send := func() error {
			_, err := chunks{c}.Write(packed.Bytes())
			packed.Reset()
			return err
		}
		err := frame(c, body, chunked+"Content-Encoding: "+coding+"\r\n", func(p []byte) error {
			if _, err := z.Write(p); err != nil {
				return err
			}
			return errors.Join(z.Flush(), send())
		}, "")
		if err := errors.Join(err, z.Close()); err != nil {
			return err
		}
		if packed.Len() > 0 {
			if err := send(); err != nil {
				return err
			}
		}
		_, err = io.Copy(c, strings.NewReader("0\r\n\r\n"))
		return err
	}
}
