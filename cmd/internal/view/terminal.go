package view

import (
	"io"
	"strconv"

	"golang.org/x/term"
)

// fallbackWidth is used where the output is no terminal and COLUMNS says
// nothing.
const fallbackWidth = 120

// terminal returns the file descriptor behind w where it is a terminal.
func terminal(w io.Writer) (fd int, ok bool) {
	f, isFile := w.(interface{ Fd() uintptr })
	if !isFile {
		return 0, false
	}
	fd = int(f.Fd())
	return fd, term.IsTerminal(fd)
}

// Width is how many columns fit w: COLUMNS, else the terminal's, else 120.
func Width(w io.Writer, getenv func(string) string) int {
	if n, err := strconv.Atoi(getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	if fd, ok := terminal(w); ok {
		if width, _, err := term.GetSize(fd); err == nil && width > 0 {
			return width
		}
	}
	return fallbackWidth
}

// Color reports whether w wants colour: a terminal, NO_COLOR not set, TERM not
// "dumb".
func Color(w io.Writer, getenv func(string) string) bool {
	_, ok := terminal(w)
	return ok && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
}

// live reports whether w can show a line that is written over.
func live(w io.Writer, getenv func(string) string) bool {
	_, ok := terminal(w)
	return ok && getenv("TERM") != "dumb"
}
