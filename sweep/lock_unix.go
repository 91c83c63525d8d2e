//go:build unix

package sweep

import (
	"errors"
	"os"
	"syscall"
)

// errLocked says that another process has the lock.
var errLocked = errors.New("in use by another run")

// lockFile takes a lock for this process. The lock goes with the process, so
// it is never stale.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = errLocked
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil // closing gives the lock back
}
