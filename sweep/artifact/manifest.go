package artifact

import "time"

// ManifestSchema names the sweep manifest format.
const ManifestSchema = "anvilsweep.sweep/v1"

// ManifestName is the file name of the manifest in a results folder.
const ManifestName = "sweep.json"

// Manifest lists every cell of a results folder and what became of it. It is
// written after each artifact, so it never names a file that is not whole.
type Manifest struct {
	Schema    string           `json:"schema"`
	Program   string           `json:"program"` // "anvilsweep <version>"
	CreatedAt time.Time        `json:"created_at"`
	UpdatedAt time.Time        `json:"updated_at"`
	Recipe    ManifestRecipe   `json:"recipe"`
	Rules     ManifestRules    `json:"rules"`
	Sweeps    []ManifestSweep  `json:"sweeps"`
	Cells     []ManifestCell   `json:"cells"`
	Excluded  []ManifestExcept `json:"excluded"`
}

// ManifestRecipe says which sources planned the cells.
type ManifestRecipe struct {
	Digest    string             `json:"digest"` // "sha256:…" over the sources as read
	Sources   []ManifestSource   `json:"sources"`
	Variables []ManifestVariable `json:"variables"`
}

// ManifestSource is one recipe file and its copy beside the manifest.
type ManifestSource struct {
	Path     string `json:"path"`   // relative to the repository root
	SHA256   string `json:"sha256"` // of the source as read
	Copy     string `json:"copy"`   // relative to the manifest
	CopySHA  string `json:"copy_sha256"`
	Redacted bool   `json:"redacted"` // the copy has sensitive values taken out
}

// ManifestVariable is one variable's value in this run.
type ManifestVariable struct {
	Name   string `json:"name"`
	Value  string `json:"value"` // "(sensitive)" where it is
	Origin string `json:"origin"`
}

// ManifestRules names the rules behind the identity fields, so that a later
// change of a rule is seen.
type ManifestRules struct {
	CellDigest               string `json:"cell_digest"`
	ConfigurationFingerprint string `json:"configuration_fingerprint"`
}

// ManifestSweep is one sweep of the recipe.
type ManifestSweep struct {
	Name         string `json:"name"`
	SourceRecipe string `json:"source_recipe"`
	Cells        int    `json:"cells"`
	Excluded     int    `json:"excluded"`
}

// State is what became of a cell.
type State string

// Cell states.
const (
	StateNotRun      State = "not_run"     // planned, not started
	StateSkipped     State = "skipped"     // a rule of the recipe decided against it
	StateDone        State = "done"        // every request succeeded
	StateDegraded    State = "degraded"    // some requests failed
	StateFailed      State = "failed"      // no request succeeded, or the cell could not be run
	StateInterrupted State = "interrupted" // stopped by the user
)

// ManifestCell is one cell of the matrix.
type ManifestCell struct {
	ID        string            `json:"id"`
	Digest    string            `json:"digest"` // "sha256:…"
	Sweep     string            `json:"sweep"`
	Axes      map[string]string `json:"axes"`
	Repeat    int               `json:"repeat"`
	Requests  int               `json:"requests"`
	State     State             `json:"state"`
	Reason    string            `json:"reason"`    // empty when done
	Stale     bool              `json:"stale"`     // run earlier, no longer in the recipe
	Artifacts []ManifestFile    `json:"artifacts"` // every attempt, oldest first; the last one counts
}

// ManifestFile is one artifact of a cell.
type ManifestFile struct {
	Path   string `json:"path"` // relative to the manifest, slashes
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
	State  State  `json:"state"`

	Attempt int `json:"attempt"` // from 1; files of one attempt are a cell's replicas and their aggregate
}

// Attempts is how often the cell was measured.
func (c *ManifestCell) Attempts() int {
	if n := len(c.Artifacts); n > 0 {
		if last := c.Artifacts[n-1].Attempt; last > 0 {
			return last
		}
		return n // of a manifest from before attempts were numbered
	}
	return 0
}

// LastAttempt is the files of the attempt that counts, an aggregate last.
func (c *ManifestCell) LastAttempt() []ManifestFile {
	n := len(c.Artifacts)
	if n == 0 {
		return nil
	}
	first := n - 1
	for first > 0 && c.Artifacts[n-1].Attempt > 0 && c.Artifacts[first-1].Attempt == c.Artifacts[n-1].Attempt {
		first--
	}
	return c.Artifacts[first:]
}

// ManifestExcept is a point of the matrix that an exclude rule took out.
type ManifestExcept struct {
	Sweep  string            `json:"sweep"`
	Axes   map[string]string `json:"axes"`
	Repeat int               `json:"repeat"`
	Reason string            `json:"reason"`
}
