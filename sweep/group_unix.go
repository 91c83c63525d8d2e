//go:build unix

package sweep

import (
	"os/exec"
	"syscall"
)

// ownGroup puts a process into a group of its own, so that it can be ended with
// all that it starts, and Ctrl-C at the terminal is ours alone.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = groupAttributes()
}

func endGroup(cmd *exec.Cmd) { signalGroup(cmd, syscall.SIGTERM) }

func killGroup(cmd *exec.Cmd) { signalGroup(cmd, syscall.SIGKILL) }

func signalGroup(cmd *exec.Cmd, s syscall.Signal) {
	_ = syscall.Kill(-cmd.Process.Pid, s) // it may have ended already
}
