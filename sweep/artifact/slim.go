package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Keep says what Figures keeps of an artifact beside its figures.
type Keep struct {
	Rows     bool // one a request, for distributions and tests over requests
	Failures bool // what went wrong with each request that failed
	SLO      SLO  // Goodput is taken of it
}

// Figures is Collect for those who want figures of thousands of files: what
// verification alone needs is not even taken out of the bytes.
func Figures(paths []string, keep Keep) ([]*Document, error) {
	return collect(paths, func(path string) *Document { return readBy(keep.decode, path) })
}

// decode reads an artifact in one pass. Whatever is no artifact, or not a whole
// one, is read by Decode, which says what it is.
func (k Keep) decode(path string, data []byte) *Document {
	d := k.inOnePass(path, data)
	if d == nil {
		d = Decode(path, data)
		d.data, d.tree = nil, nil
		if d.wire != nil && !k.Failures {
			d.wire.Failures = nil
		}
		if d.Sweep != nil {
			d.Sweep.RequestObservations = nil
		}
	}
	k.measure(d)
	return d
}

// inOnePass is nil for what Decode must look at.
func (k Keep) inOnePass(path string, data []byte) *Document {
	var s slim
	if err := json.Unmarshal(data, &s); err != nil || s.Schema != Schema || s.Metrics.value == nil {
		return nil
	}
	w := new(wire) // apart from slim, which holds the rows' bytes
	*w = s.wire
	w.Sampling, w.PerformanceEligible, w.PromptCacheMode = s.Sampling.value, s.PerformanceEligible.value, s.PromptCacheMode.value
	if s.Sweep != nil {
		w.Sweep = &s.Sweep.Sweep
	}
	sum := sha256.Sum256(data)
	d := &Document{Path: path, SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(data)), wire: w, figures: &figures{s.Metrics.value, s.Metrics.state}}
	d.Generation = generation(func(name string) bool {
		switch name {
		case "sampling":
			return s.Sampling.there
		case "performance_eligible":
			return s.PerformanceEligible.there
		case "prompt_cache_mode":
			return s.PromptCacheMode.there
		}
		return s.RequestTimings != nil // request_timings
	}, func(name string) bool { return s.Metrics.state[metricIndex[name]] != absent }, w)
	// Rows are most of a file. Only those who ask for them, and the figures that
	// an older file does not hold, need them taken apart.
	if rows := s.RequestTimings; rows != nil && (k.Rows || len(k.SLO) > 0 || !s.Metrics.whole()) {
		if err := json.Unmarshal(rows, &w.RequestTimings); err != nil {
			return nil
		}
	} else if rows.Kind() == '[' {
		d.rowsLeft = true
	}
	if k.Failures && s.Failures != nil {
		if err := json.Unmarshal(s.Failures, &w.Failures); err != nil {
			return nil
		}
	}
	d.readWire()
	return d
}

func (k Keep) measure(d *Document) {
	if len(k.SLO) == 0 || d.wire == nil {
		return
	}
	d.Goodput = k.SLO.of(d)
	if !k.Rows && d.figures != nil && d.figures.whole() {
		d.rowsLeft, d.Rows, d.wire.RequestTimings = d.Rows != nil, nil, nil
	}
}

// slim is wire without what figures do not need. Of two fields with one key the
// outer one counts.
type slim struct {
	Schema string `json:"schema"`
	wire
	Failures            jsontext.Value  `json:"failures"`
	Metrics             figures         `json:"metrics"`
	RequestTimings      jsontext.Value  `json:"request_timings"`
	Sweep               *slimSweep      `json:"sweep"`
	Sampling            field[Sampling] `json:"sampling"`
	PerformanceEligible field[bool]     `json:"performance_eligible"`
	PromptCacheMode     field[string]   `json:"prompt_cache_mode"`
}

type slimSweep struct {
	Sweep
	RequestObservations skipped `json:"request_observations"`
}

type skipped struct{}

func (*skipped) UnmarshalJSONFrom(d *jsontext.Decoder) error { return d.SkipValue() }

// field tells a key that is null from one that is not there.
type field[T any] struct {
	there bool
	value *T
}

func (f *field[T]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	f.there = true
	return json.UnmarshalDecode(d, &f.value)
}

// figures are the numbers of a metrics object by their place in metricIndex:
// nine bytes each, where a map would hold every key and number as text.
type figures struct {
	value []float64
	state []figureState
}

type figureState byte

const (
	absent figureState = iota
	null
	present
)

var metricIndex = func() map[string]int {
	index := map[string]int{}
	for i, name := range MetricNames() {
		index[name] = i
	}
	return index
}()

func (f *figures) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != '{' {
		return errors.New("metrics is no object")
	}
	f.value, f.state = make([]float64, len(metricIndex)), make([]figureState, len(metricIndex))
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		i, known := metricIndex[name.String()]
		switch kind := d.PeekKind(); {
		case known && kind == '0':
			if err := json.UnmarshalDecode(d, &f.value[i]); err != nil {
				return err
			}
			f.state[i] = present
			continue
		case known && kind == 'n':
			f.state[i] = null
		}
		if err := d.SkipValue(); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

// whole reports that every figure is told, be it as null: none needs the rows.
func (f *figures) whole() bool { return !slices.Contains(f.state, absent) }

func (f *figures) lookup(name string) (float64, figureState) {
	i, known := metricIndex[name]
	if !known {
		return 0, absent
	}
	return f.value[i], f.state[i]
}
