//go:build linux && (amd64 || arm64 || riscv64 || loong64)

package client

import (
	"io"
	"net"
	"syscall"
	"time"
	"unsafe"
)

// stamped reads from a TCP connection together with the moment at which the
// kernel took the bytes in. A goroutine that wakes late, or a busy machine, then
// makes a read late, but not the arrival.
type stamped struct {
	raw     syscall.RawConn
	receive func(fd uintptr) bool
	header  syscall.Msghdr
	into    syscall.Iovec
	control [8]uint64
	n       int
	errno   syscall.Errno
}

// stamp makes the kernel note arrivals; nil where it does not.
func stamp(c net.Conn) *stamped {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	s := &stamped{raw: raw}
	set := raw.Control(func(fd uintptr) {
		err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_TIMESTAMPNS, 1)
	})
	if set != nil || err != nil {
		return nil
	}
	s.receive = s.once
	return s
}

// once is one attempt; false waits until there is something.
func (s *stamped) once(fd uintptr) bool {
	for {
		s.header = syscall.Msghdr{Iov: &s.into, Iovlen: 1, Control: (*byte)(unsafe.Pointer(&s.control)), Controllen: uint64(unsafe.Sizeof(s.control))}
		n, _, errno := syscall.Syscall(syscall.SYS_RECVMSG, fd, uintptr(unsafe.Pointer(&s.header)), 0)
		s.n, s.errno = int(n), errno
		switch errno {
		case syscall.EINTR:
		case syscall.EAGAIN:
			return false
		default:
			return true
		}
	}
}

// read is a Read that also tells when the bytes came by the system's wall
// clock; the zero time where that is not known.
func (s *stamped) read(p []byte) (int, time.Time, error) {
	if len(p) == 0 {
		return 0, time.Time{}, nil
	}
	s.into = syscall.Iovec{Base: &p[0], Len: uint64(len(p))}
	err := s.raw.Read(s.receive)
	s.into.Base = nil
	switch {
	case err != nil:
		return 0, time.Time{}, err
	case s.errno != 0:
		return 0, time.Time{}, s.errno
	case s.n == 0:
		return 0, time.Time{}, io.EOF
	}
	return s.n, s.at(), nil
}

// at reads the control message that recvmsg left.
func (s *stamped) at() time.Time {
	const size = unsafe.Sizeof(syscall.Cmsghdr{})
	if s.header.Controllen < uint64(size+unsafe.Sizeof(syscall.Timespec{})) {
		return time.Time{}
	}
	message := (*syscall.Cmsghdr)(unsafe.Pointer(&s.control))
	if message.Level != syscall.SOL_SOCKET || message.Type != syscall.SO_TIMESTAMPNS {
		return time.Time{}
	}
	at := (*syscall.Timespec)(unsafe.Add(unsafe.Pointer(&s.control), size))
	return time.Unix(at.Sec, at.Nsec)
}
