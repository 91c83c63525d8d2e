package export

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// options make files that are small and the same for the same records.
var options = []parquet.WriterOption{parquet.Compression(&parquet.Zstd), parquet.CreatedBy("anvilsweep", "1", "0")}

// longRow is one figure of a run, as Parquet has it.
type longRow struct {
	runColumns
	Figure string  `parquet:"figure,dict"`
	Value  float64 `parquet:"value"`
}

// runColumns are those of a run, as in the CSV.
type runColumns struct {
	File         string `parquet:"file,dict"`
	SHA256       string `parquet:"sha256,dict"`
	Kind         string `parquet:"kind,dict"`
	Generation   string `parquet:"generation,dict"`
	StartedAt    string `parquet:"started_at,dict"`
	Sweep        string `parquet:"sweep,dict"`
	CellID       string `parquet:"cell_id,dict"`
	CellDigest   string `parquet:"cell_digest,dict"`
	Repeat       int64  `parquet:"repeat"`
	SourceRecipe string `parquet:"source_recipe,dict"`
	Fingerprint  string `parquet:"configuration_fingerprint,dict"`
	Model        string `parquet:"model,dict"`
	Engine       string `parquet:"engine,dict"`
	Tier         string `parquet:"tier,dict"`
	GPU          string `parquet:"gpu,dict"`
	Context      *int64 `parquet:"context_tokens,optional"`
	Concurrency  int64  `parquet:"concurrency"`
	Axes         string `parquet:"axes,dict"`
	Requests     int64  `parquet:"requests"`
	Completed    int64  `parquet:"completed"`
	Failed       int64  `parquet:"failed"`
	Flags        string `parquet:"flags,dict"`
}

// ParquetLong writes a row a run and figure, the columns those of the long CSV.
func ParquetLong(w io.Writer, records []Record) error {
	out := parquet.NewGenericWriter[longRow](w, options...)
	for i := range records {
		r := &records[i]
		row := longRow{runColumns: columnsOf(r)}
		rows := make([]longRow, 0, len(r.Figures))
		for _, name := range r.figures() {
			row.Figure, row.Value = name, r.Figures[name]
			rows = append(rows, row)
		}
		if _, err := out.Write(rows); err != nil {
			return err
		}
	}
	return out.Close()
}

// columnsOf are a record's, as Parquet has them.
func columnsOf(r *Record) runColumns {
	out := runColumns{
		File: r.File, SHA256: r.SHA256, Kind: r.Kind, Generation: r.Generation, StartedAt: r.StartedAt, Sweep: r.Sweep, CellID: r.CellID, CellDigest: r.CellDigest,
		Repeat: int64(r.Repeat), SourceRecipe: r.SourceRecipe, Fingerprint: r.Fingerprint, Model: r.Model, Engine: r.Engine, Tier: r.Tier, GPU: r.GPU,
		Concurrency: int64(r.Concurrency), Axes: r.axes(), Requests: int64(r.Requests), Completed: int64(r.Completed), Failed: int64(r.Failed), Flags: strings.Join(r.Flags, " "),
	}
	if r.Context != nil {
		n := int64(*r.Context)
		out.Context = &n
	}
	return out
}

// ParquetWide writes a row a run with a column a figure, the columns those of
// the wide CSV; a figure that is not there is null.
func ParquetWide(w io.Writer, records []Record, names []string) error {
	fields := slices.Clone(reflect.VisibleFields(reflect.TypeFor[runColumns]()))
	leading := len(fields)
	for i, name := range names {
		fields = append(fields, reflect.StructField{
			Name: fmt.Sprintf("Figure%d", i), Type: reflect.TypeFor[*float64](), Tag: reflect.StructTag(fmt.Sprintf(`parquet:"%s,optional"`, name)),
		})
	}
	for i := range fields {
		fields[i].Index, fields[i].Offset = nil, 0
	}
	row := reflect.New(reflect.StructOf(fields))
	out := parquet.NewWriter(w, slices.Concat(options, []parquet.WriterOption{parquet.SchemaOf(row.Interface())})...)
	for i := range records {
		r := &records[i]
		of := reflect.ValueOf(columnsOf(r))
		for f := range leading {
			row.Elem().Field(f).Set(of.Field(f))
		}
		for n, name := range names {
			value := reflect.Zero(reflect.TypeFor[*float64]())
			if v, ok := r.Figures[name]; ok {
				value = reflect.ValueOf(&v)
			}
			row.Elem().Field(leading + n).Set(value)
		}
		if err := out.Write(row.Interface()); err != nil {
			return err
		}
	}
	return out.Close()
}
