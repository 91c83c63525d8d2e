//go:build unix && !linux

package sweep

import "syscall"

func groupAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func ownThread() (unlock func()) { return func() {} }
