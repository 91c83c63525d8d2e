package export

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"golang.org/x/perf/benchfmt"

	"anvilsweep/sweep/artifact"
)

// records are those of an artifact of ours, and of real ones where they are.
func records(t *testing.T) []Record {
	t.Helper()
	paths := []string{"../artifact/testdata/example.json"}
	if _, err := os.Stat("../../../shared/corpus/v1"); err == nil {
		paths = append(paths, "../../../shared/corpus/v1")
	} else {
		t.Log("without the corpus:", err)
	}
	docs, err := artifact.Collect(paths)
	if err != nil {
		t.Fatal(err)
	}
	return Records(docs, artifact.FigureNames())
}

// Every form has the same figures, to the bit, and nothing for what is not
// there.
func TestFormsAgree(t *testing.T) {
	all := records(t)
	names := artifact.FigureNames()
	want := 0
	for _, r := range all {
		want += len(r.Figures)
	}
	if len(all) == 0 || want == 0 {
		t.Fatal("nothing to export")
	}
	var wide, long, doc, pq, pqWide bytes.Buffer
	for _, err := range []error{CSV(&wide, all, names, false), CSV(&long, all, names, true), JSON(&doc, all), ParquetLong(&pq, all), ParquetWide(&pqWide, all, names)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	lines, err := csv.NewReader(&wide).ReadAll()
	if err != nil || len(lines) != len(all)+1 {
		t.Fatal(len(lines), err)
	}
	for i, r := range all {
		for j, name := range names {
			field := lines[i+1][len(columns)+j]
			v, there := r.Figures[name]
			got, err := strconv.ParseFloat(field, 64)
			if there && (err != nil || got != v) || !there && field != "" {
				t.Fatalf("%s %s: csv has %q, want %v %v", r.File, name, field, v, there)
			}
		}
	}
	if lines, err := csv.NewReader(&long).ReadAll(); err != nil || len(lines) != want+1 {
		t.Errorf("%d lines of %d figures: %v", len(lines), want, err)
	}
	var back struct{ Records []Record }
	if err := json.Unmarshal(doc.Bytes(), &back); err != nil || len(back.Records) != len(all) || back.Records[0].Figures["ttft_p50_ms"] != all[0].Figures["ttft_p50_ms"] {
		t.Error(err)
	}
	rows, err := parquet.Read[longRow](bytes.NewReader(pq.Bytes()), int64(pq.Len()))
	if err != nil || len(rows) != want {
		t.Fatalf("%d rows of %d figures: %v", len(rows), want, err)
	}
	i := 0
	for _, r := range all {
		for _, name := range r.figures() {
			if rows[i].Figure != name || rows[i].Value != r.Figures[name] || rows[i].Model != r.Model || (rows[i].Context == nil) != (r.Context == nil) {
				t.Fatalf("%+v", rows[i])
			}
			i++
		}
	}
	table, err := parquet.OpenFile(bytes.NewReader(pqWide.Bytes()), int64(pqWide.Len()))
	if err != nil || table.NumRows() != int64(len(all)) {
		t.Fatal(err)
	}
	var header []string
	for _, c := range table.Schema().Columns() {
		header = append(header, c[0])
	}
	if want := lines[0]; !slices.Equal(header, want) {
		t.Errorf("the wide forms differ in columns:\n%v\n%v", header, want)
	}
	read := make([]parquet.Row, len(all))
	reader := parquet.NewReader(table)
	if n, err := reader.ReadRows(read); n != len(all) {
		t.Fatal(n, err)
	}
	for i, r := range all {
		for _, v := range read[i] {
			c := v.Column() - len(columns)
			if c < 0 {
				continue
			}
			if want, there := r.Figures[names[c]]; there == v.IsNull() || there && v.Double() != want {
				t.Fatalf("%s %s: wide Parquet has %v, want %v %v", r.File, names[c], v, want, there)
			}
		}
	}
}

// benchstat's own reader takes each line, with each figure as a unit.
func TestBenchfmt(t *testing.T) {
	all := records(t)
	var out bytes.Buffer
	if err := Benchfmt(&out, all); err != nil {
		t.Fatal(err)
	}
	reader := benchfmt.NewReader(&out, "x")
	n := 0
	for reader.Scan() {
		switch r := reader.Result().(type) {
		case *benchfmt.Result:
			n++
			if !strings.HasPrefix(string(r.Name), "Sweep/") || len(r.Values) == 0 {
				t.Errorf("%+v", r)
			}
		case *benchfmt.SyntaxError:
			t.Error(r)
		}
	}
	if err := reader.Err(); err != nil || n != len(all) {
		t.Errorf("%d lines of %d runs: %v", n, len(all), err)
	}
}

// Names of people do not break a line.
func TestHostileNames(t *testing.T) {
	r := []Record{{Model: "a b/c=d\ne", Tier: "漢 字", Concurrency: 1, Completed: 3, Figures: map[string]float64{"ttft_p50_ms": 1.5}}}
	var out bytes.Buffer
	if err := Benchfmt(&out, r); err != nil {
		t.Fatal(err)
	}
	if got := strings.Fields(out.String()); len(got) != 4 || strings.Count(out.String(), "\n") != 1 || !slices.Contains(got, "1.5") {
		t.Errorf("%q", out.String())
	}
}
