package sweep

import (
	"runtime"
	"syscall"
)

// groupAttributes: the kernel ends the engine if we are killed ourselves.
func groupAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// ownThread keeps the thread that an engine is started on for as long as it
// runs: the kernel takes the end of that thread for ours.
func ownThread() (unlock func()) {
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}
