package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/valyala/fasthttp"
)

// ModelInfo is one entry of the server's model list.
type ModelInfo struct {
	ID          string
	OwnedBy     string
	MaxModelLen *int // tokens; nil where the server does not say
}

const modelsLimit = 4 << 20

// Models asks the server what it serves.
func (c *Client) Models(ctx context.Context) ([]ModelInfo, *Failure) {
	lane := c.Lane()
	defer lane.Close()
	if _, _, err := lane.connect(ctx); err != nil {
		return nil, c.connectFailure(ctx, err)
	}
	defer context.AfterFunc(ctx, lane.conn.abort)()
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	c.prepare(req, fasthttp.MethodGet, "/models")
	req.SetConnectionClose()
	resp.StreamBody = true // so that the bound below is ours
	lane.conn.begin()
	if err := lane.send(req); err != nil {
		return nil, lane.transportFailure(ctx, err, "asking for the models")
	}
	if err := resp.ReadLimitBody(lane.reader, 0); err != nil {
		return nil, lane.transportFailure(ctx, err, "asking for the models")
	}
	text, err := io.ReadAll(io.LimitReader(resp.BodyStream(), modelsLimit))
	err = errors.Join(err, resp.CloseBodyStream())
	if resp.StatusCode() != fasthttp.StatusOK {
		return nil, c.answered(KindHTTPStatus, resp.StatusCode(), string(resp.Header.ContentType()), text)
	}
	if err != nil {
		return nil, lane.transportFailure(ctx, err, "asking for the models")
	}
	models, err := c.parseModels(text)
	if err != nil {
		return nil, c.fail(KindProtocol, "the model list is not understood: "+err.Error())
	}
	return models, nil
}

func (c *Client) parseModels(raw []byte) ([]ModelInfo, error) {
	var list struct {
		Data []map[string]json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	models := make([]ModelInfo, 0, len(list.Data))
	for _, entry := range list.Data {
		var m ModelInfo
		for name, to := range map[string]*string{"id": &m.ID, "owned_by": &m.OwnedBy} {
			var s text
			if raw, ok := entry[name]; ok && json.Unmarshal(raw, &s) == nil {
				*to = c.secrets.Replace(string(s))
			}
		}
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
		return nil, fmt.Errorf("it has no entry under data")
	}
	return models, nil
}
