package artifact

import "path/filepath"

// LeftOut is a document that is not a run that counts, and why.
type LeftOut struct{ Path, Why string }

// Lone reports a replica that stands by itself: where its cell has an aggregate,
// Runs leaves it out, and where it has none, the cell was not measured whole.
func (d *Document) Lone() bool { return d.Sweep != nil && d.Sweep.Replica != nil }

// Runs are the documents that count as runs, in their order: artifacts and
// aggregates, but for attempts that a later one replaced, cells that the recipe
// has no more, and the replicas of an aggregate that is there.
func Runs(docs []*Document) (runs []*Document, left []LeftOut) {
	replaced := map[string]string{} // by path or SHA-256
	for _, d := range docs {
		switch d.Kind {
		case KindManifest:
			for _, cell := range d.Manifest.Cells {
				last := len(cell.Artifacts) - len(cell.LastAttempt())
				for i, f := range cell.Artifacts {
					switch path := filepath.Clean(d.Beside(f.Path)); {
					case cell.Stale:
						replaced[path] = "measured under an earlier recipe; the cell is not in it any more"
					case i < last:
						replaced[path] = "replaced by a later attempt at the same cell"
					}
				}
			}
		case KindAggregate:
			for _, sum := range d.Members {
				replaced[sum] = "replicas, taken as parts of their aggregates"
			}
		}
	}
	for _, d := range docs {
		why := replaced[filepath.Clean(d.Path)]
		if why == "" {
			why = replaced[d.SHA256]
		}
		switch {
		case d.Kind == KindManifest:
		case d.Kind == KindOther:
			left = append(left, LeftOut{d.Path, d.Why})
		case why != "":
			left = append(left, LeftOut{d.Path, why})
		default:
			runs = append(runs, d)
		}
	}
	return runs, left
}
