package simengine

// delta is the delta of a chunk's only choice; nil where there is none.
func delta(c map[string]any) map[string]any {
	if one := choice(c); one != nil {
		return one["delta"].(map[string]any)
	}
	return nil
}

func choice(c map[string]any) map[string]any {
	list, _ := c["choices"].([]any)
	if len(list) == 0 {
		return nil
	}
	return list[0].(map[string]any)
}

// rename moves a field of the delta.
func rename(c map[string]any, from, to string) {
	if d := delta(c); d != nil && d[from] != nil {
		d[to] = d[from]
		delete(d, from)
	}
}

// usageOnEach puts a usage on every chunk that has none.
func usageOnEach(value func(*stream) any) func(*stream, map[string]any) {
	return func(s *stream, c map[string]any) {
		if _, has := c["usage"]; !has {
			c["usage"] = value(s)
		}
	}
}

// chunkFaults are chunks of other shapes than the usual one.
var chunkFaults = []Fault{
	{Name: "role_null", Does: "content is null in the chunk with the role", chunk: func(_ *stream, c map[string]any) {
		if d := delta(c); d != nil && d["role"] != nil {
			d["content"] = nil
		}
	}},
	{Name: "content_parts", Does: "content is a list of parts", chunk: func(_ *stream, c map[string]any) {
		if d := delta(c); d != nil && d["content"] != nil {
			d["content"] = []any{map[string]any{"type": "text", "text": d["content"]}}
		}
	}},
	{Name: "reasoning", Does: "thinking first, as delta.reasoning", bend: think, chunk: func(_ *stream, c map[string]any) { rename(c, "reasoning_content", "reasoning") }},
	{Name: "reasoning_content", Does: "thinking first, as delta.reasoning_content", bend: think},
	{Name: "reasoning_both", Does: "thinking first, under both names", bend: think, chunk: func(_ *stream, c map[string]any) {
		if d := delta(c); d != nil && d["reasoning_content"] != nil {
			d["reasoning"] = d["reasoning_content"]
		}
	}},
	{Name: "tool_calls", Does: "tool-call deltas in place of content", chunk: func(_ *stream, c map[string]any) {
		if d := delta(c); d != nil && d["content"] != nil && d["role"] == nil {
			d["tool_calls"] = []any{map[string]any{"index": 0, "function": map[string]any{"arguments": d["content"]}}}
			delete(d, "content")
		}
	}},
	{Name: "two_choices", Does: "a second choice with the same text in each chunk", chunk: func(_ *stream, c map[string]any) {
		if one := choice(c); one != nil {
			c["choices"] = []any{one, map[string]any{"index": 1, "delta": one["delta"], "finish_reason": one["finish_reason"]}}
		}
	}},
	{Name: "finish_empty", Does: `finish_reason is "" until the end`, chunk: func(_ *stream, c map[string]any) {
		if one := choice(c); one != nil && one["finish_reason"] == nil {
			one["finish_reason"] = ""
		}
	}},
	{Name: "finish_abort", Does: `finish_reason is "abort"`, chunk: func(_ *stream, c map[string]any) {
		if one := choice(c); one != nil && one["finish_reason"] != nil {
			one["finish_reason"] = "abort"
		}
	}},
	{Name: "no_finish", Does: "no finish reason before [DONE]", chunk: func(_ *stream, c map[string]any) {
		if one := choice(c); one != nil {
			one["finish_reason"] = nil
		}
	}},
	{Name: "usage_each", Does: "cumulative usage on every chunk", chunk: usageOnEach(func(s *stream) any { return s.counts() })},
	{Name: "usage_null", Does: "usage is null on all chunks but the last", chunk: usageOnEach(func(*stream) any { return nil })},
	{Name: "usage_text", Does: "token counts are no whole numbers", chunk: func(_ *stream, c map[string]any) {
		if _, has := c["usage"]; has {
			c["usage"] = map[string]any{"prompt_tokens": "many", "completion_tokens": -1.5}
		}
	}},
	{Name: "prompt_filter", Does: "a chunk without choices first", chunk: func(s *stream, c map[string]any) {
		if d := delta(c); d != nil && d["role"] != nil {
			s.write(map[string]any{"choices": []any{}, "prompt_filter_results": []any{}})
		}
	}},
	{Name: "four_a_chunk", Does: "four tokens in each chunk", each: 4},
}

// think puts five tokens of reasoning before the answer.
func think(g *generation) { g.reasoning = 5 }
