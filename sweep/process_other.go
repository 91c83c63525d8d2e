//go:build !unix

package sweep

import "time"

func cpuTime() time.Duration { return 0 }

func openFiles() (uint64, bool) { return 0, false }
