package sweep

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"anvilsweep/sweep/artifact"
)

// traceSuffix stands in place of an artifact's ".json".
const traceSuffix = ".trace.jsonl.gz"

// trace is a cell's raw arrivals, one JSON line a request, compressed. Until
// it is kept it has the name of a temporary file, which the next run sweeps up.
type trace struct {
	path   string
	file   *os.File
	zip    *gzip.Writer
	lines  *json.Encoder
	failed error // the first one
}

// traced is one line; docs/artifact.md explains it.
type traced struct {
	RequestIndex int      `json:"request_index"`
	OK           bool     `json:"ok"`
	StartUnixNS  int64    `json:"start_unix_ns"`
	ConnectNS    int64    `json:"connect_ns"`
	EndNS        int64    `json:"end_ns"`
	FailureKind  *string  `json:"failure_kind"`
	AtNS         []int64  `json:"at_ns"`
	Output       []string `json:"output"`
}

// newTrace opens the trace of the artifact that will be at path.
func newTrace(path string) (*trace, error) {
	path = strings.TrimSuffix(path, ".json") + traceSuffix
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return nil, err
	}
	zip, _ := gzip.NewWriterLevel(file, gzip.BestSpeed) // the level exists
	return &trace{path: path, file: file, zip: zip, lines: json.NewEncoder(zip)}, nil
}

func (t *trace) add(res *artifact.Result, ok bool) {
	o := res.Observation
	if o == nil || t.failed != nil {
		return
	}
	line := traced{
		RequestIndex: res.Index, OK: ok, StartUnixNS: o.Start.UnixNano(), ConnectNS: o.Connect.Nanoseconds(), EndNS: o.End.Nanoseconds(),
		AtNS: make([]int64, 0, o.Arrivals.Len()), Output: make([]string, 0, o.Arrivals.Len()),
	}
	if o.Failure != nil {
		kind := string(o.Failure.Kind)
		line.FailureKind = &kind
	}
	for at, kind := range o.Arrivals.All() {
		line.AtNS, line.Output = append(line.AtNS, at.Nanoseconds()), append(line.Output, kind.String())
	}
	t.failed = t.lines.Encode(line)
}

// name is the trace's file name.
func (t *trace) name() string { return filepath.Base(t.path) }

// keep gives the trace its name once it is whole on disk.
func (t *trace) keep() error {
	err := errors.Join(t.failed, t.zip.Close(), t.file.Sync(), t.file.Chmod(0o644), t.file.Close())
	if err == nil {
		err = os.Rename(t.file.Name(), t.path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(t.file.Name()))
	}
	return err
}
