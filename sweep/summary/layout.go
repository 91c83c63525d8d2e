package summary

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"anvilsweep/sweep/artifact"
)

// everySweep are the axes that every run has.
var everySweep = []string{"model", "engine", "tier", "context", "concurrency", "output", "cache"}

// layout says which axes make rows, which columns, and so what parts sections.
type layout struct {
	rows, columns []string
	own           []string // the recipes' own axes, sorted
}

func newLayout(rows, columns []string, runs []*artifact.Document) (*layout, error) {
	own := map[string]bool{}
	for _, d := range runs {
		if d.Sweep != nil {
			for name := range d.Sweep.Axes {
				if !slices.Contains(everySweep, name) {
					own[name] = true
				}
			}
		}
	}
	l := &layout{rows: rows, columns: columns, own: slices.Sorted(maps.Keys(own))}
	if len(columns) == 0 {
		l.columns = without([]string{"tier"}, rows)
	}
	if len(rows) == 0 {
		l.rows = without([]string{"context", "concurrency"}, columns)
	}
	names := slices.Concat(everySweep, l.own)
	for i, name := range slices.Concat(l.rows, l.columns) {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("no axis %q; these runs have %s", name, strings.Join(names, ", "))
		}
		if slices.Contains(slices.Concat(l.rows, l.columns)[:i], name) {
			return nil, fmt.Errorf("axis %s is placed twice", name)
		}
	}
	return l, nil
}

func without(names, taken []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(taken, name) })
}

// places reports whether the axis stands in rows or columns.
func (l *layout) places(axis string) bool {
	return slices.Contains(l.rows, axis) || slices.Contains(l.columns, axis)
}

// group is the documents of one section.
type group struct {
	model, workload string
	docs            []*artifact.Document
}

// gather parts runs by model and workload, in order of first appearance; what
// has a place in rows or columns does not part them.
func (l *layout) gather(runs []*artifact.Document) []*group {
	var groups []*group
	index := map[[2]string]*group{}
	for _, d := range runs {
		var key [2]string
		if !l.places("model") {
			key[0] = d.Model
		}
		key[1] = l.workload(d)
		g := index[key]
		if g == nil {
			g = &group{model: key[0], workload: key[1]}
			index[key] = g
			groups = append(groups, g)
		}
		g.docs = append(g.docs, d)
	}
	return groups
}

// placed is a run with its place.
type placed struct {
	doc         *artifact.Document
	row, column string // keys of its place
}

// section places the runs of a group.
func (s *Summary) section(l *layout, g *group) Section {
	tiers := tierNames(g.docs, l.places("engine"))
	at := func(d *artifact.Document, axis string) string {
		if axis == "tier" {
			return tiers[identify(d)]
		}
		return valueOf(d, axis)
	}
	key := func(d *artifact.Document, axes []string) string {
		var parts []string
		for _, axis := range axes {
			parts = append(parts, at(d, axis))
		}
		return strings.Join(parts, "\x00")
	}
	out := Section{Model: g.model, Workload: g.workload, ColumnAxes: l.columns, RowAxes: slices.Clone(l.rows)}
	// Without a row of their own, different cells would be taken for runs of one.
	for _, axis := range slices.Concat([]string{"tier", "context", "concurrency"}, l.own) {
		if l.places(axis) {
			continue
		}
		seen := map[string]string{}
		for _, d := range g.docs {
			column, value := key(d, l.columns), at(d, axis)
			if before, ok := seen[column]; ok && before != value {
				out.RowAxes = append(out.RowAxes, axis)
				break
			}
			seen[column] = value
		}
	}
	var runs []placed
	rows, columns := map[string]At{}, map[string]At{}
	place := func(d *artifact.Document, axes []string, places map[string]At) string {
		k := key(d, axes)
		if places[k] == nil {
			places[k] = At{}
			for _, axis := range axes {
				places[k][axis] = at(d, axis)
			}
		}
		return k
	}
	for _, d := range g.docs {
		runs = append(runs, placed{d, place(d, out.RowAxes, rows), place(d, out.ColumnAxes, columns)})
	}
	rowKeys := ordered(out.RowAxes, rows, runs, func(p placed) string { return p.row })
	columnKeys := ordered(out.ColumnAxes, columns, runs, func(p placed) string { return p.column })
	cells := map[[2]string][]*artifact.Document{}
	inColumn := map[string][]*artifact.Document{}
	for _, p := range runs {
		cells[[2]string{p.row, p.column}] = append(cells[[2]string{p.row, p.column}], p.doc)
		inColumn[p.column] = append(inColumn[p.column], p.doc)
	}
	for _, k := range columnKeys {
		c := Column{At: columns[k], Name: columnName(out.ColumnAxes, columns[k])}
		c.Price, c.Currency = commonPrice(inColumn[k])
		out.Columns = append(out.Columns, c)
	}
	for _, r := range rowKeys {
		row := Row{At: rows[r]}
		for _, c := range columnKeys {
			row.Cells = append(row.Cells, s.fold(cells[[2]string{r, c}]))
		}
		s.compare(row.Cells)
		out.Rows = append(out.Rows, row)
	}
	frontier(&out, func(row, column int) []*artifact.Document {
		return cells[[2]string{rowKeys[row], columnKeys[column]}]
	})
	return out
}

// ordered sorts places axis by axis: numbers by size, names as they came.
func ordered(axes []string, places map[string]At, runs []placed, key func(placed) string) []string {
	var keys []string
	seen := map[string]bool{}
	came := map[string]map[string]int{} // by axis and value
	for _, p := range runs {
		k := key(p)
		if seen[k] {
			continue
		}
		seen[k] = true
		keys = append(keys, k)
		for axis, value := range places[k] {
			if came[axis] == nil {
				came[axis] = map[string]int{}
			}
			if _, ok := came[axis][value]; !ok {
				came[axis][value] = len(came[axis])
			}
		}
	}
	slices.SortStableFunc(keys, func(a, b string) int {
		for _, axis := range axes {
			va, vb := places[a][axis], places[b][axis]
			na, erra := strconv.ParseFloat(va, 64)
			nb, errb := strconv.ParseFloat(vb, 64)
			var c int
			switch {
			case erra == nil && errb == nil:
				c = cmp.Compare(na, nb)
			case erra == nil:
				c = 1 // what is no number stands before those that are: "sampled"
			case errb == nil:
				c = -1
			default:
				c = came[axis][va] - came[axis][vb]
			}
			if c != 0 {
				return c
			}
		}
		return 0
	})
	return keys
}

// columnName writes a place for people: tiers, engines and models by their
// names, other axes with theirs.
func columnName(axes []string, at At) string {
	var parts []string
	for _, axis := range axes {
		switch axis {
		case "tier", "engine", "model":
			parts = append(parts, at[axis])
		default:
			parts = append(parts, axis+" "+at[axis])
		}
	}
	return strings.Join(parts, " ")
}

// valueOf is a run's value on an axis other than the tier.
func valueOf(d *artifact.Document, axis string) string {
	switch axis {
	case "model":
		return d.Model
	case "engine":
		if d.Sweep != nil {
			return cmp.Or(d.Sweep.Engine.Name, d.Engine, "(unnamed)")
		}
		return cmp.Or(d.Engine, "(unnamed)")
	case "context":
		if d.ContextTokens == nil {
			return "sampled"
		}
		return strconv.Itoa(*d.ContextTokens)
	case "concurrency":
		return strconv.Itoa(d.Concurrency)
	case "cache":
		return cmp.Or(d.CacheMode, "(unsaid)")
	case "output":
		if d.Sweep == nil || d.Sweep.Axes["output"] == "" {
			return cmp.Or(strings.Join(output(d), ", "), "(unsaid)")
		}
	}
	if d.Sweep == nil {
		return "(unsaid)"
	}
	return cmp.Or(d.Sweep.Axes[axis], "(unsaid)")
}

// tierID is what makes two documents of one tier.
type tierID struct{ name, from, engine, fingerprint string }

// identify finds a document's tier, else its gpu, else its engine.
func identify(d *artifact.Document) tierID {
	id := tierID{name: d.Tier, from: "tier", engine: d.Engine, fingerprint: d.ConfigurationFingerprint}
	switch {
	case d.Tier != "":
	case d.GPU != "":
		id.name, id.from = d.GPU, "gpu"
	case d.Engine != "":
		id.name, id.from = d.Engine, "engine"
	default:
		id.name, id.from = "(unnamed)", "nothing"
	}
	return id
}

// tierNames names the tiers of a section. A name alone is enough while it is
// unique; then the engine joins it, unless it has a place of its own, then the
// configuration.
func tierNames(docs []*artifact.Document, engines bool) map[tierID]string {
	names := map[tierID]string{}
	var ids []tierID
	for _, d := range docs {
		id := identify(d)
		if _, ok := names[id]; !ok {
			names[id] = id.name
			ids = append(ids, id)
		}
	}
	distinguish := func(second func(tierID) string) {
		shared := map[string]int{}
		for _, id := range ids {
			shared[names[id]]++
		}
		for _, id := range ids {
			if text := second(id); shared[names[id]] > 1 && text != "" && text != names[id] {
				names[id] += " " + text
			}
		}
	}
	if !engines {
		distinguish(func(id tierID) string { return id.engine })
	}
	distinguish(func(id tierID) string {
		if engines && !sharedWithin(ids, id) {
			return ""
		}
		sum := strings.TrimPrefix(id.fingerprint, "sha256:")
		return sum[:min(8, len(sum))]
	})
	return names
}

// sharedWithin reports whether another tier has the name and the engine.
func sharedWithin(ids []tierID, id tierID) bool {
	return slices.ContainsFunc(ids, func(other tierID) bool {
		return other != id && other.name == id.name && other.engine == id.engine
	})
}

// commonPrice is the price of all, where they have one price.
func commonPrice(docs []*artifact.Document) (*float64, string) {
	price, currency := priceOf(docs[0])
	for _, d := range docs[1:] {
		p, c := priceOf(d)
		if p == nil || price == nil || *p != *price || c != currency {
			return nil, ""
		}
	}
	return price, currency
}
