package client

import (
	"bytes"
	"fmt"
)

// splitter cuts a byte stream into server-sent events, wherever it is cut into
// reads. Lines end in LF, CR or CRLF; one space after the colon is dropped;
// several data lines are joined with LF; comments and other fields mean
// nothing here.
type splitter struct {
	limit   int
	line    []byte // an unfinished line
	data    []byte // of the unfinished event
	hasData bool
	skipLF  bool // the last line ended in CR; an LF now belongs to it
	begun   bool
}

// tooLarge is returned for an event above the bound.
type tooLarge struct{ limit int }

func (e *tooLarge) Error() string { return fmt.Sprintf("an event of more than %d bytes", e.limit) }

// reset forgets an earlier stream and keeps the memory.
func (s *splitter) reset() {
	*s = splitter{limit: s.limit, line: s.line[:0], data: s.data[:0]}
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// feed takes the next bytes and hands over each event they complete. The data
// is valid during the call only. emit returns false to stop.
func (s *splitter) feed(p []byte, emit func(data []byte) bool) error {
	for len(p) > 0 {
		if s.skipLF {
			s.skipLF = false
			if p[0] == '\n' {
				p = p[1:]
				continue
			}
		}
		if data, rest, ok := s.plain(p); ok {
			p = rest
			if !emit(data) {
				return nil
			}
			continue
		}
		end := lineEnd(p)
		if end < 0 {
			s.line = append(s.line, p...)
			return s.bound()
		}
		line := p[:end]
		if len(s.line) > 0 {
			s.line = append(s.line, line...)
			line = s.line
		}
		s.skipLF = p[end] == '\r'
		p = p[end+1:]
		more := s.take(line, emit)
		s.line = s.line[:0]
		if err := s.bound(); err != nil || !more {
			return err
		}
	}
	return nil
}

var field = []byte("data:")

// plain takes an event that is the usual one: a single data line and a blank
// one, ended by line feeds, whole in p. It needs no copy.
func (s *splitter) plain(p []byte) (data, rest []byte, ok bool) {
	if len(s.line) > 0 || s.hasData || !bytes.HasPrefix(p, field) {
		return nil, nil, false
	}
	end := bytes.IndexByte(p, '\n')
	if end < 0 || end+1 >= len(p) || p[end+1] != '\n' || end > s.limit {
		return nil, nil, false
	}
	data = p[len(field):end]
	if bytes.IndexByte(data, '\r') >= 0 {
		return nil, nil, false
	}
	if len(data) > 0 && data[0] == ' ' {
		data = data[1:]
	}
	s.begun = true
	return data, p[end+2:], true
}

// lineEnd is where the first line of p ends, -1 where it does not.
func lineEnd(p []byte) int {
	lf := bytes.IndexByte(p, '\n')
	if lf >= 0 {
		p = p[:lf]
	}
	if cr := bytes.IndexByte(p, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

func (s *splitter) bound() error {
	if len(s.line)+len(s.data) > s.limit {
		return &tooLarge{s.limit}
	}
	return nil
}

// take handles one whole line; the empty one ends an event.
func (s *splitter) take(line []byte, emit func([]byte) bool) bool {
	if !s.begun {
		s.begun = true
		line = bytes.TrimPrefix(line, byteOrderMark)
	}
	if len(line) == 0 {
		return s.dispatch(emit)
	}
	name, value, _ := bytes.Cut(line, []byte(":"))
	if string(name) != "data" {
		return true
	}
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	if s.hasData {
		s.data = append(s.data, '\n')
	}
	s.data = append(s.data, value...)
	s.hasData = true
	return true
}

func (s *splitter) dispatch(emit func([]byte) bool) bool {
	if !s.hasData {
		return true
	}
	more := emit(s.data)
	s.data, s.hasData = s.data[:0], false
	return more
}

// rest is the data of an event that the end of the stream left without its
// blank line, and whether there is one.
func (s *splitter) rest() ([]byte, bool) {
	if len(s.line) > 0 {
		s.take(s.line, func([]byte) bool { return true })
		s.line = s.line[:0]
	}
	return s.data, s.hasData && len(s.data) > 0
}
