//go:build unix

package sweep

import (
	"syscall"
	"time"
)

// cpuTime is what this process has used so far; 0 where that is not known.
func cpuTime() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// openFiles is how many files and connections the process may have open.
func openFiles() (uint64, bool) {
	var r syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r) != nil {
		return 0, false
	}
	return uint64(r.Cur), true
}
