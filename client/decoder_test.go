package client

import (
	"fmt"
	"strings"
	"testing"
)

// say is a chunk in words, to compare two.
func say(c *chunk, err error) string {
	if err != nil {
		return "not JSON"
	}
	var b strings.Builder
	for _, one := range c.choices {
		fmt.Fprintf(&b, "[%q %q %q %v]", one.content, one.reasoning, one.finish, one.tools)
	}
	fmt.Fprintf(&b, " %+v %q odd=%v", c.usage, c.said, c.odd)
	return b.String()
}

func full(data []byte) string {
	var c chunk
	err := decodeFull(data, &c)
	return say(&c, err)
}

const usualChunk = `{"id":"chatcmpl-0123456789abcdef","object":"chat.completion.chunk","created":1789665664,"model":"some/model","choices":[{"index":0,"delta":{"content":" code"},"logprobs":null,"finish_reason":null}]}`

func TestDecoderAgreesWithFullDecode(t *testing.T) {
	chunks := []string{
		usualChunk, strings.Replace(usualChunk, " code", " more", 1), strings.Replace(usualChunk, " code", "", 1),
		strings.Replace(usualChunk, " code", `a"},"finish_reason":"x`, 1), strings.Replace(usualChunk, " code", "\xff", 1),
		strings.Replace(usualChunk, " code", "\n", 1), strings.Replace(usualChunk, " code", `\n`, 1), strings.Replace(usualChunk, " code", `\`, 1),
		strings.Replace(usualChunk, " code", "漢🙂", 1), strings.Replace(usualChunk, " code", `\ud83d\ude00`, 1), strings.Replace(usualChunk, " code", `\ud83d\ud83d\ude00`, 1),
		strings.Replace(usualChunk, `"content"`, `"reasoning"`, 1), strings.Replace(usualChunk, `"content":" code"`, `"reasoning":" x","reasoning_content":" y"`, 1),
		strings.Replace(usualChunk, `"content":" code"`, `"reasoning":"","reasoning_content":" y"`, 1), usualChunk,
		`{"choices":[{"delta":{"content":"a"},"delta":null}]}`, `{"choices":[{"delta":{"content":"b"},"delta":null}]}`,
		`{"choices":[{"delta":{"content":"a"}}],"choices":[{}]}`, `{"choices":[{"delta":{"content":"b"}}],"choices":[{}]}`,
		`{"choices":[{"delta":{"content":"a","content":"b"}}]}`, `{"choices":[{"delta":{"content":"a","content":"c"}}]}`,
		`{"choices":[{"delta":{"content":"a"}},{"delta":{"content":"b"}}]}`,
		`{"Choices":[{"delta":{"content":"a"}}]}`, `{"choices":[{"delta":{"Content":"a"}}]}`,
		`{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12,"prompt_tokens_details":{"cached_tokens":3}}}`,
		`{"choices":[],"usage":{"prompt_tokens":"10"}}`, `{"usage":{"prompt_tokens":1e3}}`, `{"usage":{"prompt_tokens":-0}}`, `{"usage":{"prompt_tokens":01}}`,
		`{"usage":{"prompt_tokens":99999999999999999999}}`, `{"usage":{"prompt_tokens":999999999999999999}}`, `{"usage":{"prompt_tokens_details":5}}`, `{"usage":[]}`,
		`{"usage":null,"choices":null}`, `{"choices":{}}`, `{"choices":[5]}`, `{"choices":[null]}`, `{"choices":[{"delta":{"tool_calls":[{"index":0}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":{}}}]}`, `{"choices":[{"delta":{"tool_calls":[]}}]}`, `{"choices":[{"finish_reason":5}]}`, `{"choices":[{"finish_reason":"stop"}]}`,
		`{"error":{"message":"x"}}`, `{"error":null}`, `{"error":{}}`, `{"error":"x"}`, `{"object":"error","message":"x"}`, `{"object":"error"}`, `{"object":5}`,
		`{}`, `[]`, `null`, `5`, `"x"`, `{} {}`, `{},`, `{"a":1,}`, `{"a":tru}`, `{"a":"\x"}`, "{\"a\":\"\t\"}", `{"a":1.}`, `{"a":.5}`, `{"a":+1}`, ` {"choices":[]} `, "\xef\xbb\xbf{}",
	}
	var d decoder
	for _, one := range chunks {
		if got, want := say(d.decode([]byte(one))), full([]byte(one)); got != want {
			t.Errorf("%s:\n got %s\nwant %s", one, got, want)
		}
	}
}

// One decoder sees a stream: what an earlier chunk taught it must not change
// what a later one says.
func FuzzDecoder(f *testing.F) {
	f.Add([]byte(usualChunk), " code", " more")
	f.Add([]byte(`{"choices":[{"delta":{"reasoning":"@"},"delta":{"content":"@"}}],"x":"@"}`), "a", `b","c":"`)
	f.Add([]byte(`{"choices":[{"delta":{"content":"@"},"finish_reason":""}],"usage":{"prompt_tokens":@}}`), "1", "01")
	f.Add([]byte(`@`), "{}", "null")
	f.Fuzz(func(t *testing.T, shape []byte, first, second string) {
		var d decoder
		for _, text := range []string{first, second, first} {
			data := []byte(strings.ReplaceAll(strings.ReplaceAll(string(shape), "@", text), " code", text))
			if len(data) == 0 {
				continue
			}
			if got, want := say(d.decode(data)), full(data); got != want {
				t.Fatalf("%q:\n got %s\nwant %s", data, got, want)
			}
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	for name, chunks := range map[string][2]string{
		"like the one before": {usualChunk, strings.Replace(usualChunk, " code", " x", 1)},
		"usual":               {usualChunk, strings.Replace(usualChunk, "1789665664", "1789665665", 1)},
		"escaped":             {strings.Replace(usualChunk, " code", `\n`, 1), strings.Replace(usualChunk, " code", `\"`, 1)},
	} {
		b.Run(name, func(b *testing.B) {
			var d decoder
			data := [2][]byte{[]byte(chunks[0]), []byte(chunks[1])}
			b.ReportAllocs()
			b.SetBytes(int64(len(usualChunk)))
			for i := 0; b.Loop(); i++ {
				if _, err := d.decode(data[i&1]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("full", func(b *testing.B) {
		var c chunk
		b.ReportAllocs()
		for b.Loop() {
			if err := decodeFull([]byte(usualChunk), &c); err != nil {
				b.Fatal(err)
			}
		}
	})
}
