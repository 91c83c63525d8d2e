//go:build !unix

package sweep

import "os/exec"

func ownGroup(*exec.Cmd) {}

func endGroup(cmd *exec.Cmd) { killGroup(cmd) }

func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() } // it may have ended already

func ownThread() (unlock func()) { return func() {} }
