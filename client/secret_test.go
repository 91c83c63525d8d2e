package client

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
)

func TestEverySpellingOfTheKeyIsHidden(t *testing.T) {
	const key = `sk-/<CANARY>"é"`
	s := newSecret(key)
	for _, spelling := range []string{key, `sk-/<CANARY>\"é\"`, `sk-/\u003cCANARY\u003e\"é\"`, `sk-/<CANARY>\"\u00e9\"`, `sk-\/<CANARY>\"é\"`, `sk-%2F%3CCANARY%3E%22%C3%A9%22`} {
		if got := s.hide("a " + spelling + " b " + spelling); got != "a [key] b [key]" {
			t.Errorf("%s: %s", spelling, got)
		}
		for cut := shortestSecret; cut < len(spelling); cut++ {
			if got := s.hideCut("a " + spelling + "; " + spelling[:cut]); got != "a [key]; " {
				t.Errorf("cut to %q: %q", spelling[:cut], got)
			}
		}
	}
	for _, short := range []string{"", "abc"} {
		if got := newSecret(short).hideCut("abcab"); got != "abcab" {
			t.Errorf("key %q: %q", short, got)
		}
	}
}

// No part of a key is shown where an excerpt or a header was cut.
func TestACutKeyIsInNoMessage(t *testing.T) {
	const key = "sk-CANARY-0123456789"
	for name, answer := range map[string]string{
		"at the end of the excerpt":   "HTTP/1.1 500 X\r\nConnection: close\r\n\r\n" + strings.Repeat("y", excerptLimit-10) + key,
		"after other keys":            "HTTP/1.1 500 X\r\nConnection: close\r\n\r\n" + strings.Repeat(key, excerptBytes/len(key)+1),
		"in a body that broke off":    "HTTP/1.1 500 X\r\nContent-Length: 99\r\n\r\nbad " + key[:12],
		"in a malformed header":       "HTTP/1.1 200 OK\r\nX: " + key + "\x01\r\n\r\n",
		"where no header is":          key + "\r\n\r\n",
		"in a finish reason":          untilEOF + d(`{"content":"a"}`) + fin(quote(strings.Repeat("y", finishLimit-12)+key)) + end,
		"in a stream without events":  untilEOF + strings.Repeat("y", excerptLimit-12) + key,
		"in the first broken events":  untilEOF + "data: " + strings.Repeat("y", excerptLimit-12) + key + "\n\n",
		"in a content type":           "HTTP/1.1 200 OK\r\nContent-Type: text/" + key + "\r\nConnection: close\r\n\r\nhello",
		"in a content encoding":       "HTTP/1.1 200 OK\r\nContent-Encoding: " + key + "\r\nConnection: close\r\n\r\nhello",
		"in an error of a model list": "HTTP/1.1 401 X\r\nConnection: close\r\n\r\nbad key " + key,
	} {
		s := serve(t, "tcp", "127.0.0.1:0", func(_ *script, c net.Conn, _ int) bool {
			io.WriteString(c, answer)
			return false
		})
		l := lane(t, Config{BaseURL: s.url, APIKey: key})
		o := l.Do(context.Background(), request)
		_, failure := l.client.Models(context.Background())
		told := strings.Join(append(o.FinishReasons, o.Warnings...), " ")
		for _, f := range []*Failure{o.Failure, failure} {
			if f != nil {
				told += f.Error() + f.RetryAfter
			}
		}
		if strings.Contains(told, key[:shortestSecret]) {
			t.Errorf("%s: %s", name, told)
		}
	}
}

// A line break in a key would be sent as something else than the key.
func TestAKeyWithALineBreakIsRefused(t *testing.T) {
	_, err := New(Config{BaseURL: "http://127.0.0.1/v1", APIKey: "sk-CANARY\n"})
	if err == nil || !strings.Contains(err.Error(), "api_key") || strings.Contains(err.Error(), "CANARY") {
		t.Errorf("%v", err)
	}
}

// The name of a model is data, also where it holds the key by chance.
func TestAModelNameIsNotAMessage(t *testing.T) {
	models, err := parseModels([]byte(`{"data":[{"id":"some/model","owned_by":5,"context_length":-1,"max_context_length":64}]}`))
	if err != nil || models[0].ID != "some/model" || models[0].OwnedBy != "" || *models[0].MaxModelLen != 64 {
		t.Errorf("%+v %v", models, err)
	}
}
