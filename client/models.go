package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/valyala/fasthttp"
)

// ModelInfo is one entry of the server's model list.
type ModelInfo struct {
	ID          string
	OwnedBy     string
	MaxModelLen *int // tokens; nil where the server does not say
}

// modelEntry is an entry as servers really send it.
type modelEntry map[string]json.RawMessage

// text is a field that is a string, else nothing.
func (e modelEntry) text(name string) string {
	return plainText(e[name])
}

const modelsLimit = 4 << 20 // bytes

// Models asks the server what it serves.
func (c *Client) Models(ctx context.Context) ([]ModelInfo, *Failure) {
	text, failure := c.call(ctx, fasthttp.MethodGet, c.prefix+"/models", nil, modelsLimit, "asking for the models")
	if failure != nil {
		return nil, failure
	}
	models, err := parseModels(text)
	if err != nil {
		return nil, c.fail(KindProtocol, "the model list is not understood: "+err.Error())
	}
	return models, nil
}

// Ready asks a path beside the version, such as /health; nil where it answers
// 200.
func (c *Client) Ready(ctx context.Context, path string) *Failure {
	_, failure := c.Get(ctx, path, "asking whether the server is up")
	return failure
}

// pageLimit bounds what Get reads; a metrics page of a busy server has some
// hundred KB.
const pageLimit = 16 << 20 // bytes

// Get asks a path beside the version, such as /version or /metrics.
func (c *Client) Get(ctx context.Context, path, doing string) ([]byte, *Failure) {
	return c.call(ctx, fasthttp.MethodGet, strings.TrimSuffix(c.prefix, "/v1")+path, nil, pageLimit, doing)
}

// call is one plain exchange on a connection of its own; anything but status
// 200 is a failure.
func (c *Client) call(ctx context.Context, method, uri string, payload []byte, limit int64, doing string) ([]byte, *Failure) {
	lane := c.Lane()
	defer lane.Close()
	if err := lane.connect(ctx); err != nil {
		return nil, c.connectFailure(ctx, err)
	}
	defer context.AfterFunc(ctx, lane.conn.abort)()
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	c.prepare(req, method, uri)
	req.SetConnectionClose()
	if payload != nil {
		req.Header.SetContentType("application/json")
		req.SetBodyRaw(payload)
	}
	lane.conn.begin(c.cfg.Timeout)
	if failure := lane.ask(ctx, req, resp, doing); failure != nil {
		return nil, failure
	}
	lane.conn.silent = false
	text, err := io.ReadAll(io.LimitReader(responseBody(resp), limit))
	err = errors.Join(err, resp.CloseBodyStream())
	switch {
	case resp.StatusCode() != fasthttp.StatusOK:
		return nil, c.answered(KindHTTPStatus, resp.StatusCode(), string(resp.Header.ContentType()), text)
	case err != nil:
		return nil, lane.transportFailure(ctx, err, doing)
	}
	return text, nil
}

func parseModels(raw []byte) ([]ModelInfo, error) {
	var list struct {
		Data []modelEntry `json:"data"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	models := make([]ModelInfo, 0, len(list.Data))
	for _, entry := range list.Data {
		m := ModelInfo{ID: entry.text("id"), OwnedBy: entry.text("owned_by")}
		for _, name := range []string{"max_model_len", "max_context_length", "context_length"} {
			var n int
			if raw, ok := entry[name]; ok && json.Unmarshal(raw, &n) == nil && n > 0 {
				m.MaxModelLen = &n
				break
			}
		}
		models = append(models, m)
	}
	if len(models) == 0 {
		return nil, errors.New("it has no entry under data")
	}
	return models, nil
}
