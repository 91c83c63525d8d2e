//go:build !unix

package sweep

import (
	"errors"
	"os"
)

var errLocked = errors.New("in use by another run")

// lockFile cannot lock here; two runs in one folder are the user's to avoid.
func lockFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
}
