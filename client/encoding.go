package client

import (
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// decoded reads a body that a server or gateway compressed though identity was
// asked for. A decompressor is opened at the first read: it may wait for bytes.
func decoded(encoding string, body io.Reader) (io.Reader, error) {
	open, ok := decoders[strings.ToLower(strings.TrimSpace(encoding))]
	if !ok {
		return nil, fmt.Errorf("the response is encoded with %q, which is not known here, though identity was asked for", encoding)
	}
	return &decompressor{coding: encoding, body: body, open: open}, nil
}

var decoders = map[string]func(io.Reader) (io.Reader, error){
	"gzip":    func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
	"x-gzip":  func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
	"deflate": func(r io.Reader) (io.Reader, error) { return zlib.NewReader(r) },
	"br":      func(r io.Reader) (io.Reader, error) { return brotli.NewReader(r), nil },
	// One block at a time on the caller's goroutine, so nothing outlives it.
	"zstd": func(r io.Reader) (io.Reader, error) {
		return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	},
}

type decompressor struct {
	coding string
	body   io.Reader
	open   func(io.Reader) (io.Reader, error)
	from   io.Reader
}

// Read is part of io.Reader.
func (d *decompressor) Read(p []byte) (n int, err error) {
	if d.from == nil {
		if d.from, err = d.open(d.body); err != nil {
			d.from = nil
		}
	}
	if d.from != nil {
		n, err = d.from.Read(p)
	}
	if err != nil && err != io.EOF {
		err = fmt.Errorf("decompressing %s: %w", d.coding, err)
	}
	return n, err
}
